package sessions_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"sluice/policy/flow"
	"sluice/sessions"
	"sluice/sessions/sessiontest"
)

// bundle is a session with all that it needs.
type bundle struct {
	*sessions.Session
	store *sessiontest.Memory
	model *sessiontest.Scripted
	ran   []string // call ids, in the order in which the tool ran
	clock time.Time
}

func newBundle(t *testing.T, answers ...sessiontest.Answer) *bundle {
	t.Helper()
	b := &bundle{store: sessiontest.NewMemory(), model: &sessiontest.Scripted{Answers: answers, Level: flow.Restricted}, clock: time.Unix(1_800_000_000, 0)}
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

// setTools gives a session other tools in place of all that it has.
func setTools(s *sessions.Session, tools []sessions.Tool) {
	s.ReplaceTools(func(sessions.Tool) bool { return true }, tools)
}
