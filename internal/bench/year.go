package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"
	_ "modernc.org/sqlite" // for VACUUM

	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store"
	pgstore "sluice/store/postgres"
	"sluice/store/sqlite"
)

const (
	yearDays    = 365
	yearKept    = 90 // days, the default of retention.runs, events and deliveries
	yearEach    = 4  // messages of a person on each day
	yearWriters = 64 // concurrent commits
)

// measureYear stores a year of traffic, with its times, and measures what retention and vacuum make of it.
func measureYear(ctx context.Context, b *bench) (err error) {
	y := &year{people: b.yearPeople, end: time.Now().UTC().Truncate(24 * time.Hour)}
	dir := filepath.Join(b.dir, "year")
	if err := y.measure(ctx, b, "SQLite", yearStore{
		open: func(ctx context.Context) (*store.DB, error) { return sqlite.Open(ctx, sqlite.Config{Dir: dir}) },
		size: func(context.Context) (float64, error) { return sizeOf(filepath.Join(dir, databaseFile)) },
		vacuum: func(ctx context.Context) error {
			raw, err := sql.Open("sqlite", filepath.Join(dir, databaseFile))
			if err != nil {
				return err
			}
			_, err = raw.ExecContext(ctx, "VACUUM")
			return errors.Join(err, raw.Close())
		},
	}); err != nil {
		return err
	}
	cluster, err := startPostgres(ctx, filepath.Join(b.dir, "pgyear"))
	if errors.Is(err, errNoPostgres) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.stop()) }()
	url, err := cluster.create(ctx, "year")
	if err != nil {
		return err
	}
	query := func(ctx context.Context, run func(*pgx.Conn) error) error {
		conn, err := pgx.Connect(ctx, url)
		if err != nil {
			return fmt.Errorf("open database: %w", err)
		}
		return errors.Join(run(conn), conn.Close(ctx))
	}
	return y.measure(ctx, b, "PostgreSQL", yearStore{
		open: func(ctx context.Context) (*store.DB, error) { return pgstore.Open(ctx, pgstore.Config{URL: url}) },
		size: func(ctx context.Context) (bytes float64, err error) {
			err = query(ctx, func(c *pgx.Conn) error {
				return c.QueryRow(ctx, "SELECT pg_database_size(current_database())::float8").Scan(&bytes)
			})
			return bytes / 1e6, err
		},
		vacuum: func(ctx context.Context) error {
			return query(ctx, func(c *pgx.Conn) error { _, err := c.Exec(ctx, "VACUUM FULL ANALYZE"); return err })
		},
	})
}

// yearStore is how a store is opened and measured.
type yearStore struct {
	open   func(context.Context) (*store.DB, error)
	size   func(context.Context) (float64, error) // MB
	vacuum func(context.Context) error            // while the store is closed
}

func sizeOf(path string) (mb float64, err error) {
	for _, suffix := range []string{"", "-wal"} {
		info, err := os.Stat(path + suffix)
		if err == nil {
			mb += float64(info.Size()) / 1e6
		} else if suffix == "" {
			return 0, err
		}
	}
	return mb, nil
}

// year is the traffic of a year that ends today.
type year struct {
	people int
	end    time.Time
}

func (y *year) measure(ctx context.Context, b *bench, kind string, s yearStore) error {
	name := fmt.Sprintf("%s, a year of %d people with %d messages a day: ", kind, y.people, yearEach)
	db, err := s.open(ctx)
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	began := time.Now()
	if err := y.fill(ctx, db); err != nil {
		return errors.Join(err, db.Close())
	}
	b.report.add(name+"messages and replies stored", "", perSecond, float64(y.people*yearEach*yearDays)/time.Since(began).Seconds())
	if err := db.Close(); err != nil {
		return err
	}
	if err := y.state(ctx, b, name+"before retention: ", s); err != nil {
		return err
	}
	if db, err = s.open(ctx); err != nil {
		return err
	}
	began = time.Now()
	rows, slowest, err := y.prune(ctx, db)
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	b.report.add(name+"retention: rows removed or emptied", "", count, float64(rows))
	b.report.add(name+"retention: all steps, without the pauses between them", "", milliseconds, inMilliseconds(time.Since(began)))
	b.report.add(name+"retention: slowest step", "", milliseconds, inMilliseconds(slowest))
	if err := y.state(ctx, b, name+"after retention: ", s); err != nil {
		return err
	}
	began = time.Now()
	if err := s.vacuum(ctx); err != nil {
		return fmt.Errorf("vacuum: %w", err)
	}
	b.report.add(name+"vacuum", "", milliseconds, inMilliseconds(time.Since(began)))
	return y.state(ctx, b, name+"after vacuum: ", s)
}

func count(n float64) string { return fmt.Sprintf("%.0f", n) }

// fill stores the days one after the other.
func (y *year) fill(ctx context.Context, db *store.DB) error {
	label := flow.NewLabel(flow.Internal, flow.Untrusted)
	people := make([]sessions.ID, y.people)
	for i := range people {
		people[i] = sessions.NewID()
		start := y.end.AddDate(0, 0, -yearDays)
		r := sessions.Record{ID: people[i], Key: sessions.Key(fmt.Sprintf("agent:main:telegram:direct:%d", i)), Agent: "main", Taint: label, Clearance: flow.Restricted, Created: start, LastActivity: y.end}
		if err := db.CommitSession(ctx, sessions.Change{Create: []sessions.Record{r}}); err != nil {
			return fmt.Errorf("store session: %w", err)
		}
	}
	for day := range yearDays {
		at := y.end.AddDate(0, 0, day-yearDays)
		group, inDay := errgroup.WithContext(ctx)
		group.SetLimit(yearWriters)
		for i, id := range people {
			for n := range yearEach {
				group.Go(func() error { return db.Commit(inDay, yearTurn(i, id, label, at.Add(time.Duration(n*6)*time.Hour))) })
			}
		}
		if err := group.Wait(); err != nil {
			return fmt.Errorf("store day %d: %w", day, err)
		}
	}
	return nil
}

// yearTurn are the rows of a message and its reply, as they are once it is sent.
func yearTurn(person int, id sessions.ID, label flow.Label, at time.Time) ledger.Change {
	question, reply := strings.Repeat("How is the weather? ", 4), strings.Repeat("It rains in the mountains, and the sun shines at the sea. ", 6)
	route := sessions.Route{Channel: "telegram", Account: "default", ChatType: sessions.Direct, Conversation: sessions.ConversationID(strconv.Itoa(person)), Peer: sessions.UserID(strconv.Itoa(person))}
	lane := route.Lane()
	run := sessions.Run{
		ID: sessions.NewRunID(), Session: id, Kind: sessions.KindMessage, Status: sessions.RunDone, Input: sessions.Input{Text: question, Sender: sessions.Peer{ID: route.Peer}},
		Route: route, Label: label, Reply: reply, Model: "p/m", Accepted: at, Started: at, Finished: at.Add(time.Second), Attempts: 1,
	}
	run.EventKey = "telegram/default/" + string(run.ID)
	asked := sessions.Message{ID: sessions.NewMessageID(), Run: run.ID, Role: sessions.RoleUser, Label: label, Created: at, Parts: []sessions.Part{sessions.TextPart(question, label)}}
	said := sessions.Message{ID: sessions.NewMessageID(), Parent: asked.ID, Run: run.ID, Role: sessions.RoleAssistant, Model: "p/m", Label: label, Created: at, Parts: []sessions.Part{sessions.TextPart(reply, label)}}
	d := ledger.Delivery{
		ID: ledger.NewDeliveryID(), Session: id, Run: run.ID, Kind: ledger.KindReply, Status: ledger.DeliverySent, Route: route, Lane: lane, Text: reply, Label: label,
		Created: at, SentAt: at, Finished: at.Add(time.Second), Expires: at.Add(24 * time.Hour), Decision: &policy.Decision{Action: policy.Allow},
	}
	return ledger.Change{
		Event: &ledger.Event{Key: run.EventKey, Outcome: ledger.OutcomeRun, Session: id, Run: run.ID, Accepted: at}, Deliver: []ledger.Delivery{d},
		Change: sessions.Change{
			Enqueue: []sessions.Run{run}, Messages: []sessions.StoredMessage{{Session: id, Message: asked}, {Session: id, Message: said}},
			Audit: []sessions.AuditEntry{{At: at, Actor: "gateway", Action: "delivery.allow", Object: string(d.ID), Session: id, Label: label}},
		},
	}
}

// prune removes what retention removes with its defaults.
func (y *year) prune(ctx context.Context, db *store.DB) (rows int, slowest time.Duration, err error) {
	before := y.end.AddDate(0, 0, -yearKept)
	for _, kind := range []ledger.PruneKind{ledger.PruneDeliveries, ledger.PruneRuns, ledger.PruneEvents} {
		for p := (ledger.Prune{Kind: kind, Before: before}); ; {
			began := time.Now()
			done, err := db.Prune(ctx, p)
			if err != nil {
				return rows, slowest, fmt.Errorf("prune %s: %w", kind, err)
			}
			slowest = max(slowest, time.Since(began))
			rows += done.Removed
			if p.After = done.Next; !done.More {
				break
			}
		}
	}
	return rows, slowest, nil
}

// state measures the size, a start, lists, and the verification of the audit trail.
func (y *year) state(ctx context.Context, b *bench, name string, s yearStore) error {
	size, err := s.size(ctx)
	if err != nil {
		return fmt.Errorf("measure size: %w", err)
	}
	b.report.add(name+"size", "", megabytes, size)
	began := time.Now()
	db, err := s.open(ctx)
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	b.report.add(name+"open", "", milliseconds, inMilliseconds(time.Since(began)))
	q := ledger.Query{MaxLevel: flow.Restricted, Limit: 50}
	var one sessions.ID
	for _, l := range []struct {
		what string
		read func() error
	}{
		{"list of sessions", func() error {
			found, err := db.ListSessions(ctx, ledger.SessionQuery{MaxLevel: flow.Restricted, Limit: 50})
			if len(found) > 0 {
				one = found[0].ID
			}
			return err
		}},
		{"list of runs", func() error { _, err := db.ListRuns(ctx, q); return err }},
		{"list of deliveries", func() error { _, err := db.ListDeliveries(ctx, q); return err }},
		{"a session's messages, 500", func() error { _, err := db.SessionMessages(ctx, one, "", 500); return err }},
		{"audit verify", func() error { _, err := db.VerifyAudit(ctx, nil); return err }},
	} {
		began := time.Now()
		if err := l.read(); err != nil {
			return errors.Join(fmt.Errorf("read %s: %w", l.what, err), db.Close())
		}
		b.report.add(name+l.what, "", milliseconds, inMilliseconds(time.Since(began)))
	}
	return db.Close()
}
