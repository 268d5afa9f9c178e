package agent_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"sluice/internal/agent"
	"sluice/internal/agent/roster"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/sessions"
	"sluice/sessions/sessiontest"
)

// watcher is a model that counts the pictures it is shown, and may refuse them.
type watcher struct {
	refuses bool
	seen    []int
}

func (*watcher) Name() string               { return "test/watcher" }
func (*watcher) ContextWindow() int         { return 0 }
func (*watcher) Classification() flow.Level { return flow.Internal }

func (w *watcher) Complete(_ context.Context, req sessions.Request, _ func(sessions.Chunk)) (sessions.Completion, error) {
	n := 0
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			if len(p.Content) > 0 {
				n++
			}
		}
	}
	w.seen = append(w.seen, n)
	if n > 0 && w.refuses {
		return sessions.Completion{}, &sessions.ModelError{Kind: sessions.ModelRefused, Model: w.Name()}
	}
	return sessions.Completion{Parts: []sessions.Part{{Type: sessions.PartText, Text: "I see"}}}, nil
}

// seeing opens a session whose thread has this many pictures, one of which is not kept any more.
func seeing(t *testing.T, model sessions.Model, pictures int, taint flow.Label) *sessions.Session {
	t.Helper()
	ids := slices.Repeat([]sessions.MediaID{"pic"}, pictures)
	return showing(t, model, taint, 3, append([]sessions.MediaID{"gone"}, ids...), func(id sessions.MediaID) ([]byte, error) {
		if id == "gone" {
			return nil, sessions.ErrNotFound
		}
		return []byte(id), nil
	})
}

// showing opens a session whose thread has pictures of a size.
func showing(t *testing.T, model sessions.Model, taint flow.Label, size int64, pictures []sessions.MediaID, read func(id sessions.MediaID) ([]byte, error)) *sessions.Session {
	t.Helper()
	store := &store{Memory: sessiontest.NewMemory()}
	loop, err := agent.New(agent.Config{
		Roster: roster.New(roster.Settings{Monitor: lenient(), Agents: []roster.Definition{{ID: "main", Model: "test/watcher"}}}),
		Store:  store, Memories: store, Todos: store, Now: time.Now, Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
		Models:      func(string) (sessions.Model, error) { return model, nil },
		CheckPolicy: func(context.Context, outbound.Check) (policy.Decision, error) { return policy.Decision{}, nil },
		Exchanges:   exchanges{},
		Send:        func(context.Context, outbound.Proactive) (ledger.Delivery, error) { return ledger.Delivery{}, nil },
		Media:       func(_ context.Context, id sessions.MediaID) ([]byte, error) { return read(id) },
	})
	require.NoError(t, err)
	s, err := loop.Open(t.Context(), sessions.Record{ID: sessions.NewID(), Agent: "main", Taint: taint})
	require.NoError(t, err)
	m := sessions.Message{Role: sessions.RoleUser, Label: flow.Bottom(), Parts: []sessions.Part{sessions.TextPart("look", flow.Bottom())}}
	for _, id := range pictures {
		m.Parts = append(m.Parts, sessions.Part{
			Type: sessions.PartAttachment, Label: flow.Bottom(),
			Attachment: &sessions.Attachment{Kind: "photo", MIME: "image/png", Size: size, Media: id},
		})
	}
	s.Append(m)
	return s
}

// What does not fit into a request is not read from the store either: it would be with each completion.
func TestPicturesThatDoNotFitAreNotRead(t *testing.T) {
	t.Parallel()
	const size = 10 << 20
	w, reads := &watcher{}, 0
	s := showing(t, w, flow.Bottom(), size, slices.Repeat([]sessions.MediaID{"pic"}, 20), func(sessions.MediaID) ([]byte, error) {
		reads++
		return make([]byte, size), nil
	})
	_, err := s.Complete(t.Context(), func(sessions.Chunk) {})
	require.NoError(t, err)
	require.Equal(t, []int{1}, w.seen)
	require.Equal(t, 1, reads)
}

func TestPicturesAreShown(t *testing.T) {
	t.Parallel()
	for pictures, want := range map[int]int{0: 0, 2: 2, 20: 8} {
		w := &watcher{}
		s := seeing(t, w, pictures, flow.Bottom())
		_, err := s.Complete(t.Context(), func(sessions.Chunk) {})
		require.NoError(t, err)
		require.Equal(t, []int{want}, w.seen)
		for _, p := range s.Messages()[0].Parts {
			require.Empty(t, p.Content, "the thread has none of it")
		}
	}
}

func TestModelThatTakesNoPicturesIsToldInWords(t *testing.T) {
	t.Parallel()
	w := &watcher{refuses: true}
	s := seeing(t, w, 2, flow.Bottom())
	for range 2 {
		_, err := s.Complete(t.Context(), func(sessions.Chunk) {})
		require.NoError(t, err)
	}
	require.Equal(t, []int{2, 0, 0}, w.seen, "it is asked once")
}

func TestModelThatSeesIsClassifiedAsBefore(t *testing.T) {
	t.Parallel()
	s := seeing(t, &watcher{}, 1, flow.NewLabel(flow.Confidential, flow.Trusted))
	_, err := s.Complete(t.Context(), func(sessions.Chunk) {})
	require.ErrorIs(t, err, sessions.ErrModelLevel)
}

// unclassified is a model of nobody knows which provider.
type unclassified struct{ sessions.Model }

// A model that does not say what it may be told is told what everybody may know, with pictures as without.
func TestModelWithoutALevelIsPublic(t *testing.T) {
	t.Parallel()
	for level, want := range map[flow.Level]error{flow.Public: nil, flow.Internal: sessions.ErrModelLevel} {
		s := seeing(t, unclassified{&watcher{}}, 1, flow.NewLabel(level, flow.Trusted))
		_, err := s.Complete(t.Context(), func(sessions.Chunk) {})
		require.ErrorIs(t, err, want, "%s", level)
	}
}
