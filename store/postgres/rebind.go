package postgres

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"sluice/store/engine"
)

// rebound caches statements in PostgreSQL's syntax. Their number is bounded.
type rebound struct{ texts sync.Map }

// statement is a text in PostgreSQL's spelling; brief says that it began with [engine.Brief].
type statement struct {
	text  string
	brief bool
}

func (r *rebound) get(text string) string { return r.statement(text).text }

func (r *rebound) statement(text string) statement {
	known, _ := r.texts.Load(text)
	if s, ok := known.(statement); ok {
		return s
	}
	s := statement{rebind(text), strings.HasPrefix(text, engine.Brief)}
	r.texts.Store(text, s)
	return s
}

// rebind numbers the arguments and uncovers the parts for PostgreSQL. No literal contains a question mark.
func rebind(text string) string {
	text = strings.TrimPrefix(text, engine.Brief)
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

// WordQuery implements [engine.Engine].
func (*database) WordQuery(level int, field engine.WordField) string {
	return fmt.Sprintf(`SELECT '%s', COALESCE(string_agg((seq - ?)::text, ','), '') FROM memory_postings
		WHERE level = %d AND in_labels = %t AND word = memory_stem(?) AND seq BETWEEN ? AND ?`, field, level, field == engine.WordLabels)
}
