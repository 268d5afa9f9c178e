package postgres

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/jackc/pgx/v5/pgconn"

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

// write is the text of a statement of a transaction. One that must change a number of rows fails if it changes fewer.
func (r *rebound) write(s engine.Statement) string {
	if s.Else == nil {
		return r.get(s.SQL)
	}
	type must struct {
		text string
		rows int64
	}
	key := must{s.SQL, max(s.Rows, 1)}
	if known, ok := r.texts.Load(key); ok {
		text, _ := known.(string)
		return text
	}
	text := `WITH changed AS (` + rebind(s.SQL) + ` RETURNING 1) ` + enough(strconv.FormatInt(key.rows, 10))
	r.texts.Store(key, text)
	return text
}

// fewRows begins what the server says in its log when a write finds other rows than it needs.
const fewRows = "sluice: the rows have changed in the meantime; rows found: "

// enough makes a statement fail if it has changed fewer rows: PostgreSQL can't cast the sentence to a number.
func enough(rows string) string {
	return `SELECT CASE WHEN count(*) >= ` + rows + ` THEN count(*) ELSE CAST('` + fewRows + `' || count(*) AS bigint) END FROM changed`
}

// tooFew reports whether an error is that of enough.
func tooFew(e *pgconn.PgError) bool {
	return e.Code == noNumber && strings.Contains(e.Message, fewRows)
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
