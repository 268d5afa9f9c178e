package store

import (
	"strconv"
	"strings"

	"sluice/policy/flow"
)

// filter builds a WHERE clause. What selects nothing in particular is left out,
// so that an index can serve what is left.
type filter struct {
	terms []string
	args  []any
}

func (f *filter) add(term string, args ...any) {
	f.terms = append(f.terms, term)
	f.args = append(f.args, args...)
}

func (f *filter) addIf(wanted bool, term string, args ...any) {
	if wanted {
		f.add(term, args...)
	}
}

// within leaves out the rows that are above a level: by their own label, or by the
// taint of a session that one of the columns names. A session that is not there has lost
// its label. The table is named, so that a term may stand in a query of another one.
func (f *filter) within(most flow.Level, table string, columns ...string) {
	if flow.CanFlow(flow.Restricted, most) {
		return // nothing is above it
	}
	f.add(table+`.level <= ?`, most.Rank())
	for _, column := range columns {
		f.add(`(`+table+`.`+column+` = '' OR EXISTS (SELECT 1 FROM sessions w WHERE w.id = `+table+`.`+column+` AND w.level <= ?))`, most.Rank())
	}
}

// after begins behind a row of the page before, in the order of seq. One that is left out by the level is none.
func (f *filter) after(id string, most flow.Level, table string) {
	if id == "" {
		return
	}
	before := filter{}
	before.add(`p.id = ?`, id)
	before.within(most, "p", "session_id")
	f.add(`seq < (SELECT p.seq FROM `+table+` p`+before.where()+`)`, before.args...)
}

// afterPlace begins behind a row of the page before, in the order of a time and the id. One that is left out by the level is none.
func (f *filter) afterPlace(id string, most flow.Level, table, at string, columns ...string) {
	if id == "" {
		return
	}
	before := filter{}
	before.add(`p.id = ?`, id)
	before.within(most, "p", columns...)
	f.add(`(`+at+`, id) < (SELECT p.`+at+`, p.id FROM `+table+` p`+before.where()+`)`, before.args...)
}

func (f *filter) where() string {
	if len(f.terms) == 0 {
		return ""
	}
	return ` WHERE ` + strings.Join(f.terms, ` AND `)
}

// page is the number of rows to give for a wish; 0 is 50, the most is 200.
func page(limit int) int {
	if limit <= 0 {
		return 50
	}
	return min(limit, 200)
}

// most is a query's limit. It is no argument, because SQLite plans a query again
// for each value of one; there are few different values.
func most(limit int) string { return ` LIMIT ` + strconv.Itoa(limit) }
