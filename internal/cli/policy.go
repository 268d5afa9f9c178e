package cli

import (
	"context"

	"github.com/spf13/cobra"
)

func (a *app) policyCommand() *cobra.Command {
	return group("policy", "Ask what the gate would decide", a.policyCheck())
}

func (a *app) policyCheck() *cobra.Command {
	var o output
	var f struct{ channel, chatType, account, to, thread, session, label, kind, text string }
	cmd := o.flag(&cobra.Command{
		Use: "check --channel CHANNEL --chat-type TYPE", Short: "Say what the gate would decide, and every rule it looked at", Args: cobra.NoArgs,
		RunE: a.run(func(ctx context.Context, _ []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			query := queryOf("channel", f.channel, "chatType", f.chatType, "account", f.account, "to", f.to, "thread", f.thread,
				"session", f.session, "label", f.label, "kind", f.kind, "text", f.text)
			var d decision
			raw, err := c.get(ctx, "/v1/policy/check", query, &d)
			if err != nil {
				return err
			}
			return o.show(a, raw, func() error { return a.printDecision(d) })
		}),
	})
	flags := cmd.Flags()
	flags.StringVar(&f.channel, "channel", "", "the platform")
	flags.StringVar(&f.chatType, "chat-type", "", "direct, group or channel")
	flags.StringVar(&f.account, "account", "", "the account on it")
	flags.StringVar(&f.to, "to", "", "the conversation's `id`")
	flags.StringVar(&f.thread, "thread", "", "the thread's `id`")
	flags.StringVar(&f.session, "session", "", "the session that speaks, by `key` or id")
	flags.StringVar(&f.label, "label", "", "the text's `level`")
	flags.StringVar(&f.kind, "kind", "", "reply, announce, notice or message")
	flags.StringVar(&f.text, "text", "", "what would be said, for the rules that look at it")
	requireFlags(cmd, "channel", "chat-type")
	return cmd
}

func requireFlags(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		_ = cmd.MarkFlagRequired(name) // it is defined beside the call
	}
}
