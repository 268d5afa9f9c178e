package steps_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"sluice/announce"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/steps"
	"sluice/sessions"
)

// scene is Steps with a bus that keeps what it is given.
type scene struct {
	*steps.Steps
	t      *testing.T
	now    time.Time
	gone   bool // the exchange was removed
	ids    []string
	texts  [][]byte
	read   []int
	woken  []sessions.Lane
	acks   []string
	change ledger.Change // that has queued the step
}

const partitions = 4

func (s *scene) PublishStep(partition int, id string, text []byte) {
	require.Equal(s.t, s.change.Enqueue[0].Partition, partition)
	s.ids, s.texts = append(s.ids, id), append(s.texts, text)
}

func (s *scene) ReadSteps(partition int) { s.read = append(s.read, partition) }

func (s *scene) Exchange(_ context.Context, id string) (ledger.Exchange, error) {
	if s.gone {
		return ledger.Exchange{}, sessions.ErrNotFound
	}
	require.Equal(s.t, s.change.Exchanges[0].ID, id)
	return s.change.Exchanges[0], nil
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{t: t, now: time.Unix(1_800_000_000, 0)}
	s.Steps = steps.New(steps.Config{
		Store: s, Bus: s, Wake: func(_ int, lane sessions.Lane) { s.woken = append(s.woken, lane) }, Limit: func() time.Duration { return time.Minute },
		Partitions: partitions, Now: func() time.Time { return s.now }, Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	})
	run := sessions.Run{
		ID: "run_1", Session: "sess_to", Partition: sessions.SessionLane("sess_to").Partition(partitions), Kind: sessions.KindReply, Status: sessions.RunQueued,
		Label: flow.NewLabel(flow.Internal, flow.Untrusted), Exchange: "xch_1", Chain: sessions.Chain{ID: "chn_1"}, Accepted: s.now,
	}
	x := ledger.Exchange{Exchange: announce.Exchange{
		ID: "xch_1", Phase: announce.Replying, Turn: 2, Requester: announce.Party{Session: "sess_from", Key: "agent:a:main", Agent: "a"},
		Target: announce.Party{Session: "sess_to", Key: "agent:b:main", Agent: "b"},
	}}
	s.change = ledger.Change{Change: sessions.Change{Enqueue: []sessions.Run{run}}, Exchanges: []ledger.Exchange{x}}
	return s
}

// waiting are the runs of the session: a message, and the step.
func (s *scene) waiting() []sessions.Run {
	return []sessions.Run{{ID: "run_0", Session: "sess_to", Kind: sessions.KindMessage, Status: sessions.RunQueued}, s.change.Enqueue[0]}
}

// ready are the ids of the runs that can be worked, and the time to the next look.
func (s *scene) ready() string {
	s.t.Helper()
	runs, again, err := s.Ready(s.t.Context(), "sess_to", s.waiting())
	require.NoError(s.t, err)
	var ids []sessions.RunID
	for _, run := range runs {
		ids = append(ids, run.ID)
	}
	return fmt.Sprint(ids, " ", again)
}

func (s *scene) deliver(i int, name string) {
	s.Stepped(s.change.Enqueue[0].Partition, s.texts[i], func() { s.acks = append(s.acks, name) })
}

// A step is worked once its message has come, and its message is acknowledged when it has ended.
func TestAStepWaitsForItsMessage(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.Changed(s.change)
	require.Equal(t, []string{"run_1"}, s.ids)
	require.Empty(t, s.woken, "its message wakes it")
	require.Equal(t, "[run_0] 1s", s.ready())
	s.deliver(0, "first")
	require.Equal(t, []sessions.Lane{"sess_to"}, s.woken)
	require.Equal(t, "[run_0 run_1] 0s", s.ready())
	s.deliver(0, "second")
	require.Equal(t, []string{"first"}, s.acks, "a copy replaces the one before")
	run := s.change.Enqueue[0]
	run.Status = sessions.RunRunning
	s.Changed(ledger.Change{Change: sessions.Change{Runs: []sessions.RunMove{{From: sessions.RunQueued, Run: run}}}})
	require.Len(t, s.acks, 1, "it works")
	run.Status = sessions.RunDone
	s.Changed(ledger.Change{Change: sessions.Change{Runs: []sessions.RunMove{{From: sessions.RunRunning, Run: run}}}})
	require.Equal(t, []string{"first", "second"}, s.acks)
	require.Len(t, s.ids, 1)
}

// A missing message is published again, later each time, under another id, with the same text.
func TestAMissingStepIsPublishedAgain(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.Changed(s.change)
	require.Equal(t, "[run_0] 1s", s.ready())
	require.Equal(t, []int{s.change.Enqueue[0].Partition}, s.read)
	s.now = s.now.Add(999 * time.Millisecond)
	require.Equal(t, "[run_0] 1ms", s.ready())
	for _, wait := range []string{"2s", "4s", "8s", "16s", "30s", "30s"} {
		s.now = s.now.Add(time.Minute)
		require.Equal(t, "[run_0] "+wait, s.ready())
	}
	require.Equal(t, []string{"run_1", "run_1/1", "run_1/2", "run_1/3", "run_1/4", "run_1/5", "run_1/6"}, s.ids)
	for _, text := range s.texts {
		require.Equal(t, s.texts[0], text)
	}
	require.Len(t, s.read, 1)
	s.gone = true
	s.now = s.now.Add(time.Minute)
	require.Equal(t, "[run_0 run_1] 0s", s.ready(), "without its exchange its worker ends it")
}

// A message of a step that has ended, or of a run that never was, is acknowledged without an effect.
func TestAStaleMessageIsAcknowledged(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.Changed(s.change)
	s.deliver(0, "late")
	runs, again, err := s.Ready(t.Context(), "sess_to", nil)
	require.NoError(t, err)
	require.Empty(t, runs)
	require.Zero(t, again)
	require.Equal(t, []string{"late"}, s.acks)
}

// A step that was running when its worker died goes on without its message.
func TestARunningStepGoesOn(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.change.Enqueue[0].Status = sessions.RunRunning
	require.Equal(t, "[run_0 run_1] 0s", s.ready())
}

// A released partition keeps nothing: its next owner gets the messages.
func TestReleasedStepsAreForgotten(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.Changed(s.change)
	s.deliver(0, "mine")
	p := s.change.Enqueue[0].Partition
	s.Released(p + 1)
	require.Equal(t, "[run_0 run_1] 0s", s.ready())
	s.Released(p)
	require.Empty(t, s.acks)
	require.Equal(t, "[run_0] 1s", s.ready())
}

// What is not a message, or not of this partition, is acknowledged, and nothing is woken.
func TestWrongMessagesWakeNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.Changed(s.change)
	acked := 0
	for _, text := range []string{"", "{", "null", `{"subject":"sess_to"}`, `{"data":{"run":"run_1"}}`, `[]`} {
		s.Stepped(s.change.Enqueue[0].Partition, []byte(text), func() { acked++ })
	}
	s.Stepped(s.change.Enqueue[0].Partition+1, s.texts[0], func() { acked++ })
	require.Equal(t, 7, acked)
	require.Empty(t, s.woken)
}

// The message is a CloudEvent that names who speaks to whom, without what is said.
func TestMessage(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.change.Enqueue[0].Input.Text = "the secret words"
	s.Changed(s.change)
	var m map[string]any
	require.NoError(t, json.Unmarshal(s.texts[0], &m))
	require.Equal(t, map[string]any{
		"specversion": "1.0", "id": "run_1", "source": "/sessions/sess_from", "type": "sluice.exchange.reply", "subject": "sess_to",
		"time": "2027-01-15T08:00:00Z", "datacontenttype": "application/json",
		"data": map[string]any{
			"exchange": "xch_1", "chain": "chn_1", "phase": "replying", "turn": 2.0, "run": "run_1",
			"from":  map[string]any{"session": "sess_from", "key": "agent:a:main", "agent": "a"},
			"to":    map[string]any{"session": "sess_to", "key": "agent:b:main", "agent": "b"},
			"label": "INTERNAL/untrusted", "deadline": "2027-01-15T08:01:00Z",
		},
	}, m)
}

// Each kind of step has its type, and the side that works it is the recipient.
func TestMessageOfEachKind(t *testing.T) {
	t.Parallel()
	for kind, want := range map[sessions.RunKind]string{
		sessions.KindAsk: steps.TypeAsk, sessions.KindTask: steps.TypeAsk, sessions.KindReply: steps.TypeReply,
		sessions.KindAnnounce: steps.TypeAnnounce, sessions.KindReport: steps.TypeReport,
	} {
		s := newScene(t)
		s.change.Enqueue[0].Kind = kind
		if kind == sessions.KindReply {
			s.change.Enqueue[0].Session = "sess_from"
			s.change.Enqueue[0].Timeout = time.Hour
		} else {
			s.change.Exchanges[0].Requester = announce.Party{} // a person asked
		}
		s.Changed(s.change)
		var m steps.Message
		require.NoError(t, json.Unmarshal(s.texts[0], &m))
		require.Equal(t, want, m.Type, kind)
		if kind == sessions.KindReply {
			require.Equal(t, []string{"/sessions/sess_to", "sess_from", "b", "a"}, []string{m.Source, m.Subject, m.Data.From.Agent, m.Data.To.Agent})
			require.Equal(t, s.now.Add(time.Hour).UTC(), m.Data.Deadline)
			continue
		}
		require.Equal(t, []string{"/exchanges/xch_1", "sess_to", "", "b"}, []string{m.Source, m.Subject, m.Data.From.Agent, m.Data.To.Agent})
		require.NotContains(t, string(s.texts[0]), `"from"`)
	}
}
