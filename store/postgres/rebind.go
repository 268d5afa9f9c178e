package postgres

import (
	"strconv"
	"strings"
	"sync"
)

// rebound keeps statements in PostgreSQL's spelling. The program has a bounded number of different ones.
type rebound struct{ texts sync.Map }

func (r *rebound) get(text string) string {
	if known, ok := r.texts.Load(text); ok {
		return known.(string) //nolint:forcetypeassert // only strings are stored
	}
	spelled := rebind(text)
	r.texts.Store(text, spelled)
	return spelled
}

// rebind numbers the arguments and uncovers what is for PostgreSQL only. The
// statements have no question mark in a literal.
func rebind(text string) string {
	text = strings.NewReplacer("/*pg", "", "*/", "").Replace(text)
	var b strings.Builder
	n := 0
	for _, c := range text {
		if c != '?' {
			b.WriteRune(c)
			continue
		}
		n++
		b.WriteString("$" + strconv.Itoa(n))
	}
	return b.String()
}
