package outbound

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/internal/pause"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/journal"
	"sluice/router/lanes"
	"sluice/router/ledger"
	"sluice/sessions"
)

// platform shows what it is sent.
type platform struct {
	bare
	shown *[]string
}

func (p platform) Send(_ context.Context, out adapters.Outbound) (adapters.Receipt, error) {
	*p.shown = append(*p.shown, out.Text)
	return adapters.Receipt{MessageID: "1"}, nil
}

// beginning is an outbox whose replica owns partition 1, and an answer to the message of a person.
type beginning struct {
	*Outbox
	lanes  *lanes.Lanes
	store  *rows
	gate   policy.Decision
	shown  []string
	answer ledger.Delivery
	batch  []sessions.Run
}

// lane is a store that lists a lane's deliveries.
type lane struct {
	*rows
	waits func() []ledger.Delivery
}

func (l lane) LaneDeliveries(context.Context, sessions.Lane, int) ([]ledger.Delivery, error) {
	return l.waits(), nil
}

// sending is the answer as the commit of its beginning stores it.
func (s *beginning) sending() []ledger.Delivery {
	d := s.answer
	d.Status, d.Epoch = ledger.DeliverySending, 7
	return []ledger.Delivery{d}
}

// begins runs a test in a bubble of its own. The store has the deliveries that waits gives.
func begins(t *testing.T, waits func(s *beginning) []ledger.Delivery, test func(t *testing.T, s *beginning)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := &beginning{gate: policy.Decision{Action: policy.Allow}}
		s.store = &rows{commit: func(ledger.DeliveryMove) error { return nil }, session: func(id sessions.ID) (sessions.Record, error) { return sessions.Record{ID: id}, nil }}
		listed := lane{s.store, func() []ledger.Delivery {
			if waits == nil {
				return nil
			}
			return waits(s)
		}}
		s.lanes = lanes.New(lanes.Config{
			Store: epochs{epoch: 7}, Owned: prometheus.NewGauge(prometheus.GaugeOpts{Name: "owned"}), Released: func(int) {}, Grace: time.Second, Log: slog.New(slog.DiscardHandler),
			Worker: func(l *lanes.Lane) lanes.Turn { return s.Worker(l) },
		})
		c := composer(&fakeStore{})
		c.Gate = fakeGate{level: flow.Internal, decide: func(e policy.Egress) policy.Decision {
			require.True(t, e.Effects)
			require.Equal(t, "run_1", e.ID, "the answer to the run, without a look at the store")
			return s.gate
		}}
		metrics := journal.NewMetrics(prometheus.NewRegistry())
		s.Outbox = &Outbox{
			Store: listed, Composer: c, Held: &HeldDeliveries{Store: noApprovals{}}, Lanes: s.lanes, Now: c.Now, Log: slog.New(slog.DiscardHandler), Metrics: metrics,
			Journal: &journal.Journal{
				Store: listed, Receipts: journal.NewReceipts(), Decided: pause.NewSignal(), Now: c.Now, Log: slog.New(slog.DiscardHandler), Metrics: metrics,
			},
			Adapter: func(channel, _ string) (adapters.Adapter, bool) { return platform{shown: &s.shown}, channel == "test" },
		}
		s.batch = []sessions.Run{{ID: "run_1", Route: sessions.Route{Channel: "test"}}}
		s.answer = ledger.Delivery{
			ID: "dlv_1", Kind: ledger.KindReply, Run: "run_1", Session: "sess_1", Lane: "c|test", Partition: 1, Status: ledger.DeliveryQueued, Text: "yes",
			Route: sessions.Route{Channel: "test"}, Label: flow.Bottom(), Created: noon, Expires: noon.Add(time.Hour),
		}
		require.NoError(t, s.lanes.Acquire(t.Context(), 1, 0))
		test(t, s)
		s.lanes.ReleaseAll(context.Background())
	})
}

// noApprovals is a store without approvals.
type noApprovals struct{ HeldStore }

func (noApprovals) Approval(context.Context, ledger.ApprovalID) (ledger.Approval, error) {
	return ledger.Approval{}, sessions.ErrNotFound
}

// begin begins the answer, which must succeed.
func (s *beginning) begin(t *testing.T) (*Begun, ledger.Change) {
	t.Helper()
	var change ledger.Change
	b := s.Begin(t.Context(), &change, s.answer, s.batch)
	require.NotNil(t, b)
	require.Empty(t, change.Deliver)
	require.Len(t, change.Begin, 1)
	require.Equal(t, ledger.DeliverySending, change.Begin[0].Status)
	require.EqualValues(t, 7, change.Begin[0].Epoch)
	require.True(t, change.Begin[0].Decision.Passes())
	require.Len(t, change.Audit, 1, "the gate's decision")
	synctest.Wait()
	require.Empty(t, s.shown, "the intent is not stored yet")
	return b, change
}

// statuses are those that deliveries were moved to.
func (s *beginning) statuses() (statuses []ledger.DeliveryStatus) {
	synctest.Wait()
	for _, d := range s.store.moved {
		statuses = append(statuses, d.Status)
	}
	return statuses
}

func TestBegunAnswerIsSentOnceStored(t *testing.T) {
	begins(t, nil, func(t *testing.T, s *beginning) {
		b, _ := s.begin(t)
		b.Stored()
		require.Equal(t, []ledger.DeliveryStatus{ledger.DeliverySent}, s.statuses())
		require.Equal(t, []string{"yes"}, s.shown)
	})
}

// The partition goes elsewhere between the commit and the call: the answer is queued for its next owner.
func TestBegunAnswerIsHandedBack(t *testing.T) {
	begins(t, nil, func(t *testing.T, s *beginning) {
		b, _ := s.begin(t)
		go s.lanes.Release(context.Background(), 1)
		synctest.Wait()
		b.Stored()
		require.Equal(t, []ledger.DeliveryStatus{ledger.DeliveryQueued}, s.statuses())
		require.Empty(t, s.shown)
	})
}

// A commit whose outcome is not known may stand: the answer is sent, and not taken for one that may have been sent.
func TestBegunAnswerOfALostCommit(t *testing.T) {
	begins(t, func(s *beginning) []ledger.Delivery {
		if len(s.shown) > 0 {
			return nil
		}
		return s.sending()
	}, func(t *testing.T, s *beginning) {
		s.batch = append(s.batch, s.batch[0])
		s.Composer.Store.(*fakeStore).batch = s.batch
		b, _ := s.begin(t)
		b.NotStored()
		require.Equal(t, []ledger.DeliveryStatus{ledger.DeliverySending, ledger.DeliverySent}, s.statuses())
		require.Equal(t, []string{"yes"}, s.shown)
	})
}

// The same when the partition has gone elsewhere: its next owner finds the answer queued.
func TestBegunAnswerOfALostCommitIsHandedBack(t *testing.T) {
	begins(t, nil, func(t *testing.T, s *beginning) {
		b, _ := s.begin(t)
		go s.lanes.Release(context.Background(), 1)
		time.Sleep(2 * time.Second) // more than the grace
		b.NotStored()
		require.Equal(t, []ledger.DeliveryStatus{ledger.DeliveryQueued}, s.statuses())
		require.Empty(t, s.shown)
	})
}

// The commit that begins an answer also stores what its session has learnt: the gate's rules see the session as it is then.
func TestGateSeesTheSessionOfTheCommit(t *testing.T) {
	begins(t, nil, func(t *testing.T, s *beginning) {
		learnt := flow.NewLabel(flow.Confidential, flow.Untrusted)
		stored := sessions.Record{ID: "sess_1", Key: "k", Agent: "old", Taint: flow.Bottom(), Clearance: flow.Restricted, SendPolicy: sessions.SendAllow}
		s.store.session = func(sessions.ID) (sessions.Record, error) { return stored, nil }
		var seen policy.SessionInput
		s.Composer.Gate = fakeGate{level: flow.Internal, decide: func(e policy.Egress) policy.Decision { seen = e.Session; return s.gate }}
		now := stored
		now.Agent, now.Taint, now.Route = "main", learnt, sessions.Route{Channel: "test", ChatType: sessions.Direct}
		change := ledger.Change{Change: sessions.Change{Save: []sessions.Record{{ID: "sess_2"}, now}}}
		b := s.Begin(t.Context(), &change, s.answer, s.batch)
		require.NotNil(t, b)
		require.Equal(t, learnt.Level().Rank(), seen.Level)
		require.Equal(t, learnt.Trust().String(), seen.Trust)
		require.Equal(t, "main", seen.Agent)
		b.Stored()
	})
}

// The call is made long after the gate was asked and the intent was dated, because the database was away: both are done again.
func TestAnswerOfALateCommitBeginsAgain(t *testing.T) {
	begins(t, func(s *beginning) []ledger.Delivery {
		if len(s.shown) > 0 || len(s.store.moved) > 1 {
			return nil
		}
		return s.sending()
	}, func(t *testing.T, s *beginning) {
		now := time.Now
		s.Now, s.Composer.Now = now, now
		s.answer.Expires = now().Add(time.Hour)
		s.Composer.Store.(*fakeStore).batch = s.batch
		b, _ := s.begin(t)
		time.Sleep(time.Minute)
		called := now()
		b.Stored()
		require.Equal(t, []ledger.DeliveryStatus{ledger.DeliverySending, ledger.DeliverySent}, s.statuses())
		require.Equal(t, called, s.store.moved[0].SentAt, "a lookup waits from the call on")
		require.Equal(t, []string{"yes"}, s.shown)
	})
}

// What the gate allowed before an outage it may hold back after it.
func TestAnswerOfALateCommitIsJudgedAgain(t *testing.T) {
	begins(t, (*beginning).sending, func(t *testing.T, s *beginning) {
		s.Now, s.Composer.Now = time.Now, time.Now
		s.answer.Expires = time.Now().Add(time.Hour)
		s.Composer.Store.(*fakeStore).batch = s.batch
		asked := 0
		s.Composer.Gate = fakeGate{level: flow.Internal, decide: func(policy.Egress) policy.Decision { asked++; return s.gate }}
		b, _ := s.begin(t)
		time.Sleep(time.Minute)
		s.gate.Action = policy.Block
		b.Stored()
		synctest.Wait()
		require.Equal(t, 2, asked)
		require.Empty(t, s.shown)
	})
}

// The intent of a later part, too, has the time of the part's call, however long the store took for the receipt before it.
func TestIntentOfALatePartIsDatedAgain(t *testing.T) {
	begins(t, nil, func(t *testing.T, s *beginning) {
		s.Now, s.Composer.Now = time.Now, time.Now
		s.answer.Expires, s.answer.Parts = time.Now().Add(time.Hour), []string{"a", "b"}
		slow := true
		s.store.commit = func(m ledger.DeliveryMove) error {
			if slow {
				time.Sleep(2500 * time.Millisecond)
			}
			slow = false
			return nil
		}
		b, _ := s.begin(t)
		b.Stored()
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"a", "b"}, s.shown)
		require.Equal(t, []ledger.DeliveryStatus{ledger.DeliverySending, ledger.DeliverySending, ledger.DeliverySent}, s.statuses())
		require.Equal(t, 2500*time.Millisecond, s.store.moved[1].SentAt.Sub(s.store.moved[0].SentAt))
		require.Len(t, s.store.moved[1].Receipts, 1)
	})
}

// While the partition is being released nothing new is sent, but the answer must not look as if it may have been.
func TestBegunAnswerOfALostCommitIsHandedBackWithinTheGrace(t *testing.T) {
	begins(t, (*beginning).sending, func(t *testing.T, s *beginning) {
		b, _ := s.begin(t)
		go s.lanes.Release(context.Background(), 1)
		synctest.Wait()
		b.NotStored()
		require.Equal(t, []ledger.DeliveryStatus{ledger.DeliveryQueued}, s.statuses())
		require.Empty(t, s.shown)
	})
}

// What could not be stored as begun is stored as queued, without what begins it.
func TestUndoneAnswerIsQueued(t *testing.T) {
	begins(t, nil, func(t *testing.T, s *beginning) {
		var change ledger.Change
		change.Audit = []sessions.AuditEntry{{Action: "run.done"}}
		b := s.Begin(t.Context(), &change, s.answer, s.batch)
		b.Undo(&change)
		require.Equal(t, ledger.Change{Deliver: []ledger.Delivery{s.answer}, Change: sessions.Change{Audit: []sessions.AuditEntry{{Action: "run.done"}}}}, change)
		b.NotStored()
		require.Empty(t, s.statuses())
	})
}

// What can't be sent at once is queued as it is, and its lane is free.
func TestAnswersThatDoNotBegin(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(s *beginning, change *ledger.Change) *beginning{
		"a rule holds it":       func(s *beginning, _ *ledger.Change) *beginning { s.gate.Action = policy.Hold; return s },
		"the gate blocks it":    func(s *beginning, _ *ledger.Change) *beginning { s.gate.Action = policy.Block; return s },
		"no such account":       func(s *beginning, _ *ledger.Change) *beginning { s.answer.Route.Channel = "gone"; return s },
		"another's partition":   func(s *beginning, _ *ledger.Change) *beginning { s.answer.Partition = 2; return s },
		"the database is away":  func(s *beginning, _ *ledger.Change) *beginning { s.store.session = away; return s },
		"something goes before": func(s *beginning, c *ledger.Change) *beginning { c.Deliver = make([]ledger.Delivery, 1); return s },
		"a file can't be read": func(s *beginning, _ *ledger.Change) *beginning {
			s.answer.Files = []sessions.MediaID{"m"}
			s.Composer.Store.(*fakeStore).broken = "MediaInfo"
			return s
		},
	} {
		t.Run(name, func(t *testing.T) {
			begins(t, nil, func(t *testing.T, s *beginning) {
				var change ledger.Change
				prepare(s, &change)
				before := len(change.Deliver)
				require.Nil(t, s.Begin(t.Context(), &change, s.answer, s.batch))
				require.Empty(t, change.Begin)
				require.Empty(t, change.Audit)
				require.Equal(t, s.answer, change.Deliver[before])
				synctest.Wait()
				lane, free := s.lanes.Reserve(1, "c|test")
				require.True(t, free)
				require.Nil(t, s.Begin(t.Context(), &change, s.answer, s.batch), "its lane is at work")
				idle := func() (lanes.Rest, error) { return lanes.Rest{}, nil }
				lane.Start(idle, idle)
			})
		})
	}
}

func away(sessions.ID) (sessions.Record, error) { return sessions.Record{}, errDisk }
