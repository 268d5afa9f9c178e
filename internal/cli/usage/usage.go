// Package usage has the commands that show the usage and cost of model calls.
package usage

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/cli/api"
	"sluice/internal/cli/command"
	"sluice/internal/cli/terminal"
)

// unknown is the cost of calls whose model has no price.
const unknown = "unknown"

// amounts are what some calls have used together.
type amounts struct {
	Calls, Failed, Estimated int
	Tokens                   struct{ Input, Output, Cached int }
	AudioSeconds             float64 `json:"audio_seconds"`
	Cost, Currency           string
}

type row struct {
	Day, Agent, Person, Session, Job, Provider, Model, Key string
	amounts
}

type sums struct {
	From, To time.Time
	By       []string
	Rows     []row
	More     bool
	Totals   []amounts
}

// flags are what a request asks for.
type flags struct {
	by, from, to                                 string
	agent, person, session, job, provider, model string
	limit                                        int
	csv, json                                    bool
}

// Command is "sluice usage".
func Command(d command.Deps) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use: "usage", Short: "Show the usage and cost of model calls", Args: command.Args(0, 0),
		Long: `Show the usage and cost of the model calls of the last 30 days, by day. Days are in UTC.

Each call has the price that was valid when it was made ("sluice models prices"). The
cost of a model without a price is unknown.`,
		RunE: d.Run(func(ctx context.Context, _ []string) error { return show(ctx, d, &f) }),
	}
	set := cmd.Flags()
	set.StringVar(&f.by, "by", "day", "group by these `keys`, separated by commas: day, agent, person, session, job, provider, model, key")
	set.StringVar(&f.from, "from", "", "the first `day` (UTC), or a time (default: 30 days, including today)")
	set.StringVar(&f.to, "to", "", "the last `day` (UTC), or a time (default: now)")
	set.StringVar(&f.agent, "agent", "", "only calls of this agent, by `ID`")
	set.StringVar(&f.person, "person", "", "only calls for this `person`, such as telegram:1001")
	set.StringVar(&f.session, "session", "", "only calls of this session, by `key` or ID")
	set.StringVar(&f.job, "job", "", "only calls of this job, by `ID`; hook:NAME for a hook")
	set.StringVar(&f.provider, "provider", "", "only calls of this `provider`")
	set.StringVar(&f.model, "model", "", "only calls of this model, as `PROVIDER/MODEL`")
	set.IntVar(&f.limit, "limit", 1000, "show at most this `number` of rows")
	set.BoolVar(&f.csv, "csv", false, "print the rows as CSV")
	command.JSON(cmd, &f.json)
	cmd.MarkFlagsMutuallyExclusive("csv", "json")
	cmd.AddCommand(budgets(d))
	return cmd
}

func show(ctx context.Context, d command.Deps, f *flags) error {
	r := api.Request{Path: api.Path("usage"), Query: api.Query(
		"by", f.by, "from", f.from, "to", f.to, "agent", f.agent, "person", f.person, "session", f.session, "job", f.job, "provider", f.provider, "model", f.model, "limit", strconv.Itoa(f.limit),
	)}
	if f.csv {
		r.Query.Set("format", "csv")
	}
	answer, err := d.Call(ctx, r)
	if err != nil {
		return err
	}
	switch {
	case f.csv:
		if _, err := io.WriteString(d.Screen.Out, terminal.Text(string(answer.Body))); err != nil {
			return fmt.Errorf("print CSV: %w", err)
		}
		return nil
	case f.json:
		return d.Screen.JSON(answer.Body)
	}
	got, err := api.Decode[sums](answer)
	if err != nil {
		return err
	}
	return table(d.Screen, &got, f.limit)
}

// table prints sums as a table, and below it what they are together.
func table(s terminal.Screen, got *sums, limit int) error {
	if len(got.Rows) == 0 {
		return s.Printf("No model calls %s.", between(got.From, got.To))
	}
	head := append(slices.Clone(got.By), "calls", "input", "cached", "output")
	audio := slices.ContainsFunc(got.Rows, func(r row) bool { return r.AudioSeconds > 0 })
	if audio {
		head = append(head, "audio")
	}
	head = append(head, "cost")
	for i := range head {
		head[i] = strings.ToUpper(head[i])
	}
	err := terminal.Rows(s, head, got.Rows, func(r row) []string {
		var cells []string
		for _, name := range got.By {
			cells = append(cells, r.group(name))
		}
		cells = append(cells, strconv.Itoa(r.Calls), strconv.Itoa(r.Tokens.Input), cached(&r.amounts), strconv.Itoa(r.Tokens.Output))
		if audio {
			cells = append(cells, time.Duration(r.AudioSeconds*float64(time.Second)).String())
		}
		return append(cells, cost(&r.amounts))
	})
	if err != nil {
		return err
	}
	if got.More {
		if err := s.Printf("There are more than %d rows: raise --limit, or choose fewer calls.", limit); err != nil {
			return err
		}
	}
	return s.Printf("\n%s", strings.Join(total(got), "\n"))
}

// total are the lines below the table.
func total(got *sums) (lines []string) {
	var texts []string
	calls, failed, estimated, unpriced := 0, 0, 0, 0
	for i := range got.Totals {
		t := &got.Totals[i]
		calls, failed, estimated = calls+t.Calls, failed+t.Failed, estimated+t.Estimated
		if t.Cost == unknown {
			unpriced += t.Calls
			continue
		}
		texts = append(texts, cost(t))
	}
	if unpriced > 0 {
		texts = append(texts, terminal.Plural(unpriced, "call", "calls")+" with an unknown cost")
	}
	lines = append(lines, fmt.Sprintf("Total %s: %s, %s", between(got.From, got.To), terminal.Plural(calls, "call", "calls"), strings.Join(texts, ", ")))
	if failed > 0 {
		lines = append(lines, fmt.Sprintf("%d failed.", failed))
	}
	if estimated > 0 {
		lines = append(lines, fmt.Sprintf("%d count with the most that they may have used: the provider did not report their usage.", estimated))
	}
	if unpriced > 0 {
		lines = append(lines, "Set models.prices for models whose cost is unknown. Prices apply to later calls.")
	}
	return lines
}

func between(from, to time.Time) string {
	day := func(at time.Time, days int) string {
		if at = at.UTC(); at.Equal(at.Truncate(24 * time.Hour)) {
			return at.AddDate(0, 0, days).Format(time.DateOnly)
		}
		return at.Format(time.RFC3339)
	}
	return "from " + day(from, 0) + " to " + day(to, -1)
}

func (r *row) group(name string) string {
	switch name {
	case "day":
		return r.Day
	case "agent":
		return r.Agent
	case "person":
		return r.Person
	case "session":
		return r.Session
	case "job":
		return r.Job
	case "provider":
		return r.Provider
	case "model":
		return r.Model
	}
	return r.Key
}

// cached is the share of the input that came from the provider's cache.
func cached(a *amounts) string {
	if a.Tokens.Cached == 0 || a.Tokens.Input == 0 {
		return ""
	}
	return fmt.Sprintf("%d%%", a.Tokens.Cached*100/a.Tokens.Input)
}

func cost(a *amounts) string {
	if a.Cost == unknown {
		return unknown
	}
	return money(a.Cost) + " " + a.Currency
}

// money shows an exact amount with two to four decimals.
func money(exact string) string {
	n, err := strconv.ParseFloat(exact, 64)
	switch {
	case err != nil:
		return exact
	case n > 0 && n < 0.0001:
		return "under 0.0001"
	}
	text := fmt.Sprintf("%.4f", n)
	for range 2 {
		text = strings.TrimSuffix(text, "0")
	}
	return text
}
