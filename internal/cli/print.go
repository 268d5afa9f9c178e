package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/visible"
)

const shortText = 60

// output is how a command shows its result.
type output struct{ json bool }

// flag adds --json to a command.
func (o *output) flag(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&o.json, "json", false, "print the gateway's answer as JSON")
	return cmd
}

// show prints the raw answer as JSON, or calls plain for people.
func (o *output) show(a *app, raw []byte, plain func() error) error {
	if !o.json {
		return plain()
	}
	var out bytes.Buffer
	if err := json.Indent(&out, bytes.TrimSpace(raw), "", "  "); err != nil {
		return fmt.Errorf("read answer: %w", err)
	}
	_, err := fmt.Fprintln(a.Stdout, visible.JSON(out.String()))
	return err
}

// table prints rows under their heads.
func (a *app) table(head []string, rows [][]string) error {
	w := tabwriter.NewWriter(a.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(head, "\t"))
	for _, row := range rows {
		for i := range row {
			row[i] = orText(clean(row[i]), "-")
		}
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	return w.Flush()
}

// pairs prints names with values; what is empty is left out.
func (a *app) pairs(pairs ...string) error {
	w := tabwriter.NewWriter(a.Stdout, 0, 4, 2, ' ', 0)
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			fmt.Fprintf(w, "%s\t%s\n", pairs[i], clean(pairs[i+1]))
		}
	}
	return w.Flush()
}

// clean shows a text from a chat on one line. What would steer a terminal, or can't be seen, is made visible.
func clean(s string) string { return visible.Line(s) }

// safe is clean for texts of several lines.
func safe(s string) string { return visible.Text(s) }

// piece is safe for a piece of a text whose other pieces are not there: an emoji may go on in the next one.
func piece(s string) string {
	const inEmoji = "\u200d\ufe0f"
	head := s[:len(s)-len(strings.TrimLeft(s, inEmoji))]
	rest := s[len(head):]
	body := strings.TrimRight(rest, inEmoji)
	return head + safe(body) + rest[len(body):]
}

// short cuts a text to one line of a table.
func short(s string) string {
	r := []rune(clean(s))
	if len(r) <= shortText {
		return string(r)
	}
	return string(r[:shortText-1]) + "…"
}

// ago says how long something is past, roughly.
func (a *app) ago(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	d := a.Now().Sub(at)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds ago", max(0, int(d.Seconds())))
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	}
	return fmt.Sprintf("%dd ago", int(d.Hours()/24))
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
