package storetest

import (
	"context"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/announce"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store"
	"sluice/store/engine"
)

// recorder is an engine without a database that records its statements.
type recorder struct {
	mu   sync.Mutex
	seen []engine.Statement
}

func (r *recorder) Apply(_ context.Context, writes []engine.Write, trail engine.Trail) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range writes {
		r.seen = append(r.seen, w...)
	}
	if len(trail) > 0 {
		links, _ := trail.Link(engine.Head{})
		r.seen = append(append(r.seen, engine.Statement{SQL: engine.FreeHead}), links...)
	}
	return -1, nil
}

func (r *recorder) Query(_ context.Context, sql string, args []any, _ func(engine.Row) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, engine.Statement{SQL: sql, Args: args})
	return nil
}

func (r *recorder) WordQuery(int, engine.WordField) string { return "" }

func (r *recorder) Workers() int { return 1 }
func (r *recorder) Alone() bool  { return false }
func (r *recorder) Close() error { return nil }

// HotStatements returns the statements whose cost must not grow with the stored data: those of a message, and those
// that run repeatedly.
func HotStatements(t *testing.T) []engine.Statement {
	t.Helper()
	r := &recorder{}
	db := store.New(r, nil)
	for _, change := range hotChanges() {
		require.NoError(t, db.Commit(t.Context(), change))
	}
	for _, read := range append(hotReads(t.Context(), db), memoryReads(t.Context(), db)...) {
		if err := read(); err != nil {
			require.ErrorIs(t, err, sessions.ErrNotFound)
		}
	}
	require.NoError(t, db.Close())
	return append(r.seen, pruneStatements(t)...)
}

func hotChanges() []ledger.Change {
	s := newSession("agent:main:main")
	m := newMessage("", "x")
	edited := m
	edited.Revision = 1
	run, d := newRun(s.ID), newDelivery("c|x")
	title := flow.NewText("title", secret)
	return []ledger.Change{
		{
			Event: &ledger.Event{Key: "k"},
			Change: sessions.Change{
				Idle: []sessions.ID{s.ID}, Create: []sessions.Record{s}, Save: []sessions.Record{s}, Patch: []sessions.Patch{{ID: s.ID, Title: &title}},
				Messages: []sessions.StoredMessage{{Session: s.ID, Message: m}, {Session: s.ID, Message: edited}},
				Enqueue:  []sessions.Run{run}, Runs: []sessions.RunMove{{From: sessions.RunQueued, Run: run}},
				Abort: []sessions.Abort{{Session: s.ID}}, End: []sessions.End{{ID: s.ID, At: start}},
				Audit: []sessions.AuditEntry{{Action: "a", Label: secret}},
			},
			Deliver:       []ledger.Delivery{d},
			Begin:         []ledger.Delivery{d},
			Deliveries:    []ledger.DeliveryMove{{From: ledger.DeliveryQueued, Delivery: d}},
			AppendHistory: []ledger.HistoryAppend{{Lane: "c|x", Keep: 3}},
			TrimHistory:   []ledger.HistoryTrim{{Lane: "c|x", Through: start}},
			Pairings:      []ledger.Pairing{{Channel: "c"}},
			Aliases:       []ledger.Alias{{Channel: "c"}},
			Peers:         []ledger.DirectPeer{{Channel: "c"}},
			EditHistory:   []ledger.HistoryEdit{{Text: "x"}},
			DeleteHistory: []ledger.HistoryMessage{{Lane: "c|x", Message: "1"}},
			Revised:       &ledger.Revision{Lane: "c|x", Message: "1"},
			Bots:          &ledger.BotTurns{Place: "c|x"},
			Requests:      []ledger.Pairing{{Channel: "c"}},
			Exchanges:     []ledger.Exchange{{Revision: 1}, {Revision: 2}},
			Chains:        []ledger.ChainUse{{ID: "chn_1"}},
		},
	}
}

func hotReads(ctx context.Context, db *store.DB) []func() error {
	return slices.Concat(hotRows(ctx, db), hotLists(ctx, db), hotCauses(ctx, db))
}

// hotRows runs the reads of a message.
func hotRows(ctx context.Context, db *store.DB) []func() error {
	return []func() error{
		func() error { _, err := db.Event(ctx, "k"); return err },
		func() error { _, err := db.Session(ctx, "sess_1"); return err },
		func() error { _, err := db.SessionByKey(ctx, "agent:main:main"); return err },
		func() error { _, err := db.Thread(ctx, sessions.Record{ID: "sess_1", Head: "msg_1"}); return err },
		func() error {
			_, err := db.Thread(ctx, sessions.Record{ID: "sess_1", Head: "msg_1", Compacted: "msg_2"})
			return err
		},
		func() error { _, err := db.Message(ctx, "sess_1", "msg_1"); return err },
		func() error { _, err := db.Children(ctx, "sess_1", "msg_1"); return err },
		func() error { _, err := db.NewestLeaf(ctx, "sess_1", "msg_1"); return err },
		func() error { _, err := db.Summary(ctx, "sess_1", "msg_1"); return err },
		func() error { _, err := db.Run(ctx, "run_1"); return err },
		func() error { _, err := db.Batch(ctx, "run_1"); return err },
		func() error { _, err := db.WaitingRuns(ctx, "sess_1", 20); return err },
		func() error { _, err := db.AbortRequested(ctx, "run_1"); return err },
		func() error { _, err := db.LastHeard(ctx, "sess_1"); return err },
		func() error { _, err := db.AbortsRequested(ctx, 3); return err },
		func() error { _, err := db.LaneDeliveries(ctx, "c|x", 20); return err },
		func() error { _, err := db.RunDelivery(ctx, "run_1"); return err },
		func() error { _, err := db.WithheldAnswer(ctx, "sess_1", "run_1"); return err },
		func() error { _, err := db.Delivery(ctx, "dlv_1"); return err },
		func() error { _, err := db.DeliveryByIdempotency(ctx, "once"); return err },
		func() error { _, err := db.History(ctx, "c|x"); return err },
		func() error { _, err := db.PeerOf(ctx, "c", "a", "x"); return err },
		func() error { _, err := db.Revision(ctx, "c|x", "1"); return err },
		func() error { _, err := db.BotTurns(ctx, "c|x"); return err },
		func() error { _, err := db.CountAudit(ctx, "a", start, 10); return err },
		func() error { _, err := db.Posted(ctx, "c|x", "1"); return err },
		func() error { _, err := db.PairingOf(ctx, "c", "a", "u"); return err },
		func() error { _, err := db.ListPairings(ctx, "c", "a", ledger.PairingPending); return err },
		func() error { _, err := db.CanonicalConversation(ctx, "c", "a", "x"); return err },
	}
}

// hotLists runs the reads of sweeps and of lists for people.
func hotLists(ctx context.Context, db *store.DB) []func() error {
	return []func() error{
		func() error { _, err := db.HeldDeliveries(ctx, start, 10); return err },
		func() error { _, err := db.DecidedQuestions(ctx, start, 10); return err },
		func() error {
			_, err := db.ExpiredSessions(ctx, ledger.Expiry{Now: start, IdleSince: start, KeptSince: start}, 10)
			return err
		},
		func() error {
			_, err := db.ExpiredSessions(ctx, ledger.Expiry{Now: start, IdleSince: start}, 10)
			return err
		},
		func() error { _, err := db.WaitingLanes(ctx, 3); return err },
		func() error { _, err := db.Check(ctx, "a"); return err },
		func() error { _, err := db.CountDeliveries(ctx, flow.Restricted); return err },
		func() error { _, err := db.Busy(ctx, []sessions.ID{"sess_1"}); return err },
		func() error { _, err := db.ListSessions(ctx, ledger.SessionQuery{MaxLevel: flow.Internal}); return err },
		func() error { _, err := db.ListRuns(ctx, ledger.Query{MaxLevel: flow.Restricted}); return err },
		func() error {
			_, err := db.ListRuns(ctx, ledger.Query{MaxLevel: flow.Restricted, Status: "failed"})
			return err
		},
		func() error {
			_, err := db.ListRuns(ctx, ledger.Query{MaxLevel: flow.Restricted, Session: "sess_1"})
			return err
		},
		func() error {
			_, err := db.ListRuns(ctx, ledger.Query{MaxLevel: flow.Restricted, Exchange: "xch_1"})
			return err
		},
		func() error { _, err := db.ListDeliveries(ctx, ledger.Query{MaxLevel: flow.Restricted}); return err },
		func() error {
			_, err := db.ListDeliveries(ctx, ledger.Query{MaxLevel: flow.Restricted, Status: "unknown"})
			return err
		},
		func() error {
			_, err := db.ListApprovals(ctx, ledger.Query{MaxLevel: flow.Restricted, Status: string(ledger.ApprovalPending), Unexpired: start})
			return err
		},
		func() error {
			_, err := db.ListApprovals(ctx, ledger.Query{MaxLevel: flow.Internal, Status: string(ledger.ApprovalPending), Channel: "telegram", After: "apr_1"})
			return err
		},
		func() error { _, err := db.ListApprovals(ctx, ledger.Query{MaxLevel: flow.Restricted}); return err },
		func() error {
			_, err := db.ListApprovals(ctx, ledger.Query{MaxLevel: flow.Restricted, Channel: "telegram"})
			return err
		},
		func() error { _, err := db.Media(ctx, "med_1"); return err },
		func() error { _, err := db.MediaInfo(ctx, "med_1"); return err },
		func() error { _, err := db.Exchange(ctx, "xch_1"); return err },
		func() error { _, err := db.ExchangeByKey(ctx, "task/api/1"); return err },
		func() error { _, err := db.Chain(ctx, "chn_1"); return err },
		func() error {
			_, err := db.ListExchanges(ctx, ledger.ExchangeQuery{MaxLevel: flow.Restricted, Requester: "sess_1", Kind: announce.Spawn, Open: true})
			return err
		},
		func() error {
			_, err := db.ListExchanges(ctx, ledger.ExchangeQuery{MaxLevel: flow.Restricted, Target: "sess_1", Open: true})
			return err
		},
		func() error {
			_, err := db.ListExchanges(ctx, ledger.ExchangeQuery{MaxLevel: flow.Restricted, Requester: "sess_1"})
			return err
		},
		func() error {
			_, err := db.ListExchanges(ctx, ledger.ExchangeQuery{MaxLevel: flow.Restricted, Open: true})
			return err
		},
		func() error {
			_, err := db.ListExchanges(ctx, ledger.ExchangeQuery{MaxLevel: flow.Restricted})
			return err
		},
		func() error { _, err := db.Todos(ctx, "sess_1"); return err },
		func() error {
			return db.ChangeTodos(ctx, sessions.TodoChange{Session: "sess_1", Add: []sessions.Todo{{}}, Update: []sessions.Todo{{}}, Remove: []sessions.TodoID{"todo_1"}})
		},
		func() error { _, err := db.ListAudit(ctx, ledger.AuditQuery{MaxLevel: flow.Internal}); return err },
		func() error {
			_, err := db.ListAudit(ctx, ledger.AuditQuery{Session: "sess_1", MaxLevel: flow.Internal, After: "1-abc"})
			return err
		},
		func() error {
			_, err := db.ListAudit(ctx, ledger.AuditQuery{Action: "delivery.block", Since: start, MaxLevel: flow.Internal})
			return err
		},
	}
}

// hotCauses runs the reads of what wakes agents without a message: triggers, jobs, nodes and requests to hooks.
func hotCauses(ctx context.Context, db *store.DB) []func() error {
	return []func() error{
		func() error { _, err := db.OpenTriggers(ctx, 3, 10); return err },
		func() error {
			_, err := db.EndedTriggers(ctx, ledger.EndedTriggers{Source: ledger.TriggerCron, Subject: "a", Limit: 10})
			return err
		},
		func() error { _, err := db.TriggersOf(ctx, []string{"a"}); return err },
		func() error {
			_, err := db.ListTriggers(ctx, ledger.TriggerQuery{Source: ledger.TriggerCron, Subject: "a", MaxLevel: flow.Restricted})
			return err
		},
		func() error {
			_, err := db.OpenTriggersOf(ctx, ledger.TriggerCron, []string{"a"})
			return err
		},
		func() error { _, err := db.Job(ctx, ledger.JobMade, "a"); return err },
		func() error { _, err := db.JobsIn(ctx, 1); return err },
		func() error { _, err := db.ListJobs(ctx, ledger.JobQuery{MaxLevel: flow.Restricted}); return err },
		func() error { _, err := db.Node(ctx, "a"); return err },
		func() error { _, err := db.NodeByToken(ctx, "a"); return err },
		func() error { _, err := db.HookRequest(ctx, "a"); return err },
		func() error { _, err := db.HookRequestOnce(ctx, "a", "b"); return err },
		func() error {
			_, err := db.ListHookRequests(ctx, ledger.HookQuery{Hook: "a", MaxLevel: flow.Restricted})
			return err
		},
	}
}

func memoryReads(ctx context.Context, db *store.DB) []func() error {
	return []func() error{
		func() error { return db.SaveMemory(ctx, saveOf(newMemory("k", "tea", flow.Internal, "food"))) },
		func() error { return db.DeleteMemory(ctx, tombstone("k", flow.Internal, start)) },
		func() error { _, err := db.Memory(ctx, "mem_1", flow.Internal); return err },
		func() error {
			_, err := db.MemoryVersions(ctx, newMemory("k", "tea", flow.Internal), 10)
			return err
		},
		func() error {
			_, err := db.MemoriesByKey(ctx, sessions.MemoryKeyed{MemoryScope: scope(flow.Internal, start), Key: "k", Limit: 10})
			return err
		},
		func() error {
			_, err := db.Memories(ctx, sessions.MemoryQuery{MemoryScope: scope(flow.Internal, start), Limit: 10})
			return err
		},
		func() error {
			_, err := db.Memories(ctx, sessions.MemoryQuery{MemoryScope: scope(flow.Internal, start), Limit: 10, Tag: "food"})
			return err
		},
		func() error {
			q := sessions.MemoryQuery{MemoryScope: scope(flow.Internal, start), Limit: 10, Tags: []string{"rule", "food"}}
			_, err := db.Memories(ctx, q)
			return err
		},
		func() error { _, err := db.Remembers(ctx, "main"); return err },
		func() error { _, err := db.SweepMemories(ctx, start, start, 10); return err },
	}
}
