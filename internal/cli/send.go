package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"
)

func (a *app) sendCommand() *cobra.Command {
	var o output
	var f struct{ channel, account, to, thread, label, key string }
	cmd := o.flag(&cobra.Command{
		Use: "send --channel CHANNEL --to CONVERSATION TEXT", Short: "Send a message through the gate", Args: cobra.ExactArgs(1),
		Long: `Send a message that nobody waits for. It goes through the gate like every other
text; the delivery's id and what the gate decided are printed.

--to is the platform's id of a conversation, or "owner" for the owner's direct chat.`,
		RunE: a.run(func(ctx context.Context, args []string) error {
			c, err := a.client()
			if err != nil {
				return err
			}
			body := map[string]string{"channel": f.channel, "to": f.to, "text": args[0]}
			for name, value := range map[string]string{"account": f.account, "thread": f.thread, "label": f.label, "key": f.key} {
				if value != "" {
					body[name] = value
				}
			}
			raw, err := c.call(ctx, request{method: http.MethodPost, path: "/v1/messages", body: body, headers: idempotency(f.key)})
			if err != nil {
				return err
			}
			var d delivery
			if err := json.Unmarshal(raw, &d); err != nil {
				return fmt.Errorf("read answer: %w", err)
			}
			return o.show(a, raw, func() error { return a.printSent(d) })
		}),
	})
	flags := cmd.Flags()
	flags.StringVar(&f.channel, "channel", "", "the platform, for example telegram")
	flags.StringVar(&f.account, "account", "", "the account on it (default: the only one, or \"default\")")
	flags.StringVar(&f.to, "to", "", "the conversation's `id`, or owner")
	flags.StringVar(&f.thread, "thread", "", "the `id` of a thread or topic in it")
	flags.StringVar(&f.label, "label", "", "the text's `level`: PUBLIC (default), INTERNAL, CONFIDENTIAL or RESTRICTED")
	flags.StringVar(&f.key, "idempotency-key", "", "a repeated `key` is the same message, sent once")
	requireFlags(cmd, "channel", "to")
	return cmd
}

func idempotency(key string) map[string]string {
	if key == "" {
		return nil
	}
	return map[string]string{"Idempotency-Key": key}
}

func (a *app) printSent(d delivery) error {
	status := d.Status
	if status == "queued" && d.Decision != nil && d.Decision.Action == "block" {
		status = "blocked" // as it will be the moment its turn comes
	}
	if _, err := fmt.Fprintf(a.Stdout, "%s: %s to %s\n", d.ID, status, clean(d.Route.String())); err != nil {
		return err
	}
	if d.Decision == nil {
		return nil
	}
	return a.printDecision(*d.Decision)
}
