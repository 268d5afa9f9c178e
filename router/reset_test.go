package router_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/router/inbound"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/sessions"
)

func withReset(p place.ResetPolicy) func(*bundle) {
	return func(b *bundle) { b.settings.Reset.Default = p }
}

// A session's time is over as its policy says, counted from what people last said. The
// world of these tests begins at midnight.
func TestResetPolicies(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		policy place.ResetPolicy
		said   []time.Duration // after each other
		reset  []bool          // by each of them
	}{
		"none":                  {place.ResetPolicy{Mode: place.ResetNone, Idle: time.Minute}, []time.Duration{100 * time.Hour}, []bool{false}},
		"idle, in time":         {place.ResetPolicy{Mode: place.ResetIdle, Idle: time.Hour}, []time.Duration{59 * time.Minute, 59 * time.Minute, time.Hour}, []bool{false, false, true}},
		"idle, begins anew":     {place.ResetPolicy{Mode: place.ResetIdle, Idle: time.Hour}, []time.Duration{time.Hour, 59 * time.Minute}, []bool{true, false}},
		"daily":                 {place.ResetPolicy{Mode: place.ResetDaily, AtHour: 4}, []time.Duration{3 * time.Hour, time.Hour, time.Hour, 23 * time.Hour}, []bool{false, true, false, true}},
		"daily and idle: idle":  {place.ResetPolicy{Mode: place.ResetDaily, AtHour: 4, Idle: time.Hour}, []time.Duration{time.Hour, 30 * time.Minute}, []bool{true, false}},
		"daily and idle: daily": {place.ResetPolicy{Mode: place.ResetDaily, AtHour: 1, Idle: 2 * time.Hour}, []time.Duration{90 * time.Minute, time.Hour}, []bool{true, false}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBundle(t, withReset(tc.policy), func(b *bundle) { b.now = func() time.Time { return time.Now().UTC() } })
				last := b.hear(in("ann", "0", "hi")).Session
				for i, wait := range tc.said {
					b.await(1)
					synctest.Wait()
					time.Sleep(wait)
					got := b.hear(in("ann", fmt.Sprint(i+1), "hi")).Session
					require.Equal(t, tc.reset[i], got != last, "message %d", i)
					last = got
				}
				b.await(1)
			})
		})
	}
}

// Nothing but what people say counts: no step, no note, no command, no edit resets a session or keeps it.
func TestOnlyPeopleResetAndKeepASession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, withReset(place.ResetPolicy{Mode: place.ResetIdle, Idle: time.Hour}))
		first := b.hear(in("ann", "1", "hi"))
		b.await(1)
		synctest.Wait()
		time.Sleep(2 * time.Hour)
		for i, kind := range []sessions.RunKind{sessions.KindNote, sessions.KindNote} {
			require.NoError(t, b.store.CommitSession(t.Context(), sessions.Change{Enqueue: []sessions.Run{{
				ID: sessions.NewRunID(), Session: first.Session, Partition: sessions.SessionLane(first.Session).Partition(partitions), Kind: kind,
				Status: sessions.RunQueued, Label: flow.Bottom(), Accepted: time.Now(), EventKey: fmt.Sprint("note/", i), Input: sessions.Input{Text: "by the way"},
			}}}))
			for p := range partitions {
				b.Owner().Rescan(p)
			}
			synctest.Wait()
		}
		require.Equal(t, first.Session, b.hear(in("ann", "2", "/status")).Session)
		edit := in("ann", "1", "hi there")
		edit.Event, edit.Edited = "chat-ann/1/edit", true
		require.Equal(t, first.Session, b.hear(edit).Session)
		b.await(2)
		synctest.Wait()
		time.Sleep(59 * time.Minute) // the edit was said by a person
		require.Equal(t, first.Session, b.hear(in("ann", "3", "hi")).Session)
		b.await(1)
		synctest.Wait()
		time.Sleep(time.Hour)
		require.NotEqual(t, first.Session, b.hear(in("ann", "4", "hi")).Session)
	})
}

// A message that comes while the session works belongs to it, however late it is.
func TestBusySessionIsNotReset(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, withReset(place.ResetPolicy{Mode: place.ResetIdle, Idle: time.Second}))
		release := b.busy()
		first := b.hear(in("ann", "1", "hi"))
		synctest.Wait()
		time.Sleep(30 * time.Second)
		require.Equal(t, first.Session, b.hear(in("ann", "2", "well?")).Session)
		release()
		b.await(2)
	})
}

// Messages that come together at a session's end begin one new session, not several.
func TestResetHappensOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, withReset(place.ResetPolicy{Mode: place.ResetIdle, Idle: time.Hour}))
		b.hear(in("ann", "0", "hi"))
		b.await(1)
		synctest.Wait()
		time.Sleep(time.Hour)
		const n = 8
		got := make(chan sessions.ID, n)
		for i := range n {
			go func() {
				admitted, err := b.Intake.Admit(t.Context(), inbound.Admission{Inbound: in("ann", fmt.Sprint(i+1), "hi")})
				if err == nil {
					got <- admitted.Session
				} else {
					got <- sessions.ID(err.Error())
				}
			}()
		}
		first := <-got
		for range n - 1 {
			require.Equal(t, first, <-got)
		}
		b.await(n)
	})
}

// What follows /new is the first message of the new session.
func TestNewWithText(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"/new", "/reset", "/NEW"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBundle(t)
				first := b.hear(in("ann", "1", "hi"))
				b.await(1)
				synctest.Wait()
				fresh := b.hear(in("ann", "2", name+" tell me\na story"))
				b.await(1)
				require.Equal(t, ledger.OutcomeRun, fresh.Outcome)
				require.NotEqual(t, first.Session, fresh.Session)
				require.Equal(t, []string{"echo: hi", "echo: tell me\na story"}, b.chat.texts("ann"))
				require.Equal(t, []string{"user: tell me\na story", "assistant: echo: tell me\na story"}, b.thread(fresh.Session))
				require.True(t, b.hear(in("ann", "2", name+" tell me\na story")).Repeat, "it resets once")
			})
		})
	}
}
