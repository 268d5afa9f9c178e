package cli

import (
	"cmp"
	"encoding/json"
	"io"
	"maps"
	"net/http"

	"github.com/spf13/cobra"

	"sluice/internal/cli/api"
	"sluice/internal/cli/command"
	"sluice/internal/cli/policy"
	"sluice/internal/cli/terminal"
)

func policyCommand(g command.Deps, stdin io.Reader) *cobra.Command {
	return command.Group("policy", "Check, simulate and backtest the policy, and list what is always allowed", policyCheck(g), policySimulate(g), policy.Backtest(g, stdin), policy.Rules(g), policy.EndRule(g))
}

func policyCheck(g command.Deps) *cobra.Command {
	var f struct{ channel, chatType, account, to, thread, session, label, kind, text string }
	cmd := command.Asking(g, &cobra.Command{
		Use: "check --channel CHANNEL --chat-type TYPE", Short: "Show what the gate would decide about a message, and every rule it checks", Args: command.Args(0, 0),
	}, func([]string) (api.Request, error) { // a POST, so that logs of addresses do not contain the text
		body := map[string]string{
			"channel": f.channel, "chatType": f.chatType, "account": f.account, "to": f.to, "thread": f.thread,
			"session": f.session, "label": f.label, "kind": f.kind, "text": f.text,
		}
		maps.DeleteFunc(body, func(_, value string) bool { return value == "" })
		return api.Request{Method: http.MethodPost, Path: "/v1/policy/check", Body: body}, nil
	}, printDecision)
	flags := cmd.Flags()
	flags.StringVar(&f.channel, "channel", "", "the `platform`, for example telegram")
	flags.StringVar(&f.chatType, "chat-type", "", "direct, group or channel")
	flags.StringVar(&f.account, "account", "", "the `account` on it")
	flags.StringVar(&f.to, "to", "", "`ID` of the conversation")
	flags.StringVar(&f.thread, "thread", "", "`ID` of the thread")
	flags.StringVar(&f.session, "session", "", "the session that sends it, by `key` or ID")
	flags.StringVar(&f.label, "label", "", "`level` of the text")
	flags.StringVar(&f.kind, "kind", "", "reply, announce, notice or message")
	flags.StringVar(&f.text, "text", "", "the text, for rules that look at it")
	command.RequireFlags(cmd, "channel", "chat-type")
	return cmd
}

func policySimulate(g command.Deps) *cobra.Command {
	var args, session string
	cmd := command.Asking(g, &cobra.Command{
		Use: "simulate TOOL --args JSON", Short: "Show what would happen to a tool call, without running it", Args: command.Args(1, 1),
	}, func(words []string) (api.Request, error) {
		var call map[string]json.RawMessage
		if err := json.Unmarshal([]byte(cmp.Or(args, "{}")), &call); err != nil {
			return api.Request{}, terminal.Usagef("--args %q: use a JSON object, for example '{\"to\":\"owner\"}'", args)
		}
		body := map[string]any{"tool_name": words[0], "args": call, "session": session}
		return api.Request{Method: http.MethodPost, Path: "/v1/policy/simulate", Body: body}, nil
	}, printSimulation)
	cmd.Flags().StringVar(&args, "args", "", "the call's arguments as a JSON `object`")
	cmd.Flags().StringVar(&session, "session", "", "the session that makes the call, by `key` or ID (default: the main session)")
	return cmd
}

func printSimulation(s terminal.Screen, got api.Simulation) error {
	if err := s.Printf("%s: %s: %s", terminal.Line(got.Tool), got.Decision, terminal.Line(got.Reason)); err != nil {
		return err
	}
	if got.ResultingLevel != got.Level {
		if err := s.Printf("  the session would rise from %s to %s", got.Level, got.ResultingLevel); err != nil {
			return err
		}
	}
	return printRules(s, got.Rules)
}
