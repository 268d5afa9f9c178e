package manage

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/announce"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/sessions"
)

var (
	errDisk = errors.New("disk I/O error")
	noon    = time.Date(2027, time.January, 15, 12, 0, 0, 0, time.UTC)
)

// Each setting of a conversation outlives its unused session.
func TestConversationsWithSettingsOfTheirOwn(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]sessions.Record{
		"send policy": {SendPolicy: sessions.SendDeny}, "activation": {Activation: sessions.ActivationAlways}, "queue mode": {QueueMode: sessions.QueueSteer},
		"thinking": {ThinkingLevel: sessions.ThinkingOff}, "verbose": {VerboseLevel: sessions.VerboseOn}, "label": {Label: flow.NewText("x", flow.Bottom())},
		"temperature": {Temperature: "0"}, "maximum tokens": {MaxTokens: 1},
	} {
		r.Key = "agent:main:group:g"
		require.True(t, adjusted(r), name)
		r.Key = "agent:main:http:x"
		require.False(t, adjusted(r), name)
	}
	require.False(t, adjusted(sessions.Record{Key: "agent:main:group:g"}))
}

func TestSessionsThatHaveExpired(t *testing.T) {
	t.Parallel()
	month := place.Retention{Sessions: 30 * 24 * time.Hour}
	ago := func(d time.Duration) time.Time { return noon.Add(-d) }
	for name, c := range map[string]struct {
		keep   place.Retention
		record sessions.Record
		why    string
	}{
		"in use":                          {month, sessions.Record{Persistent: true, LastActivity: noon}, ""},
		"its time is over":                {month, sessions.Record{Persistent: true, TTL: time.Hour, Created: ago(time.Hour), LastActivity: noon}, "its ttl was over"},
		"it never ran":                    {month, sessions.Record{TTL: time.Hour, Created: ago(time.Hour - 1), LastActivity: ago(time.Hour - 1)}, ""},
		"it ran, and is idle":             {month, sessions.Record{TTL: time.Hour, Created: ago(time.Hour - 1), LastActivity: ago(time.Hour - 1), Head: "msg_1"}, "it had expired"},
		"its time is not quite over":      {month, sessions.Record{Persistent: true, TTL: time.Hour, Created: ago(time.Hour - 1), LastActivity: noon}, ""},
		"not persistent, idle":            {month, sessions.Record{LastActivity: ago(5*time.Minute + 1)}, "it had expired"},
		"not persistent, used just now":   {month, sessions.Record{LastActivity: ago(5 * time.Minute)}, ""},
		"persistent, inactive":            {month, sessions.Record{Persistent: true, LastActivity: ago(30*24*time.Hour + 1)}, "it was inactive for longer than retention.sessions"},
		"persistent, to the day":          {month, sessions.Record{Persistent: true, LastActivity: ago(30 * 24 * time.Hour)}, ""},
		"persistent, and all is kept":     {place.Retention{}, sessions.Record{Persistent: true, LastActivity: ago(9999 * time.Hour)}, ""},
		"not persistent, and all is kept": {place.Retention{}, sessions.Record{LastActivity: ago(9999 * time.Hour)}, "it had expired"},
	} {
		require.Equal(t, c.why, over(expiry(c.keep, noon), c.record), name)
	}
}

func TestSizeOfPaths(t *testing.T) {
	t.Parallel()
	require.Zero(t, pathBytes(sessions.FileAccess{}))
	require.Equal(t, 3+4+6, pathBytes(sessions.FileAccess{Read: []string{"", "a"}, Write: []string{"abc"}}))
}

// talks are the open exchanges of a store.
type talks struct {
	Store
	open   []ledger.Exchange
	broken bool
	run    []sessions.RunStatus // of a run, one each time that it is read; the last one stays
}

func (s *talks) ListExchanges(_ context.Context, q ledger.ExchangeQuery) (found []ledger.Exchange, err error) {
	if s.broken {
		return nil, errDisk
	}
	return slices.DeleteFunc(slices.Clone(s.open), func(x ledger.Exchange) bool {
		return !q.Open || q.Requester != "" && q.Requester != x.Requester.Session || q.Target != "" && q.Target != x.Target.Session
	}), nil
}

// WaitingRuns gives a run of a trigger that waits, one that works and a message.
func (*talks) WaitingRuns(_ context.Context, id sessions.ID, _ int) ([]sessions.Run, error) {
	return []sessions.Run{
		{Kind: sessions.KindTrigger, Status: sessions.RunRunning, EventKey: "cron/a/1"},
		{Kind: sessions.KindTrigger, Status: sessions.RunQueued, EventKey: "cron/" + string(id) + "/2#3"},
		{Kind: sessions.KindMessage, Status: sessions.RunQueued, EventKey: "cron/b/1"},
	}, nil
}

func (s *talks) Run(_ context.Context, id sessions.RunID) (sessions.Run, error) {
	run := sessions.Run{ID: id, Session: "sess_1", Status: s.run[0]}
	if len(s.run) > 1 {
		s.run = s.run[1:]
	}
	return run, nil
}

// Stopping a session stops what it does itself and its sub-agents, and leaves alone who works for it.
func TestStop(t *testing.T) {
	t.Parallel()
	talk := func(id string, kind announce.Kind, from, to sessions.ID, phase announce.Phase, turn int) ledger.Exchange {
		x := ledger.Exchange{Revision: 4}
		x.ID, x.Kind, x.Phase, x.Turn = id, kind, phase, turn
		x.Requester.Session, x.Target.Session = from, to
		return x
	}
	for name, c := range map[string]struct {
		open    ledger.Exchange
		stopped bool
		aborted []sessions.ID
	}{
		"it was asked and works":             {talk("x", announce.Send, "sess_2", "sess_1", announce.Asking, 0), true, []sessions.ID{"sess_1"}},
		"it asked, and the other works":      {talk("x", announce.Send, "sess_1", "sess_2", announce.Asking, 0), false, []sessions.ID{"sess_1"}},
		"it asked, and has the turn":         {talk("x", announce.Send, "sess_1", "sess_2", announce.Replying, 1), true, []sessions.ID{"sess_1"}},
		"it was asked, and the other's turn": {talk("x", announce.Send, "sess_2", "sess_1", announce.Replying, 1), false, []sessions.ID{"sess_1"}},
		"its sub-agent works":                {talk("x", announce.Spawn, "sess_1", "sess_2", announce.Asking, 0), true, []sessions.ID{"sess_1", "sess_2"}},
		"it is the sub-agent":                {talk("x", announce.Spawn, "sess_2", "sess_1", announce.Asking, 0), true, []sessions.ID{"sess_1"}},
		"between others":                     {talk("x", announce.Send, "sess_2", "sess_3", announce.Asking, 0), false, []sessions.ID{"sess_1"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := &Sessions{Store: &talks{open: []ledger.Exchange{c.open}}, Now: func() time.Time { return noon }}
			change, err := k.Stop(t.Context(), "sess_1")
			require.NoError(t, err)
			var aborted []sessions.ID
			for _, a := range change.Abort {
				require.Equal(t, noon, a.At)
				require.Equal(t, []string{"cron/" + string(a.Session) + "/2"}, a.Triggers, "whose queued runs end")
				aborted = append(aborted, a.Session)
			}
			require.Equal(t, c.aborted, aborted)
			if !c.stopped {
				require.Empty(t, change.Exchanges)
				return
			}
			require.Len(t, change.Exchanges, 1)
			require.Equal(t, announce.Stopped, change.Exchanges[0].Outcome)
			require.EqualValues(t, 5, change.Exchanges[0].Revision)
		})
	}
	_, err := (&Sessions{Store: &talks{broken: true}, Now: time.Now}).Stop(t.Context(), "sess_1")
	require.ErrorIs(t, err, errDisk)
}

// events are the live events of one session.
type events chan sessions.Event

func (e events) Follow(context.Context, sessions.ID, uint64) (<-chan sessions.Event, error) {
	return e, nil
}

// deaf is a bus that nobody can follow.
type deaf struct{}

func (deaf) Follow(context.Context, sessions.ID, uint64) (<-chan sessions.Event, error) {
	return nil, errDisk
}

// Whoever waits for a run learns its end from the store when the bus does not work.
func TestWaitRunWithoutTheBus(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		states := []sessions.RunStatus{sessions.RunQueued, sessions.RunRunning, sessions.RunDone}
		k := &Sessions{Store: &talks{run: states}, Events: deaf{}, Log: slog.New(slog.DiscardHandler)}
		began := time.Now()
		run, err := k.WaitRun(t.Context(), "run_1", time.Minute)
		require.NoError(t, err)
		require.Equal(t, sessions.RunDone, run.Status)
		require.Equal(t, 2*time.Second, time.Since(began))
	})
}

func TestWaitRun(t *testing.T) {
	t.Parallel()
	const queued, running, done = sessions.RunQueued, sessions.RunRunning, sessions.RunDone
	ended := sessions.Event{Run: "run_1", Type: sessions.EventDone}
	for name, c := range map[string]struct {
		states []sessions.RunStatus // of the run, each time that it is read
		at     time.Duration        // when events come; 0: never
		events []sessions.Event
		within time.Duration
		want   sessions.RunStatus
		took   time.Duration
	}{
		"it had ended":            {[]sessions.RunStatus{done}, 0, nil, time.Minute, done, 0},
		"nobody waits":            {[]sessions.RunStatus{queued}, 0, nil, 0, queued, 0},
		"it ended in between":     {[]sessions.RunStatus{queued, done}, 0, nil, time.Minute, done, 0},
		"it ends":                 {[]sessions.RunStatus{queued, running, done}, time.Second, []sessions.Event{ended}, time.Minute, done, time.Second},
		"the event is lost":       {[]sessions.RunStatus{queued, running, done}, 0, nil, time.Minute, done, 2 * time.Second},
		"another run ends":        {[]sessions.RunStatus{queued, running, done}, time.Second, []sessions.Event{{Run: "run_2", Type: sessions.EventDone}}, time.Minute, done, 2 * time.Second},
		"it goes on for too long": {[]sessions.RunStatus{running}, 0, nil, 5 * time.Second, running, 5 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				live := make(events, len(c.events))
				if c.at > 0 {
					time.AfterFunc(c.at, func() {
						for _, e := range c.events {
							live <- e
						}
					})
				}
				k := &Sessions{Store: &talks{run: slices.Clone(c.states)}, Events: live}
				began := time.Now()
				run, err := k.WaitRun(t.Context(), "run_1", c.within)
				require.NoError(t, err)
				require.Equal(t, c.want, run.Status)
				require.Equal(t, c.took, time.Since(began))
			})
		})
	}
}
