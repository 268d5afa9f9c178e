// Package policy has the commands for rules that always allow tool calls, and for backtests of a proposed policy.
package policy

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/cli/api"
	"sluice/internal/cli/command"
	"sluice/internal/cli/terminal"
)

// rule is a rule that always allows calls.
type rule struct {
	ID, Agent, Tool, Level, By, YAML string
	Args                             json.RawMessage
	Created                          time.Time
}

// Always is "sluice approvals always".
func Always(d command.Deps) *cobra.Command {
	var patterns []string
	var save, asJSON bool
	cmd := &cobra.Command{
		Use: "always ID", Short: "Allow a tool call, and all calls like it from now on", Args: command.Args(1, 1),
		Long: `Allow a waiting tool call, and save a rule that allows all calls like it: of the same agent
and tool, with the same arguments, in conversations that have learned nothing of a higher level.
Without --save, the command shows the rule and changes nothing. Only an owner can save a rule.

"sluice policy allow-rules" lists the rules, "sluice policy end-rule" ends one.`,
	}
	cmd.RunE = d.Run(func(ctx context.Context, args []string) error {
		r := api.Request{Method: http.MethodPost, Path: api.Path("approvals", args[0], "always"), Body: map[string]any{"preview": true}}
		pattern, err := pattern(ctx, d, r, patterns)
		if err != nil {
			return err
		}
		body := map[string]any{"preview": !save}
		if pattern != nil {
			body["args"] = pattern
		}
		r.Body = body
		answer, err := d.Call(ctx, r)
		if err != nil {
			return err
		}
		return command.Present(d.Screen, answer, asJSON, printAlways)
	})
	cmd.Flags().StringArrayVar(&patterns, "arg", nil, "allow other values of an argument: `NAME=PATTERN`, where * matches any characters; may be repeated")
	cmd.Flags().BoolVar(&save, "save", false, "save the rule, and allow the call")
	return command.JSON(cmd, &asJSON)
}

func printAlways(s terminal.Screen, got always) error {
	if err := s.Printf("%s", terminal.Text(strings.TrimRight(got.Rule.YAML, "\n"))); err != nil {
		return err
	}
	if got.Saved {
		return s.Printf("\nSaved as %s. The waiting call is allowed.", got.Rule.ID)
	}
	return s.Printf("\nNot saved yet. Add --save to save this rule and allow the call.")
}

// always is the response with a rule that was saved or previewed.
type always struct {
	Rule  rule
	Saved bool
}

// pattern replaces some arguments of the call by patterns. It asks for the exact arguments with preview; nil if vary is empty.
func pattern(ctx context.Context, d command.Deps, preview api.Request, vary []string) (map[string]json.RawMessage, error) {
	if len(vary) == 0 {
		return nil, nil
	}
	answer, err := d.Call(ctx, preview)
	if err != nil {
		return nil, err
	}
	exact, err := api.Decode[always](answer)
	if err != nil {
		return nil, err
	}
	var pattern map[string]json.RawMessage
	if err := json.Unmarshal(exact.Rule.Args, &pattern); err != nil {
		return nil, fmt.Errorf("read the arguments of the call: %w", err)
	}
	for _, v := range vary {
		name, value, ok := strings.Cut(v, "=")
		if _, known := pattern[name]; !ok || !known {
			return nil, terminal.Usagef("--arg %q: use NAME=PATTERN with the name of an argument of the call", v)
		}
		if pattern[name], err = json.Marshal(value); err != nil {
			return nil, fmt.Errorf("--arg %q: %w", v, err)
		}
	}
	return pattern, nil
}

// Rules is "sluice policy allow-rules".
func Rules(d command.Deps) *cobra.Command {
	return command.Asking(d, &cobra.Command{Use: "allow-rules", Short: "List the rules that always allow tool calls", Args: command.Args(0, 0)}, func([]string) (api.Request, error) {
		return api.Request{Path: "/v1/policy/allow-rules"}, nil
	}, func(s terminal.Screen, got struct{ Rules []rule }) error {
		return terminal.List(s, `No rules found. "sluice approvals always ID" adds one.`, []string{"ID", "AGENT", "TOOL", "ARGUMENTS", "LEVEL", "BY", "CREATED"}, got.Rules, func(r rule) []string {
			return []string{r.ID, r.Agent, r.Tool, terminal.Short(string(r.Args)), r.Level, r.By, s.Ago(r.Created)}
		})
	})
}

// EndRule is "sluice policy end-rule".
func EndRule(d command.Deps) *cobra.Command {
	return command.Doing(d, &cobra.Command{Use: "end-rule RULE", Short: "End a rule that always allows tool calls", Args: command.Args(1, 1)}, func(args []string) (api.Request, error) {
		return api.Request{Method: http.MethodDelete, Path: api.Path("policy", "allow-rules", args[0])}, nil
	}, func(s terminal.Screen, _ api.Answer, args []string) error {
		return s.Printf("%s: ended. The next call needs approval again.", terminal.Line(args[0]))
	})
}

// proposedMax is the longest proposed policy, in bytes.
const proposedMax = 64 << 10

// tried is what a proposed policy would have decided.
type tried struct {
	Deliveries, Calls int
	Bound             string
	Count             map[string]int
	Changed           []changed
	More              bool
	Untried           []string
}

// changed is a message or a tool call that the proposed policy would have decided differently.
type changed struct {
	Delivery, Run, Tool, Text, Was, Would string
	At                                    time.Time
	Route                                 api.Route
}

// Backtest is "sluice policy backtest".
func Backtest(d command.Deps, stdin io.Reader) *cobra.Command {
	var since string
	cmd := command.Asking(d, &cobra.Command{
		Use: "backtest FILE", Short: "Test a proposed policy on past messages and tool calls", Args: command.Args(1, 1),
		Long: `Show which stored messages and tool calls a proposed policy would have decided differently.
Nothing is changed or sent.

FILE has YAML: a rule, a list of rules, or policy.rules and session.sendPolicy as in sluice.yaml;
- reads standard input. Rules are added to the configured ones; a send policy replaces the
configured one.`,
	}, func(args []string) (api.Request, error) {
		text, err := read(stdin, args[0])
		if err != nil {
			return api.Request{}, err
		}
		body := map[string]string{"policy": text}
		if since != "" {
			body["since"] = since
		}
		return api.Request{Method: http.MethodPost, Path: "/v1/policy/backtest", Body: body}, nil
	}, report)
	cmd.Flags().StringVar(&since, "since", "", "check only what happened since this `time`, for example 2026-04-26T12:00:00Z")
	return cmd
}

// read reads a proposed policy.
func read(from io.Reader, name string) (string, error) {
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return "", fmt.Errorf("read the proposed policy: %w", err)
		}
		defer file.Close() //nolint:errcheck // it was only read
		from = file
	}
	text, err := io.ReadAll(io.LimitReader(from, proposedMax+1))
	if err != nil {
		return "", fmt.Errorf("read the proposed policy: %w", err)
	}
	if len(text) > proposedMax {
		return "", fmt.Errorf("the proposed policy may have at most %d bytes", proposedMax)
	}
	return string(text), nil
}

func report(s terminal.Screen, got tried) error {
	said := []string{}
	for _, action := range [][2]string{{"block", "stopped"}, {"hold", "asked about"}, {"redact", "redacted"}, {"allow", "allowed"}} {
		if n := got.Count[action[0]]; n > 0 {
			said = append(said, fmt.Sprintf("%s %d", action[1], n))
		}
	}
	result := "No decision would have been different."
	if len(said) > 0 {
		result = "It would have " + strings.Join(said, ", ") + "."
	}
	bound := map[string]string{"none": "Nothing older is stored.", "rows": "Older ones were not checked.", "time": "The test stopped after 5 seconds."}[got.Bound]
	if err := s.Printf("%s\n%s and %s were checked. %s", result, terminal.Plural(got.Deliveries, "message", "messages"), terminal.Plural(got.Calls, "tool call", "tool calls"), bound); err != nil {
		return err
	}
	for _, what := range got.Untried {
		if err := s.Printf("not tested: %s", terminal.Line(what)); err != nil {
			return err
		}
	}
	if len(got.Changed) == 0 {
		return nil
	}
	if err := s.Printf(""); err != nil {
		return err
	}
	err := terminal.Rows(s, []string{"ID", "WAS", "WOULD BE", "WHAT", "TEXT", "WHEN"}, got.Changed, func(c changed) []string {
		return []string{cmp.Or(c.Delivery, c.Run), c.Was, c.Would, cmp.Or(c.Tool, c.Route.String()), terminal.Short(c.Text), s.Ago(c.At)}
	})
	if err == nil && got.More {
		err = s.Printf("Only the newest 100 are listed.")
	}
	return err
}
