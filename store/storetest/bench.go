package storetest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store"
)

// BenchmarkMessage measures a message's five commits and the reads between them, with 200 conversations at once. It
// reports this process's processor time per message, without PostgreSQL's own.
func BenchmarkMessage(b *testing.B, db *store.DB) { benchmark(b, nil, db) }

// BenchmarkAudited is BenchmarkMessage with one audit entry per commit, from gateways that share a database.
func BenchmarkAudited(b *testing.B, gateways ...*store.DB) {
	benchmark(b, []sessions.AuditEntry{{
		At: start, Actor: "agent:main", Action: "tool.allow", Object: "call_1", Session: "sess_1", Label: secret, Detail: map[string]string{"rule": "flow", "tool": "exec"},
	}}, gateways...)
}

func benchmark(b *testing.B, audit []sessions.AuditEntry, gateways ...*store.DB) {
	b.Helper()
	const lanes = 200
	db := gateways[0]
	epoch := Take(b, db, 3, "bench")
	records := make([]sessions.Record, lanes)
	for i := range records {
		records[i] = newSession(fmt.Sprintf("agent:main:%d", i))
		require.NoError(b, db.CommitSession(b.Context(), sessions.Change{Create: records[i : i+1]}))
	}
	var left atomic.Int64
	left.Store(int64(b.N))
	var failed atomic.Pointer[error]
	var lane sync.WaitGroup
	b.ResetTimer()
	began, used := time.Now(), processor()
	for i := range records {
		lane.Go(func() {
			for left.Add(-1) >= 0 {
				if err := message(b.Context(), auditedStore{gateways[i%len(gateways)], audit}, &records[i], epoch); err != nil {
					failed.Store(&err)
					return
				}
			}
		})
	}
	lane.Wait()
	b.StopTimer()
	if err := failed.Load(); err != nil {
		b.Fatal(*err)
	}
	b.ReportMetric(float64((processor()-used).Microseconds())/float64(b.N), "cpu-µs/msg")
	b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "msg/s")
}

// auditedStore is a store that adds an audit entry to each commit.
type auditedStore struct {
	*store.DB
	audit []sessions.AuditEntry
}

// Commit adds the audit entry and commits.
func (t auditedStore) Commit(ctx context.Context, change ledger.Change) error {
	change.Audit = t.audit
	return t.DB.Commit(ctx, change)
}

// message does what the router does for one message, from its arrival to the receipt of its answer.
func message(ctx context.Context, db auditedStore, record *sessions.Record, epoch int64) error {
	run := newRun(record.ID)
	event := ledger.Event{Key: run.EventKey, Outcome: ledger.OutcomeRun, Session: record.ID, Run: run.ID, Accepted: start}
	if err := db.Commit(ctx, ledger.Change{Event: &event, Change: sessions.Change{Enqueue: []sessions.Run{run}}}); err != nil {
		return err
	}
	waiting, err := db.WaitingRuns(ctx, record.ID, 20)
	if err != nil {
		return err
	}
	run = waiting[0]
	if err := work(ctx, db, record, run, epoch); err != nil {
		return err
	}
	queued, err := db.LaneDeliveries(ctx, sessions.Lane(record.ID), 10)
	if err != nil {
		return err
	}
	d := queued[0]
	for _, status := range []ledger.DeliveryStatus{ledger.DeliverySending, ledger.DeliverySent} {
		from := d.Status
		d.Status, d.Epoch = status, epoch
		if err := db.Commit(ctx, moveDelivery(from, d)); err != nil {
			return err
		}
	}
	return nil
}

// work commits a run: first the question with the start, then the answer with the end and the delivery.
func work(ctx context.Context, db auditedStore, record *sessions.Record, run sessions.Run, epoch int64) error {
	say := func(text string, change ledger.Change) error {
		m := newMessage(record.Head, text)
		record.Head = m.ID
		change.Save = []sessions.Record{*record}
		change.Messages = []sessions.StoredMessage{{Session: record.ID, Message: m}}
		err := db.Commit(ctx, change)
		record.Revision++
		return err
	}
	run.Status, run.Epoch, run.Started = sessions.RunRunning, epoch, start
	if err := say("hello", moveRun(sessions.RunQueued, run)); err != nil {
		return err
	}
	run.Status, run.Reply, run.Finished = sessions.RunDone, "answer", start
	change := moveRun(sessions.RunRunning, run)
	change.Deliver = []ledger.Delivery{newDelivery(sessions.Lane(record.ID))}
	return say("answer", change)
}
