package views

import (
	"context"
	"fmt"
	"hash/fnv"
	"strconv"
	"time"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store/engine"
)

// RunsSince reads what the newest runs since a time were like, at most limit, newest first.
func (db Table) RunsSince(ctx context.Context, most flow.Level, since time.Time, limit int) ([]ledger.RunPoint, error) {
	f := engine.Filter{}
	f.Within(most, "runs", "session_id")
	if _, err := runs().period(ctx, db.Conn, &f, &ledger.Query{Since: since}); err != nil {
		return nil, err
	}
	return engine.All(ctx, db.Conn, `SELECT kind, status, input_tokens, output_tokens, accepted, finished FROM runs`+f.Where()+` ORDER BY seq DESC`+engine.Limit(limit), f.Args,
		func(row engine.Row) (ledger.RunPoint, error) {
			var p ledger.RunPoint
			var kind, status string
			var accepted, finished int64
			err := row.Scan(&kind, &status, &p.InputTokens, &p.OutputTokens, &accepted, &finished)
			p.Kind, p.Status = sessions.RunKind(kind), sessions.RunStatus(status)
			p.Accepted, p.Finished = engine.FromMicros(accepted), engine.FromMicros(finished)
			return p, err
		})
}

// DeliveriesSince counts the newest deliveries since a time, at most limit, for each step of time.
func (db Table) DeliveriesSince(ctx context.Context, most flow.Level, since time.Time, step time.Duration, limit int) ([]ledger.DeliveryCount, error) {
	f := engine.Filter{}
	f.Within(most, "deliveries", "session_id")
	if _, err := deliveries().period(ctx, db.Conn, &f, &ledger.Query{Since: since}); err != nil {
		return nil, err
	}
	at := `created / ` + strconv.FormatInt(step.Microseconds(), 10)
	newest := `SELECT status, created FROM deliveries` + f.Where() + ` ORDER BY seq DESC` + engine.Limit(limit)
	return engine.All(ctx, db.Conn, `SELECT count(*), SUM(CASE status WHEN 'sent' THEN 1 ELSE 0 END), MIN(created) FROM (`+newest+`) AS newest GROUP BY `+at, f.Args,
		func(row engine.Row) (ledger.DeliveryCount, error) {
			var n ledger.DeliveryCount
			var first int64
			err := row.Scan(&n.All, &n.Sent, &first)
			n.First = engine.FromMicros(first)
			return n, err
		})
}

// marked is how many of the newest rows are looked at for changes.
const marked = 100

// marks are the reads whose results change when rows of a kind do: text, table, order, the columns with sessions, and which rows.
func marks() []mark {
	return []mark{
		{"runs", "id || ' ' || status || ' ' || attempts", "runs", "seq DESC", []string{"session_id"}, ""},
		{"deliveries", "id || ' ' || status || ' ' || attempts", "deliveries", "seq DESC", []string{"session_id"}, ""},
		{"approvals", "id || ' ' || status || ' ' || decided", "approvals", "created DESC, id DESC", []string{"session_id"}, ""},
		{"alerts", "alert_key || ' ' || revision", "alerts", "started DESC, alert_key DESC", nil, ""},
		{"audit", "chain || '/' || seq", "audit", "at DESC, chain DESC, seq DESC", []string{"session_id"}, ""},
		{"jobs", "trigger_key", "triggers", "ended DESC", nil, "ended > 0"},
	}
}

type mark struct {
	kind, text, table, order string
	sessions                 []string
	only                     string
}

// Marks returns a number for each kind of rows that a caller of a level may see. It changes when one of the newest rows does.
func (db Table) Marks(ctx context.Context, most flow.Level) (map[string]uint64, error) {
	found := map[string]uint64{}
	for _, m := range marks() {
		f := engine.Filter{}
		f.AddIf(m.only != "", m.only)
		f.Within(most, m.table, m.sessions...)
		sum := fnv.New64a()
		err := db.Query(ctx, `SELECT `+m.text+` FROM `+m.table+f.Where()+` ORDER BY `+m.order+engine.Limit(marked), f.Args, func(row engine.Row) error {
			var text string
			err := row.Scan(&text)
			_, _ = sum.Write([]byte(text + "\n")) // never fails
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("look for changes of %s: %w", m.kind, err)
		}
		found[m.kind] = sum.Sum64()
	}
	var pairings, jobs string
	if err := db.One(ctx, `SELECT count(*) || '/' || COALESCE(MAX(created), 0) FROM pairings WHERE status = 'pending'`, nil, &pairings); err != nil {
		return nil, err
	}
	if err := db.One(ctx, `SELECT count(*) || '/' || COALESCE(MAX(revision), 0) FROM jobs`, nil, &jobs); err != nil {
		return nil, err
	}
	for kind, text := range map[string]string{"pairings": pairings, "jobs": jobs} {
		sum := fnv.New64a()
		_, _ = sum.Write([]byte(text)) // never fails
		found[kind] += sum.Sum64()
	}
	return found, nil
}
