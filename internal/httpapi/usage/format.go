package usage

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
)

// column is a column of the CSV, named as in JSON.
type column struct {
	name string
	of   func(r *SumRow) string
}

// columns are those of the CSV: what the request groups by, then the amounts. They are named as in JSON.
func (u *Sums) columns() []column {
	var all []column
	for _, c := range []column{
		{"day", func(r *SumRow) string { return r.Day }},
		{"agent", func(r *SumRow) string { return r.Agent }},
		{"person", func(r *SumRow) string { return r.Person }},
		{"session", func(r *SumRow) string { return r.Session }},
		{"job", func(r *SumRow) string { return r.Job }},
		{"provider", func(r *SumRow) string { return r.Provider }},
		{"model", func(r *SumRow) string { return r.Model }},
		{"key", func(r *SumRow) string { return r.Key }},
	} {
		if slices.Contains(u.By, c.name) {
			all = append(all, c)
		}
	}
	number := func(name string, of func(r *SumRow) int) {
		all = append(all, column{name, func(r *SumRow) string { return strconv.Itoa(of(r)) }})
	}
	number("calls", func(r *SumRow) int { return r.Calls })
	number("failed", func(r *SumRow) int { return r.Failed })
	number("estimated", func(r *SumRow) int { return r.Estimated })
	number("input", func(r *SumRow) int { return r.Tokens.Input })
	number("output", func(r *SumRow) int { return r.Tokens.Output })
	number("cached", func(r *SumRow) int { return r.Tokens.Cached })
	number("written", func(r *SumRow) int { return r.Tokens.Written })
	number("thinking", func(r *SumRow) int { return r.Tokens.Thinking })
	number("pictures", func(r *SumRow) int { return r.Pictures })
	return append(all,
		column{"audio_seconds", func(r *SumRow) string { return strconv.FormatFloat(r.AudioSeconds, 'f', -1, 64) }},
		column{"cost", func(r *SumRow) string { return r.Cost }}, column{"currency", func(r *SumRow) string { return r.Currency }},
	)
}

// tableOf is the answer as CSV: a header line, then the rows.
func tableOf(u *Sums) (*Output, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	columns := u.columns()
	line := make([]string, len(columns))
	for i, c := range columns {
		line[i] = c.name
	}
	w.Write(line) //nolint:errcheck // Error has it
	for i := range u.Rows {
		for j, c := range columns {
			line[j] = c.of(&u.Rows[i])
		}
		w.Write(line) //nolint:errcheck // Error has it
	}
	w.Flush()
	if err := w.Error(); err != nil {
		return nil, fmt.Errorf("write usage as CSV: %w", err)
	}
	return &Output{Type: "text/csv; charset=utf-8", Disposition: `attachment; filename="usage.csv"`, Body: b.Bytes()}, nil
}

func objectOf(u *Sums) (*Output, error) {
	text, err := json.Marshal(u)
	if err != nil {
		return nil, fmt.Errorf("encode usage: %w", err)
	}
	return &Output{Type: "application/json", Body: append(text, '\n')}, nil
}
