package lanes

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/router/ledger"
	"sluice/sessions"
)

// session is one of the tests; home is its partition.
const session sessions.ID = "sess_1"

var home = sessions.SessionLane(session).Partition(testPartitions)

// A wake goes to the lane where it is owned: here without the bus, else by the bus alone.
func TestWakeGoesToTheOwner(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		lane := sessions.SessionLane(session)
		s.Wake(3, "a")
		s.WakeSession(session)
		s.wakeAbort(session)
		require.Equal(t, []wake{{3, "a"}, {home, lane}, {home, abortPrefix + lane}}, s.sent())
		require.Empty(t, s.worked())

		require.NoError(t, s.Acquire(t.Context(), home, 0))
		s.WakeSession(session)
		require.Equal(t, []sessions.Lane{lane}, s.worked())
		s.Woken(home, "b")
		require.Equal(t, []sessions.Lane{"b"}, s.worked())
		s.wakeAbort(session)
		s.Woken(home, abortPrefix+lane)
		require.Empty(t, s.worked(), "nothing works that could end")
		require.Empty(t, s.sent())
	})
}

// A change wakes those whom it concerns, once it is stored.
func TestCommitWakes(t *testing.T) {
	lane := sessions.SessionLane(session)
	approval := func(delivery ledger.DeliveryID) ledger.Change {
		return ledger.Change{Approvals: []ledger.ApprovalMove{{Approval: ledger.Approval{Session: session, Delivery: delivery}}}}
	}
	for name, c := range map[string]struct {
		change ledger.Change
		want   []wake
	}{
		"nothing":            {},
		"a run":              {ledger.Change{Change: sessions.Change{Enqueue: []sessions.Run{{Session: session, Partition: 3}}}}, []wake{{3, lane}}},
		"a delivery":         {ledger.Change{Deliver: []ledger.Delivery{{Lane: "c|x", Partition: 2}}}, []wake{{2, "c|x"}}},
		"a moved delivery":   {ledger.Change{Deliveries: []ledger.DeliveryMove{{Delivery: ledger.Delivery{Lane: "c|x", Partition: 1}}}}, []wake{{1, "c|x"}}},
		"an approved tool":   {approval(""), []wake{{home, lane}}},
		"an approved answer": {approval("del_1"), nil},
		"an interrupt":       {ledger.Change{Change: sessions.Change{Interrupt: []sessions.Interrupt{{Session: session}}}}, []wake{{home, abortPrefix + lane}}},
		"an abort":           {ledger.Change{Change: sessions.Change{Abort: []sessions.Abort{{Session: session}}}}, []wake{{home, abortPrefix + lane}}},
	} {
		t.Run(name, func(t *testing.T) {
			inScene(t, func(t *testing.T, s *scene) {
				require.NoError(t, s.Commit(t.Context(), c.change))
				require.Equal(t, []ledger.Change{c.change}, s.store.committed)
				require.Equal(t, c.want, s.sent())
				s.store.storeErr = errBroken
				require.Equal(t, errBroken, s.Commit(t.Context(), c.change))
				require.Empty(t, s.sent(), "nothing was stored")
			})
		})
	}
}

// A request to stop ends the current run if the store confirms it. A run that is about to begin looks itself.
func TestAbortWakes(t *testing.T) {
	ways := map[string]func(*scene){
		"from here":          func(s *scene) { s.wakeAbort(session) },
		"from another":       func(s *scene) { s.Woken(home, abortPrefix+sessions.SessionLane(session)) },
		"found by the sweep": func(s *scene) { s.store.aborts[home] = []sessions.ID{session}; s.Rescan(home) },
	}
	for way, ask := range ways {
		for name, c := range map[string]struct {
			cause sessions.AbortCause
			err   error
			want  error
			log   string
		}{
			"stopped":         {cause: sessions.AbortNone + 1, want: ErrStopped},
			"replaced":        {cause: sessions.AbortReplaced, want: ErrReplaced},
			"nobody asked":    {cause: sessions.AbortNone},
			"can't be looked": {err: errBroken, log: "abort not read"},
		} {
			t.Run(name+" "+way, func(t *testing.T) {
				inScene(t, func(t *testing.T, s *scene) {
					run, cancel := context.WithCancelCause(context.Background())
					s.store.cause["run_1"], s.store.causeErr = c.cause, c.err
					s.turn = func(l *Lane) (Rest, error) {
						l.BeginRun("run_1", cancel)
						<-l.Context().Done()
						return Rest{}, nil
					}
					require.NoError(t, s.Acquire(t.Context(), home, 0))
					s.WakeSession(session)
					synctest.Wait()
					ask(s)
					synctest.Wait()
					require.Equal(t, c.want, context.Cause(run))
					if log := s.logged(); c.log == "" {
						require.Empty(t, log)
					} else {
						require.Contains(t, log, c.log)
					}
					require.False(t, s.owner(home).lanes[sessions.SessionLane(session)].AbortAsked())
				})
			})
		}
	}
}

// A read that fails because the lease is lost is not logged as an error.
func TestAbortAfterTheLease(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		lease, lost := context.WithCancel(t.Context())
		s.store.causeErr = errBroken
		end := make(chan struct{})
		s.turn = func(l *Lane) (Rest, error) {
			l.BeginRun("run_1", func(error) {})
			<-end
			return Rest{}, nil
		}
		require.NoError(t, s.Acquire(lease, home, 0))
		s.WakeSession(session)
		synctest.Wait()
		lost()
		s.wakeAbort(session)
		require.Empty(t, s.logged())
		close(end)
	})
}

// An end that is asked for while no run works is told to the worker once, and wakes it.
func TestAbortBeforeTheRun(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		var asked []bool
		first := make(chan struct{})
		s.turn = func(l *Lane) (Rest, error) {
			if len(asked) == 0 {
				l.BeginRun("run_1", func(error) { panic("it has ended") })
				l.EndRun()
				<-first
			}
			asked = append(asked, l.AbortAsked(), l.AbortAsked())
			return Rest{}, nil
		}
		require.NoError(t, s.Acquire(t.Context(), home, 0))
		s.WakeSession(session)
		synctest.Wait()
		s.wakeAbort(session)
		synctest.Wait()
		close(first)
		synctest.Wait()
		require.Equal(t, []bool{true, false, false, false}, asked, "the lane looks again, as it was woken")
	})
}

// Where the partition is being released nobody is woken.
func TestWakesOfAReleasedPartition(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		require.NoError(t, s.Acquire(t.Context(), home, 0))
		o := s.owner(home)
		s.Release(t.Context(), home)
		s.wakeLane(o, "a")
		s.checkAbort(o, "a")
		require.Empty(t, s.worked())
		require.Empty(t, o.lanes)

		busy := &Lane{owner: o, woken: make(chan struct{}, 1)}
		o.lanes["a"] = busy
		s.checkAbort(o, "a")
		require.False(t, busy.AbortAsked())
	})
}

// A lane whose run is laid aside looks at once when somebody asks for its end.
func TestAbortOfARunLaidAside(t *testing.T) {
	inScene(t, func(t *testing.T, s *scene) {
		var asked []bool
		s.turn = func(l *Lane) (Rest, error) {
			asked = append(asked, l.AbortAsked())
			return Rest{Wait: time.Hour}, nil
		}
		require.NoError(t, s.Acquire(t.Context(), home, 0))
		s.WakeSession(session)
		require.Len(t, s.worked(), 1)
		began := time.Now()
		s.wakeAbort(session)
		require.NotEmpty(t, s.worked())
		require.Zero(t, time.Since(began))
		require.Equal(t, []bool{false, true}, asked[:2])
	})
}
