package engine

import (
	"slices"
	"strconv"
	"strings"

	"sluice/policy/flow"
	"sluice/router/ledger"
)

// Filter builds a WHERE clause. Conditions that select everything are left out, so that an index can serve the rest.
type Filter struct {
	terms []string
	Args  []any
}

// Add adds a condition and its arguments.
func (f *Filter) Add(term string, args ...any) {
	f.terms = append(f.terms, term)
	f.Args = append(f.Args, args...)
}

// AddIf adds a condition if wanted is true.
func (f *Filter) AddIf(wanted bool, term string, args ...any) {
	if wanted {
		f.Add(term, args...)
	}
}

// And returns a filter with the conditions of both.
func (f *Filter) And(o Filter) Filter {
	return Filter{slices.Concat(f.terms, o.terms), slices.Concat(f.Args, o.Args)}
}

// Within excludes the rows above a level, judged by their own label or by the taint of the session that the column
// names. A missing session has lost its label: it counts as above all levels. The session's level is looked up for each row, not
// by EXISTS, for which PostgreSQL reads all sessions first. The columns are qualified with the table, so that a term can be used
// inside a query of another table.
func (f *Filter) Within(most flow.Level, table string, columns ...string) {
	if flow.CanFlow(flow.Restricted, most) {
		return // no label is above it
	}
	f.Add(table+`.level <= ?`, most.Rank())
	for _, column := range columns {
		f.Add(`(`+table+`.`+column+` = '' OR COALESCE((SELECT w.level FROM sessions w WHERE w.id = `+table+`.`+column+`), 5) <= ?)`, most.Rank())
	}
}

// After starts after a row of the previous page, ordered by seq. A row above the level is treated as unknown.
func (f *Filter) After(id string, most flow.Level, table string) {
	if id == "" {
		return
	}
	before := Filter{}
	before.Add(`p.id = ?`, id)
	before.Within(most, "p", "session_id")
	f.Add(`seq < (SELECT p.seq FROM `+table+` p`+before.Where()+`)`, before.Args...)
}

// AfterPlace starts after a row of the previous page, ordered by a time and the id, the newest first. A row above the
// level is treated as unknown.
func (f *Filter) AfterPlace(id string, most flow.Level, table, at string, columns ...string) {
	f.afterPlace("<", id, most, table, at, columns)
}

// AfterLater is [Filter.AfterPlace] for a list that begins with the earliest time.
func (f *Filter) AfterLater(id string, most flow.Level, table, at string, columns ...string) {
	f.afterPlace(">", id, most, table, at, columns)
}

func (f *Filter) afterPlace(compare, id string, most flow.Level, table, at string, columns []string) {
	if id == "" {
		return
	}
	before := Filter{}
	before.Add(`p.id = ?`, id)
	before.Within(most, "p", columns...)
	f.Add(`(`+at+`, id) `+compare+` (SELECT p.`+at+`, p.id FROM `+table+` p`+before.Where()+`)`, before.Args...)
}

// Where returns the clause of all conditions, or an empty text without conditions.
func (f *Filter) Where() string {
	if len(f.terms) == 0 {
		return ""
	}
	return ` WHERE ` + strings.Join(f.terms, ` AND `)
}

// Page returns the page size for a requested limit: 0 means 50, and the maximum is [ledger.MaxPage].
func Page(limit int) int {
	if limit <= 0 {
		return 50
	}
	return min(limit, ledger.MaxPage)
}

// Limit returns a LIMIT clause. The value is not an argument because SQLite plans a query again for each value; there
// are few different ones.
func Limit(limit int) string { return ` LIMIT ` + strconv.Itoa(limit) }
