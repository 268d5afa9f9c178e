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
	"sluice/internal/cli/terminal"
)

// Deps is what the commands need.
type Deps struct {
	Screen  terminal.Screen
	Connect func() (*api.Client, error) // called when a command runs
	Stdin   io.Reader
	// Run makes a command from its function, and Args says how many arguments it takes.
	Run  func(do func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error
	Args func(least, most int) cobra.PositionalArgs
}

func (d Deps) call(ctx context.Context, r api.Request) (api.Answer, error) {
	c, err := d.Connect()
	if err != nil {
		return api.Answer{}, err
	}
	return c.Call(ctx, r)
}

// asking makes a command that prints an answer, as text or as JSON.
func (d Deps) asking(cmd *cobra.Command, about func(ctx context.Context, args []string) (api.Request, error), show func(answer api.Answer, args []string) error) *cobra.Command {
	var asJSON bool
	cmd.RunE = d.Run(func(ctx context.Context, args []string) error {
		r, err := about(ctx, args)
		if err != nil {
			return err
		}
		answer, err := d.call(ctx, r)
		if err != nil {
			return err
		}
		if asJSON {
			return d.Screen.JSON(answer.Body)
		}
		return show(answer, args)
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the gateway's response as JSON")
	return cmd
}

// rule is a rule that always allows calls.
type rule struct {
	ID, Agent, Tool, Level, By, YAML string
	Args                             json.RawMessage
	Created                          time.Time
}

// Always is "sluice approvals always".
func Always(d Deps) *cobra.Command {
	var patterns []string
	var save bool
	cmd := &cobra.Command{
		Use: "always ID", Short: "Allow a tool call, and all calls like it from now on", Args: d.Args(1, 1),
		Long: `Allow a waiting tool call, and save a rule that allows all calls like it: of the same agent
and tool, with the same arguments, in conversations that have learned nothing of a higher level.
Without --save, the command shows the rule and changes nothing. Only an owner can save a rule.

"sluice policy allow-rules" lists the rules, "sluice policy end-rule" ends one.`,
	}
	cmd = d.asking(cmd, func(ctx context.Context, args []string) (api.Request, error) {
		r := api.Request{Method: http.MethodPost, Path: api.Path("approvals", args[0], "always"), Body: map[string]any{"preview": true}}
		pattern, err := d.pattern(ctx, r, patterns)
		if err != nil {
			return r, err
		}
		body := map[string]any{"preview": !save}
		if pattern != nil {
			body["args"] = pattern
		}
		r.Body = body
		return r, nil
	}, func(answer api.Answer, _ []string) error {
		got, err := api.Decode[always](answer)
		if err != nil {
			return err
		}
		if err := d.Screen.Printf("%s", terminal.Text(strings.TrimRight(got.Rule.YAML, "\n"))); err != nil {
			return err
		}
		if got.Saved {
			return d.Screen.Printf("\nSaved as %s. The waiting call is allowed.", got.Rule.ID)
		}
		return d.Screen.Printf("\nNot saved yet. Add --save to save this rule and allow the call.")
	})
	cmd.Flags().StringArrayVar(&patterns, "arg", nil, "allow other values of an argument: `NAME=PATTERN`, where * matches any characters; may be repeated")
	cmd.Flags().BoolVar(&save, "save", false, "save the rule, and allow the call")
	return cmd
}

// always is the response with a rule that was saved or previewed.
type always struct {
	Rule  rule
	Saved bool
}

// pattern replaces some arguments of the call by patterns. It asks for the exact arguments with preview; nil if vary is empty.
func (d Deps) pattern(ctx context.Context, preview api.Request, vary []string) (map[string]json.RawMessage, error) {
	if len(vary) == 0 {
		return nil, nil
	}
	answer, err := d.call(ctx, preview)
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
func Rules(d Deps) *cobra.Command {
	return d.asking(&cobra.Command{Use: "allow-rules", Short: "List the rules that always allow tool calls", Args: d.Args(0, 0)}, func(context.Context, []string) (api.Request, error) {
		return api.Request{Path: "/v1/policy/allow-rules"}, nil
	}, func(answer api.Answer, _ []string) error {
		got, err := api.Decode[struct{ Rules []rule }](answer)
		if err != nil {
			return err
		}
		if len(got.Rules) == 0 {
			return d.Screen.Printf("No rules found. \"sluice approvals always ID\" adds one.")
		}
		return terminal.Rows(d.Screen, []string{"ID", "AGENT", "TOOL", "ARGUMENTS", "LEVEL", "BY", "CREATED"}, got.Rules, func(r rule) []string {
			return []string{r.ID, r.Agent, r.Tool, terminal.Short(string(r.Args)), r.Level, r.By, d.Screen.Ago(r.Created)}
		})
	})
}

// EndRule is "sluice policy end-rule".
func EndRule(d Deps) *cobra.Command {
	return d.asking(&cobra.Command{Use: "end-rule RULE", Short: "End a rule that always allows tool calls", Args: d.Args(1, 1)}, func(_ context.Context, args []string) (api.Request, error) {
		return api.Request{Method: http.MethodDelete, Path: api.Path("policy", "allow-rules", args[0])}, nil
	}, func(_ api.Answer, args []string) error {
		return d.Screen.Printf("%s: ended. The next call needs approval again.", terminal.Line(args[0]))
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
func Backtest(d Deps) *cobra.Command {
	var since string
	cmd := d.asking(&cobra.Command{
		Use: "backtest FILE", Short: "Test a proposed policy on past messages and tool calls", Args: d.Args(1, 1),
		Long: `Show which stored messages and tool calls a proposed policy would have decided differently.
Nothing is changed or sent.

FILE has YAML: a rule, a list of rules, or policy.rules and session.sendPolicy as in sluice.yaml;
- reads standard input. Rules are added to the configured ones; a send policy replaces the
configured one.`,
	}, func(_ context.Context, args []string) (api.Request, error) {
		text, err := d.read(args[0])
		if err != nil {
			return api.Request{}, err
		}
		body := map[string]string{"policy": text}
		if since != "" {
			body["since"] = since
		}
		return api.Request{Method: http.MethodPost, Path: "/v1/policy/backtest", Body: body}, nil
	}, func(answer api.Answer, _ []string) error {
		got, err := api.Decode[tried](answer)
		if err != nil {
			return err
		}
		return d.report(got)
	})
	cmd.Flags().StringVar(&since, "since", "", "check only what happened since this `time`, for example 2026-04-26T12:00:00Z")
	return cmd
}

// read reads a proposed policy.
func (d Deps) read(name string) (string, error) {
	from := d.Stdin
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

func (d Deps) report(got tried) error {
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
	if err := d.Screen.Printf("%s\n%s and %s were checked. %s", result, terminal.Plural(got.Deliveries, "message", "messages"), terminal.Plural(got.Calls, "tool call", "tool calls"), bound); err != nil {
		return err
	}
	for _, what := range got.Untried {
		if err := d.Screen.Printf("not tested: %s", terminal.Line(what)); err != nil {
			return err
		}
	}
	if len(got.Changed) == 0 {
		return nil
	}
	if err := d.Screen.Printf(""); err != nil {
		return err
	}
	err := terminal.Rows(d.Screen, []string{"ID", "WAS", "WOULD BE", "WHAT", "TEXT", "WHEN"}, got.Changed, func(c changed) []string {
		return []string{cmp.Or(c.Delivery, c.Run), c.Was, c.Would, cmp.Or(c.Tool, c.Route.String()), terminal.Short(c.Text), d.Screen.Ago(c.At)}
	})
	if err == nil && got.More {
		err = d.Screen.Printf("Only the newest 100 are listed.")
	}
	return err
}
