package views

import (
	"context"
	"errors"
	"math"
	"strings"
	"time"

	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store/engine"
)

const (
	// windowRows is how many rows a search looks through at a time, and windowsMax in how many windows without a match a page
	// ends.
	windowRows = 5000
	windowsMax = 4
	// disorder is how far the times of rows may be out of order: rows are numbered when they are stored, and their times were
	// taken shortly before.
	disorder = 10 * time.Minute
)

// Table reads what operators see of runs and deliveries.
type Table struct{ *engine.Conn }

// list is a list of rows with the columns id, seq, level and session_id.
type list struct {
	table string
	at    string // the column with the time of a row
}

func runs() list       { return list{"runs", "accepted"} }
func deliveries() list { return list{"deliveries", "created"} }

// contains is a pattern for LIKE that matches texts with a part.
func contains(part string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(part) + "%"
}

// jsonField is a part of a row's JSON text. JSON escapes quotes, so no text inside a value looks like it.
func jsonField(name, value string) string {
	quoted := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(value)
	return `"` + name + `":"` + quoted + `"`
}

// runFilter are the conditions that the filters of a query add, and whether they need a search.
func runFilter(f *engine.Filter, q *ledger.Query) (search bool) {
	f.AddIf(q.Kind != "", `kind = ?`, q.Kind)
	f.AddIf(q.Model != "", `model = ?`, q.Model)
	f.AddIf(q.Slow > 0, `finished > 0 AND finished - accepted >= ?`, q.Slow.Microseconds())
	f.AddIf(q.Text != "", `lower(input) LIKE lower(?) ESCAPE '\'`, contains(q.Text))
	f.AddIf(q.Agent != "", `(SELECT o.agent FROM sessions o WHERE o.id = runs.session_id) = ?`, q.Agent)
	return q.Kind != "" || q.Model != "" || q.Slow > 0 || q.Text != "" || q.Agent != "" || q.Channel != ""
}

// deliveryFilter is [runFilter] for deliveries.
func deliveryFilter(f *engine.Filter, q *ledger.Query) (search bool) {
	f.AddIf(q.Kind != "", `kind = ?`, q.Kind)
	f.AddIf(q.Account != "", `route LIKE ? ESCAPE '\'`, contains(jsonField("account", q.Account)))
	f.AddIf(q.To != "", `route LIKE ? ESCAPE '\'`, contains(jsonField("conversation", q.To)))
	f.AddIf(q.Rule != "", `decision LIKE ? ESCAPE '\'`, contains(jsonField("rule", q.Rule)+`,"matched":true`))
	f.AddIf(q.Text != "", `lower(body) LIKE lower(?) ESCAPE '\'`, contains(q.Text))
	if q.Run != "" { // of which there are few
		f.Add(`run_id = ?`, string(q.Run))
		return false
	}
	return q.Kind != "" || q.Account != "" || q.To != "" || q.Rule != "" || q.Text != "" || q.Channel != ""
}

// period limits a filter to the rows of a time range without an index of times. All selected rows have numbers below end.
func (l list) period(ctx context.Context, c *engine.Conn, f *engine.Filter, q *ledger.Query) (end int64, err error) {
	if !q.Since.IsZero() {
		first, err := l.firstSince(ctx, c, q.Since.Add(-disorder))
		if err != nil {
			return 0, err
		}
		f.Add(`seq >= ? AND `+l.at+` >= ?`, first, engine.Micros(q.Since))
	}
	if q.Until.IsZero() {
		return math.MaxInt64, nil
	}
	if end, err = l.firstSince(ctx, c, q.Until.Add(disorder)); err != nil {
		return 0, err
	}
	f.Add(`seq < ? AND `+l.at+` < ?`, end, engine.Micros(q.Until))
	return end, nil
}

// firstSince finds the number of the first row of a time by halving: rows are numbered in the order of their times, but for
// disorder. It is one statement, because each query to a database on another machine costs a round trip.
func (l list) firstSince(ctx context.Context, c *engine.Conn, at time.Time) (first int64, err error) {
	then := engine.Micros(at)
	const middle = `(h.low + h.high) / 2`
	timeOf := func(seq string) string {
		return `(SELECT r.` + l.at + ` FROM ` + l.table + ` r WHERE r.seq >= ` + seq + ` ORDER BY r.seq LIMIT 1)`
	}
	// before is the time of the row in the middle, which is NULL if there is no such row.
	err = c.One(ctx, engine.Brief+`WITH RECURSIVE h(low, high, before) AS (
		SELECT CAST(0 AS BIGINT), e.high, `+timeOf(`e.high / 2`)+` FROM (SELECT COALESCE(MAX(seq), 0) + 1 AS high FROM `+l.table+`) e
		UNION ALL
		SELECT CASE WHEN h.before < ? THEN `+middle+` ELSE h.low END, CASE WHEN h.before < ? THEN h.high ELSE `+middle+` END,
			`+timeOf(`CASE WHEN h.before < ? THEN (`+middle+` + h.high) / 2 ELSE (h.low + `+middle+`) / 2 END`)+`
		FROM h WHERE h.high - h.low > 1)
		SELECT high FROM h WHERE high - low <= 1`, []any{then, then, then}, &first)
	return first, err
}

// Runs reads a page of runs with the conditions of the caller and the filters of the query.
func Runs[T any](ctx context.Context, c *engine.Conn, q ledger.Query, f engine.Filter, columns string, scan func(engine.Row) (T, error)) ([]T, error) {
	search := runFilter(&f, &q)
	return page(ctx, c, runs(), q, f, search, columns, scan)
}

// Deliveries is [Runs] for deliveries.
func Deliveries[T any](ctx context.Context, c *engine.Conn, q ledger.Query, f engine.Filter, columns string, scan func(engine.Row) (T, error)) ([]T, error) {
	search := deliveryFilter(&f, &q)
	return page(ctx, c, deliveries(), q, f, search, columns, scan)
}

func page[T any](ctx context.Context, c *engine.Conn, l list, q ledger.Query, f engine.Filter, search bool, columns string, scan func(engine.Row) (T, error)) ([]T, error) {
	end, err := l.period(ctx, c, &f, &q)
	if err != nil {
		return nil, err
	}
	read := func(f engine.Filter, b *ledger.Bound) ([]T, error) {
		return engine.Listed(ctx, c, b, engine.Page(q.Limit), `SELECT `+columns+` FROM `+l.table+f.Where()+` ORDER BY seq DESC`, f.Args, scan)
	}
	b := q.Bound
	if !search {
		return read(f, b)
	}
	if b == nil {
		b = &ledger.Bound{Bytes: math.MaxInt32}
	}
	start, err := l.start(ctx, c, &q)
	if err != nil {
		return nil, err
	}
	start = min(start, end)
	for range windowsMax {
		low := max(0, start-windowRows)
		within := engine.Filter{}
		within.Add(`seq >= ? AND seq < ?`, low, start)
		rows, err := read(f.And(within), b)
		if err != nil || b.More {
			return rows, err
		}
		if b.Next, err = l.oldestSeen(ctx, c, &q, within); err != nil || low == 0 {
			b.Next = ""
			return rows, err
		}
		if b.More = b.Next != ""; len(rows) > 0 {
			return rows, nil
		}
		start = low
	}
	return nil, nil
}

// start is the number above the first row to look at.
func (l list) start(ctx context.Context, c *engine.Conn, q *ledger.Query) (int64, error) {
	var seq int64
	if q.After == "" {
		err := c.One(ctx, `SELECT COALESCE(MAX(seq), 0) + 1 FROM `+l.table, nil, &seq)
		return seq, err
	}
	f := engine.Filter{}
	f.Add(`id = ?`, q.After)
	f.Within(q.MaxLevel, l.table, "session_id")
	err := c.One(ctx, `SELECT seq FROM `+l.table+f.Where(), f.Args, &seq)
	if errors.Is(err, sessions.ErrNotFound) {
		return 0, nil // what the caller may not see is unknown, so nothing follows it
	}
	return seq, err
}

// oldestSeen is the id of the last row of a window that the caller may see, whether it matches or not.
func (l list) oldestSeen(ctx context.Context, c *engine.Conn, q *ledger.Query, within engine.Filter) (string, error) {
	f := within.And(engine.Filter{})
	f.Within(q.MaxLevel, l.table, "session_id")
	var id string
	err := c.One(ctx, `SELECT id FROM `+l.table+f.Where()+` ORDER BY seq LIMIT 1`, f.Args, &id)
	if errors.Is(err, sessions.ErrNotFound) {
		return "", nil
	}
	return id, err
}
