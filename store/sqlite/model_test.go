package sqlite_test

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store"
	"sluice/store/sqlite"
	"sluice/store/sqlite/sqlitetest"
)

// model is what the store should hold, as simple as can be.
type model struct {
	records    map[sessions.ID]sessions.Record
	runs       []sessions.Run // in order of Seq
	deliveries []ledger.Delivery
	events     map[string]bool
	epochs     map[int]int64
}

func (m *model) clone() model {
	c := model{
		records: map[sessions.ID]sessions.Record{}, events: map[string]bool{}, epochs: m.epochs,
		runs: slices.Clone(m.runs), deliveries: slices.Clone(m.deliveries),
	}
	for id, r := range m.records {
		c.records[id] = r
	}
	for key := range m.events {
		c.events[key] = true
	}
	return c
}

// apply gives the error that the change must have, if any, and else changes the model.
func (m *model) apply(c ledger.Change) error {
	next := m.clone()
	for _, step := range []func(ledger.Change) error{
		next.event, next.sessions, next.enqueue, next.moveRuns, next.abort, next.deliver, next.moveDeliveries,
	} {
		err := step(c)
		if errors.Is(err, sessions.ErrConflict) && m.fenced(c) {
			return sessions.ErrFenced
		}
		if err != nil {
			return err
		}
	}
	*m = next
	return nil
}

func (m *model) fenced(c ledger.Change) bool { return m.runsFenced(c) || m.deliveriesFenced(c) }

func (m *model) runsFenced(c ledger.Change) bool {
	return slices.ContainsFunc(c.Runs, func(move sessions.RunMove) bool {
		return move.Run.Epoch > 0 && m.epochs[move.Run.Partition] != move.Run.Epoch
	})
}

func (m *model) deliveriesFenced(c ledger.Change) bool {
	return slices.ContainsFunc(c.Deliveries, func(move ledger.DeliveryMove) bool {
		return move.Delivery.Epoch > 0 && m.epochs[move.Delivery.Partition] != move.Delivery.Epoch
	})
}

func (m *model) event(c ledger.Change) error {
	if c.Event == nil {
		return nil
	}
	if m.events[c.Event.Key] {
		return sessions.ErrDuplicate
	}
	m.events[c.Event.Key] = true
	return nil
}

func (m *model) sessions(c ledger.Change) error {
	for _, e := range c.End {
		r, ok := m.records[e.ID]
		if !ok || !r.Ended.IsZero() {
			return sessions.ErrNotFound
		}
		r.Ended = e.At
		m.records[e.ID] = r
	}
	for _, r := range c.Create {
		for id, other := range m.records {
			if id == r.ID || other.Key == r.Key && other.Ended.IsZero() {
				return sessions.ErrConflict
			}
		}
		m.records[r.ID] = r
	}
	for _, r := range c.Save {
		stored, ok := m.records[r.ID]
		if !ok || stored.Revision != r.Revision {
			return sessions.ErrConflict
		}
		stored.Taint = r.Taint
		stored.Revision++
		m.records[r.ID] = stored
	}
	return nil
}

func (m *model) enqueue(c ledger.Change) error {
	for _, r := range c.Enqueue {
		if slices.ContainsFunc(m.runs, func(o sessions.Run) bool { return o.ID == r.ID }) {
			return sessions.ErrDuplicate
		}
		m.runs = append(m.runs, r)
	}
	return nil
}

func (m *model) abort(c ledger.Change) error {
	for _, a := range c.Abort {
		for i, r := range m.runs {
			if r.Session == a.Session && r.Status == sessions.RunQueued {
				m.runs[i].Status, m.runs[i].Finished = sessions.RunAborted, a.At
			}
		}
	}
	return nil
}

func (m *model) moveRuns(c ledger.Change) error {
	for _, move := range c.Runs {
		if m.runsFenced(c) {
			return sessions.ErrFenced
		}
		i := slices.IndexFunc(m.runs, func(o sessions.Run) bool { return o.ID == move.Run.ID })
		if i < 0 || m.runs[i].Status != move.From || move.Run.Epoch > 0 && m.runs[i].Epoch > move.Run.Epoch {
			return sessions.ErrConflict
		}
		m.runs[i].Status, m.runs[i].Epoch = move.Run.Status, move.Run.Epoch
	}
	return nil
}

func (m *model) deliver(c ledger.Change) error {
	for _, d := range c.Deliver {
		if slices.ContainsFunc(m.deliveries, func(o ledger.Delivery) bool {
			return o.ID == d.ID || d.Idempotency != "" && o.Idempotency == d.Idempotency
		}) {
			return sessions.ErrDuplicate
		}
		m.deliveries = append(m.deliveries, d)
	}
	return nil
}

func (m *model) moveDeliveries(c ledger.Change) error {
	for _, move := range c.Deliveries {
		d := move.Delivery
		if m.deliveriesFenced(c) {
			return sessions.ErrFenced
		}
		i := slices.IndexFunc(m.deliveries, func(o ledger.Delivery) bool { return o.ID == d.ID })
		if i < 0 || m.deliveries[i].Status != move.From || d.Epoch > 0 && m.deliveries[i].Epoch > d.Epoch {
			return sessions.ErrConflict
		}
		m.deliveries[i].Status, m.deliveries[i].Epoch, m.deliveries[i].Text = d.Status, d.Epoch, d.Text
	}
	return nil
}

// changes draws small changes over few names, so that they meet.
func changes(t *rapid.T) ledger.Change {
	var c ledger.Change
	id := func(kind string) string { return kind + rapid.SampledFrom([]string{"1", "2", "3"}).Draw(t, kind) }
	drawn := func(what string) bool { return rapid.IntRange(0, 3).Draw(t, what) == 0 }
	epoch := func() int64 { return rapid.Int64Range(0, 3).Draw(t, "epoch") }
	if drawn("event") {
		c.Event = &ledger.Event{Key: id("event")}
	}
	if drawn("end") {
		c.End = []sessions.End{{ID: sessions.ID(id("sess_")), At: time.UnixMicro(1).UTC()}}
	}
	record := sessions.Record{ID: sessions.ID(id("sess_")), Key: sessions.Key(id("key")), Taint: flow.Bottom(), Persistent: true}
	if drawn("create") {
		c.Create = []sessions.Record{record}
	}
	if drawn("save") {
		record.Revision, record.Title = rapid.Int64Range(0, 2).Draw(t, "revision"), flow.NewText(id("title"), flow.Bottom())
		c.Save = []sessions.Record{record}
	}
	if drawn("abort") {
		c.Abort = []sessions.Abort{{Session: record.ID, At: time.UnixMicro(1).UTC()}}
	}
	statuses := rapid.SampledFrom([]sessions.RunStatus{sessions.RunQueued, sessions.RunRunning, sessions.RunDone})
	run := sessions.Run{ID: sessions.RunID(id("run_")), Session: record.ID, Partition: rapid.IntRange(1, 2).Draw(t, "partition"), Label: flow.Top()}
	if drawn("enqueue") {
		run.Status = sessions.RunQueued
		c.Enqueue = []sessions.Run{run}
	}
	if drawn("move") {
		run.ID, run.Status, run.Epoch = sessions.RunID(id("run_")), statuses.Draw(t, "to"), epoch()
		c.Runs = []sessions.RunMove{{From: statuses.Draw(t, "from"), Run: run}}
	}
	return drawDeliveries(t, c, id, drawn, epoch)
}

func drawDeliveries(t *rapid.T, c ledger.Change, id func(string) string, drawn func(string) bool, epoch func() int64) ledger.Change {
	statuses := rapid.SampledFrom([]ledger.DeliveryStatus{ledger.DeliveryQueued, ledger.DeliverySending, ledger.DeliverySent})
	d := ledger.Delivery{ID: ledger.DeliveryID(id("dlv_")), Lane: "c|x", Partition: 1, Label: flow.Top()}
	if drawn("deliver") {
		d.Status = ledger.DeliveryQueued
		d.Idempotency = rapid.SampledFrom([]string{"", "", "once"}).Draw(t, "idempotency")
		c.Deliver = []ledger.Delivery{d}
	}
	if drawn("send") {
		d.ID, d.Status, d.Epoch, d.Text = ledger.DeliveryID(id("dlv_")), statuses.Draw(t, "to"), epoch(), id("text")
		c.Deliveries = []ledger.DeliveryMove{{From: statuses.Draw(t, "from"), Delivery: d}}
	}
	return c
}

// check compares all that the store gives with the model.
func (m *model) check(t *rapid.T, db *store.DB) {
	for id, want := range m.records {
		got, err := db.Session(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, want, got)
		var waiting, stored []sessions.Run
		for _, r := range m.runs {
			if r.Session == id && !r.Status.Terminal() {
				waiting = append(waiting, r)
			}
		}
		stored, err = db.WaitingRuns(t.Context(), id, 100)
		require.NoError(t, err)
		require.Equal(t, summary(waiting), summary(stored))
	}
	open := []ledger.DeliveryID{}
	for _, d := range m.deliveries {
		if d.Status != ledger.DeliverySent {
			open = append(open, d.ID)
		}
		got, err := db.Delivery(t.Context(), d.ID)
		require.NoError(t, err)
		d.Seq = got.Seq
		require.Equal(t, d, got)
	}
	lane, err := db.LaneDeliveries(t.Context(), "c|x", 100)
	require.NoError(t, err)
	stored := []ledger.DeliveryID{}
	for _, d := range lane {
		stored = append(stored, d.ID)
	}
	require.Equal(t, open, stored)
}

func summary(runs []sessions.Run) []string {
	texts := []string{}
	for _, r := range runs {
		texts = append(texts, fmt.Sprint(r.ID, r.Status, r.Partition, r.Epoch))
	}
	return texts
}

func TestModel(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "sluice-model-") //nolint:usetesting // rapid's T has no folder
		require.NoError(t, err)
		defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
		sqlitetest.Prepare(t, dir)
		db, err := sqlite.Open(t.Context(), config(dir))
		require.NoError(t, err)
		defer db.Close() //nolint:errcheck // what was written was looked at
		m := model{records: map[sessions.ID]sessions.Record{}, events: map[string]bool{}, epochs: map[int]int64{}}
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) { m.check(t, db) },
			"take": func(t *rapid.T) {
				partition := rapid.IntRange(1, 2).Draw(t, "partition")
				before, err := db.PartitionEpoch(t.Context(), partition)
				require.NoError(t, err)
				require.Equal(t, m.epochs[partition], before)
				epoch, err := db.TakePartition(t.Context(), partition, "me", before)
				require.NoError(t, err)
				m.epochs[partition]++
				require.Equal(t, m.epochs[partition], epoch)
			},
			"change": func(t *rapid.T) {
				c := changes(t)
				want := m.apply(c)
				got := db.Commit(t.Context(), c)
				require.ErrorIs(t, got, want)
			},
		})
	})
}
