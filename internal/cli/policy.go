package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/spf13/cobra"
)

func (a *app) policyCommand() *cobra.Command {
	return group("policy", "Ask what the gate would decide", a.policyCheck(), a.policySimulate())
}

func (a *app) policyCheck() *cobra.Command {
	var o output
	var f struct{ channel, chatType, account, to, thread, session, label, kind, text string }
	cmd := o.flag(&cobra.Command{
		Use: "check --channel CHANNEL --chat-type TYPE", Short: "Say what the gate would decide, and every rule it looked at", Args: cobra.NoArgs,
		RunE: ask(a, &o, always("/v1/policy/check", func() url.Values {
			return queryOf("channel", f.channel, "chatType", f.chatType, "account", f.account, "to", f.to, "thread", f.thread,
				"session", f.session, "label", f.label, "kind", f.kind, "text", f.text)
		}), a.printDecision),
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

// simulation is what a call would come to.
type simulation struct {
	Tool           string   `json:"tool_name"`
	Decision       string   `json:"decision"`
	Reason         string   `json:"reason"`
	Level          string   `json:"level"`
	ResultingLevel string   `json:"resulting_level"`
	Rules          []looked `json:"rules"`
}

func (a *app) policySimulate() *cobra.Command {
	var o output
	var args, session string
	cmd := o.flag(&cobra.Command{
		Use: "simulate TOOL --args JSON", Short: "Say what a call of a tool would come to, without making it", Args: cobra.ExactArgs(1),
		RunE: ask(a, &o, func(words []string) (request, error) {
			var call map[string]json.RawMessage
			if err := json.Unmarshal([]byte(cmp.Or(args, "{}")), &call); err != nil {
				return request{}, usageError{fmt.Sprintf("--args %q: want a JSON object, for example '{\"to\":\"owner\"}'", args)}
			}
			body := map[string]any{"tool_name": words[0], "args": call, "session": session}
			return request{method: http.MethodPost, path: "/v1/policy/simulate", body: body}, nil
		}, a.printSimulation),
	})
	cmd.Flags().StringVar(&args, "args", "", "the call's arguments, a JSON `object`")
	cmd.Flags().StringVar(&session, "session", "", "the session that would call, by `key` or id; default: the main session")
	return cmd
}

func (a *app) printSimulation(s simulation) error {
	if _, err := fmt.Fprintf(a.Stdout, "%s: %s: %s\n", s.Tool, s.Decision, clean(s.Reason)); err != nil {
		return err
	}
	if s.ResultingLevel != s.Level {
		if _, err := fmt.Fprintf(a.Stdout, "  the session would rise from %s to %s\n", s.Level, s.ResultingLevel); err != nil {
			return err
		}
	}
	return a.printRules(s.Rules)
}

func requireFlags(cmd *cobra.Command, names ...string) {
	for _, name := range names {
		_ = cmd.MarkFlagRequired(name) // it is defined beside the call
	}
}
