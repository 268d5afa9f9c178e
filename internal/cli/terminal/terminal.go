// Package terminal is what all commands share: how they print results and how
// they say that they failed.
//
// Text from the gateway may come from anybody in a chat. Everything printed here
// shows hidden and control characters as numbers such as \u202e, so that no
// message can steer the terminal. Nothing is printed in color.
package terminal

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"sluice/internal/visible"
)

// ErrReported ends a command with exit code 1 where everything has been printed already.
var ErrReported = errors.New("reported")

// UsageError is wrong use that only the command itself can see. The command ends with exit code 2.
type UsageError struct{ Text string }

func (e UsageError) Error() string { return e.Text }

// Usagef makes a [UsageError].
func Usagef(format string, args ...any) error { return UsageError{fmt.Sprintf(format, args...)} }

// Screen is where a command prints.
type Screen struct {
	Out io.Writer        // results
	Err io.Writer        // everything else
	Now func() time.Time // for ages such as "5m ago"
}

// Printf prints a line of the result. Text from the gateway must go through [Line] or [Text] first.
func (s Screen) Printf(format string, args ...any) error {
	_, err := fmt.Fprintf(s.Out, format+"\n", args...)
	return err
}

// JSON prints an answer of the gateway as indented JSON; an empty answer as an empty object.
func (s Screen) JSON(raw []byte) error {
	var out bytes.Buffer
	if raw = bytes.TrimSpace(raw); len(raw) == 0 {
		raw = []byte("{}")
	}
	if err := json.Indent(&out, raw, "", "  "); err != nil {
		return fmt.Errorf("read the gateway's response: %w", err)
	}
	return s.Printf("%s", visible.JSON(out.String()))
}

// Object prints what a command found or did as indented JSON.
func (s Screen) Object(v any) error {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return fmt.Errorf("write the result as JSON: %w", err)
	}
	return s.JSON(out.Bytes())
}

// Result prints what a command found or did: as an object, or as a text.
func (s Screen) Result(asJSON bool, object any, text string) error {
	if asJSON {
		return s.Object(object)
	}
	return s.Printf("%s", text)
}

// Table prints rows below their heads. An empty cell is a dash.
func (s Screen) Table(head []string, rows [][]string) error {
	w := tabwriter.NewWriter(s.Out, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(head, "\t"))
	for _, row := range rows {
		cells := make([]string, len(row))
		for i := range row {
			cells[i] = cmp.Or(Line(row[i]), "-")
		}
		fmt.Fprintln(w, strings.Join(cells, "\t"))
	}
	return w.Flush()
}

// List prints a table with one row for each element, or the sentence none if the list is empty.
func List[T any](s Screen, none string, head []string, list []T, row func(T) []string) error {
	if len(list) == 0 {
		return s.Printf("%s", none)
	}
	return Rows(s, head, list, row)
}

// Rows prints a table with one row for each of a list.
func Rows[T any](s Screen, head []string, list []T, row func(T) []string) error {
	rows := make([][]string, len(list))
	for i, one := range list {
		rows[i] = row(one)
	}
	return s.Table(head, rows)
}

// Pairs prints names and values, given in turn. Empty values are left out.
func (s Screen) Pairs(pairs ...string) error {
	w := tabwriter.NewWriter(s.Out, 0, 4, 2, ' ', 0)
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			fmt.Fprintf(w, "%s\t%s\n", pairs[i], Line(pairs[i+1]))
		}
	}
	return w.Flush()
}

// Counts prints how many there are of each kind, after an empty line. It prints nothing without counts.
func (s Screen) Counts(title string, counts map[string]int) error {
	if len(counts) == 0 {
		return nil
	}
	texts := make([]string, 0, len(counts))
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		texts = append(texts, fmt.Sprintf("%s %d", Line(name), counts[name]))
	}
	return s.Printf("\n%s: %s", title, strings.Join(texts, ", "))
}

// More says how to get the next page. It prints nothing where this page is the last.
func (s Screen) More(after string) error {
	if after == "" {
		return nil
	}
	return s.Printf("More results: repeat the command with --after %s", Line(after))
}

// Ago is the age of a time, roughly; empty for no time.
func (s Screen) Ago(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	d := s.Now().Sub(at)
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

// Confirm asks a question. Its error says that the answer was not yes.
func (s Screen) Confirm(answers io.Reader, question string) error {
	if _, err := fmt.Fprintf(s.Err, "%s [y/N] ", Line(question)); err != nil {
		return err
	}
	answer, err := bufio.NewReader(io.LimitReader(answers, 100)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the answer: %w", err)
	}
	if answer = strings.ToLower(strings.TrimSpace(answer)); answer != "y" && answer != "yes" {
		return errors.New("nothing was changed")
	}
	return nil
}

// Line shows a text on one line, with hidden and control characters as numbers.
func Line(s string) string { return visible.Line(s) }

// Text shows a text of several lines, with hidden and control characters as numbers.
func Text(s string) string { return visible.Text(s) }

// Fragment shows a part of a streamed text. An emoji may be cut at its ends, so the characters that join emoji stay there.
func Fragment(s string) string {
	const joiners = "\u200d\ufe0f"
	head := s[:len(s)-len(strings.TrimLeft(s, joiners))]
	rest := s[len(head):]
	body := strings.TrimRight(rest, joiners)
	return head + Text(body) + rest[len(body):]
}

const shortRunes = 60

// Short cuts a text to the width of a table's cell.
func Short(s string) string {
	r := []rune(Line(s))
	if len(r) <= shortRunes {
		return string(r)
	}
	return string(r[:shortRunes-1]) + "…"
}

// Plural is a number with its noun, for example "1 rule" or "2 rules".
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
