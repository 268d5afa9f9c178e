package store

import (
	"strconv"
	"strings"
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

// most is a query's limit. It is no argument, because SQLite plans a query anew
// for each value of one; there are few different values.
func most(limit int) string { return ` LIMIT ` + strconv.Itoa(limit) }
