package sessions_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"sluice/policy/flow"
	"sluice/sessions"
)

// memory is a store in memory. fail makes the n-th commit from now fail, before
// it is applied or, with late set, after it: as when the answer to a commit is lost.
type memory struct {
	mu       sync.Mutex
	records  map[sessions.ID]sessions.Record
	messages map[sessions.MessageID]sessions.Message
	commits  int
	fail     int
	late     bool
}

var (
	_          sessions.Store = (*memory)(nil)
	errCommits                = errors.New("disk is on fire")
)

func newMemory() *memory {
	return &memory{records: map[sessions.ID]sessions.Record{}, messages: map[sessions.MessageID]sessions.Message{}}
}

func (m *memory) CommitSession(_ context.Context, change sessions.Change) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.commits++
	m.fail--
	if m.fail == 0 && !m.late {
		return errCommits
	}
	for _, r := range change.Save {
		if m.records[r.ID].Revision != r.Revision {
			return sessions.ErrConflict
		}
	}
	for _, r := range change.Create {
		if _, ok := m.records[r.ID]; ok {
			return sessions.ErrConflict
		}
		m.records[r.ID] = r
	}
	for _, r := range change.Save {
		r.Revision++
		m.records[r.ID] = r
	}
	for _, stored := range change.Messages {
		msg := stored.Message
		msg.Parts = slices.Clone(msg.Parts)
		m.messages[msg.ID] = msg
	}
	if m.fail == 0 {
		return errCommits
	}
	return nil
}

func (m *memory) Session(_ context.Context, id sessions.ID) (sessions.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.records[id]
	if !ok {
		return r, sessions.ErrNotFound
	}
	return r, nil
}

func (m *memory) Thread(_ context.Context, record sessions.Record) ([]sessions.Message, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var thread []sessions.Message
	summary, compacted := m.messages[record.Compacted]
	for id := record.Head; id != "" && (!compacted || id != summary.Parent); {
		msg, ok := m.messages[id]
		if !ok {
			return nil, sessions.ErrNotFound
		}
		msg.Parts = slices.Clone(msg.Parts)
		thread = append(thread, msg)
		id = msg.Parent
	}
	if compacted {
		thread = append(thread, summary)
	}
	slices.Reverse(thread)
	return thread, nil
}

// answer is one completion of a scripted model.
type answer = func(ctx context.Context, req sessions.Request, on func(sessions.Chunk)) (sessions.Completion, error)

// scripted is a model that gives its answers one after the other.
type scripted struct {
	mu      sync.Mutex
	answers []answer
	asked   []sessions.Request
	level   flow.Level
}

func (m *scripted) Name() string               { return "test/scripted" }
func (m *scripted) ContextWindow() int         { return 0 }
func (m *scripted) Classification() flow.Level { return m.level }

func (m *scripted) Complete(ctx context.Context, req sessions.Request, on func(sessions.Chunk)) (sessions.Completion, error) {
	m.mu.Lock()
	m.asked = append(m.asked, req)
	if len(m.answers) == 0 {
		m.mu.Unlock()
		return sessions.Completion{}, &sessions.ModelError{Kind: sessions.ModelRefused, Model: m.Name(), Err: errors.New("the script has ended")}
	}
	next := m.answers[0]
	m.answers = m.answers[1:]
	m.mu.Unlock()
	return next(ctx, req, on)
}

func says(text string) answer {
	return func(_ context.Context, _ sessions.Request, on func(sessions.Chunk)) (sessions.Completion, error) {
		for _, piece := range []string{text[:len(text)/2], text[len(text)/2:]} {
			on(sessions.Chunk{Type: sessions.PartText, Text: piece})
		}
		return sessions.Completion{
			Parts: []sessions.Part{{Type: sessions.PartText, Text: text}},
			Usage: sessions.Usage{InputTokens: 10, OutputTokens: len(text)},
		}, nil
	}
}

func calls(ids ...string) answer {
	return func(_ context.Context, _ sessions.Request, on func(sessions.Chunk)) (sessions.Completion, error) {
		var c sessions.Completion
		for _, id := range ids {
			on(sessions.Chunk{Type: sessions.PartToolCall, CallID: id, Tool: "count"})
			c.Parts = append(c.Parts, sessions.Part{Type: sessions.PartToolCall, CallID: id, Tool: "count", Args: []byte(`{}`)})
		}
		return c, nil
	}
}

// bundle is a session with all that it needs.
type bundle struct {
	*sessions.Session
	store *memory
	model *scripted
	ran   []string // call ids, in the order in which the tool ran
	clock time.Time
}

func newBundle(t *testing.T, answers ...answer) *bundle {
	t.Helper()
	b := &bundle{store: newMemory(), model: &scripted{answers: answers, level: flow.Restricted}, clock: time.Unix(1_800_000_000, 0)}
	record := sessions.Record{ID: sessions.NewID(), Key: "agent:main:main", Agent: "main", Taint: flow.Bottom(), Clearance: flow.Restricted}
	b.Session = sessions.NewSession(b.store, record, func() time.Time { return b.clock })
	b.equip(b.Session)
	return b
}

func (b *bundle) equip(s *sessions.Session) {
	s.SetModel(b.model)
	s.SetAgent(sessions.Agent{ID: "main", SystemPrompt: "You are a test.", Tools: []sessions.Tool{{
		Spec: sessions.ToolSpec{Name: "count", Description: "Counts.", Parameters: []byte(`{"type":"object"}`)},
		Run: func(_ context.Context, caller sessions.Caller, _ json.RawMessage) (sessions.ToolResult, error) {
			b.ran = append(b.ran, caller.CallID)
			return sessions.ToolResult{Text: "counted", Label: flow.NewLabel(flow.Internal, flow.Untrusted)}, nil
		},
	}}})
}

// load opens the stored session again, as a new process would.
func (b *bundle) load(t *testing.T) *sessions.Session {
	t.Helper()
	record, err := b.store.Session(t.Context(), b.Record().ID)
	if err != nil {
		t.Fatal(err)
	}
	s, err := sessions.LoadSession(t.Context(), b.store, record, func() time.Time { return b.clock })
	if err != nil {
		t.Fatal(err)
	}
	b.equip(s)
	return s
}

func user(text string) sessions.Message {
	label := flow.NewLabel(flow.Public, flow.Trusted)
	return sessions.Message{Role: sessions.RoleUser, Parts: []sessions.Part{sessions.TextPart(text, label)}}
}

// step runs one completion to its end.
func step(ctx context.Context, s *sessions.Session) (text string, err error) {
	steps, cancel := s.RequestCompletion(ctx)
	defer cancel()
	for st := range steps {
		text += st.Chunk.Text
		if st.Done {
			err = st.Err
		}
	}
	return text, err
}

func confirm(calls []sessions.Part) []sessions.Confirmation {
	var all []sessions.Confirmation
	for _, c := range calls {
		all = append(all, sessions.Confirmation{CallID: c.CallID, Approved: true})
	}
	return all
}
