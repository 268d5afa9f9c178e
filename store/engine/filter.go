package engine

import (
	"strconv"
	"strings"

	"sluice/policy/flow"
)

// Filter builds a WHERE clause. What selects nothing in particular is left out,
// so that an index can serve what is left.
type Filter struct {
	terms []string
	Args  []any
}

// Add adds a condition and its arguments.
func (f *Filter) Add(term string, args ...any) {
	f.terms = append(f.terms, term)
	f.Args = append(f.Args, args...)
}

// AddIf adds a condition if it is wanted.
func (f *Filter) AddIf(wanted bool, term string, args ...any) {
	if wanted {
		f.Add(term, args...)
	}
}

// Within leaves out the rows that are above a level: by their own label, or by the
// taint of a session that one of the columns names. A session that is not there has lost
// its label. The table is named, so that a term may stand in a query of another one.
func (f *Filter) Within(most flow.Level, table string, columns ...string) {
	if flow.CanFlow(flow.Restricted, most) {
		return // nothing is above it
	}
	f.Add(table+`.level <= ?`, most.Rank())
	for _, column := range columns {
		f.Add(`(`+table+`.`+column+` = '' OR EXISTS (SELECT 1 FROM sessions w WHERE w.id = `+table+`.`+column+` AND w.level <= ?))`, most.Rank())
	}
}

// After begins behind a row of the page before, in the order of seq. A row above the level is treated as unknown.
func (f *Filter) After(id string, most flow.Level, table string) {
	if id == "" {
		return
	}
	before := Filter{}
	before.Add(`p.id = ?`, id)
	before.Within(most, "p", "session_id")
	f.Add(`seq < (SELECT p.seq FROM `+table+` p`+before.Where()+`)`, before.Args...)
}

// AfterPlace begins behind a row of the page before, in the order of a time and the id. A row above the level is treated as unknown.
func (f *Filter) AfterPlace(id string, most flow.Level, table, at string, columns ...string) {
	if id == "" {
		return
	}
	before := Filter{}
	before.Add(`p.id = ?`, id)
	before.Within(most, "p", columns...)
	f.Add(`(`+at+`, id) < (SELECT p.`+at+`, p.id FROM `+table+` p`+before.Where()+`)`, before.Args...)
}

// Where is the clause of all conditions; empty without any.
func (f *Filter) Where() string {
	if len(f.terms) == 0 {
		return ""
	}
	return ` WHERE ` + strings.Join(f.terms, ` AND `)
}

// Page is the number of rows to give for a wish; 0 is 50, the maximum is 200.
func Page(limit int) int {
	if limit <= 0 {
		return 50
	}
	return min(limit, 200)
}

// Limit is a query's limit. It is no argument, because SQLite plans a query again
// for each value of one; there are few different values.
func Limit(limit int) string { return ` LIMIT ` + strconv.Itoa(limit) }
