package sessions_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/sessions"
	"sluice/sessions/sessiontest"
)

// What a model was asked does not change when the conversation does.
func TestARequestUnderWayStaysAsItIs(t *testing.T) {
	t.Parallel()
	s := sessions.NewSession(sessiontest.NewMemory(), sessions.Record{ID: sessions.NewID(), Agent: "main", Taint: flow.Bottom(), Clearance: flow.Restricted}, time.Now)
	s.Append(user("first"), user("second"))
	model := &sessiontest.Scripted{Level: flow.Restricted, Answers: []sessiontest.Answer{
		func(_ context.Context, req sessions.Request, _ func(sessions.Chunk)) (sessions.Completion, error) {
			require.NoError(t, s.SetContent(req.Messages[0].ID, "changed", flow.Bottom()))
			s.Append(user("third"))
			require.Equal(t, []string{"first", "second"}, texts(req.Messages))
			req.Messages = append(req.Messages, user("mine"))
			require.Equal(t, []string{"changed", "second", "third"}, texts(s.Messages()))
			return sessions.Completion{Parts: []sessions.Part{sessions.TextPart("answer", flow.Bottom())}}, nil
		},
	}}
	s.SetModel(model)
	_, err := s.Complete(t.Context(), func(sessions.Chunk) {})
	require.NoError(t, err)
	require.Equal(t, []string{"changed", "second", "third", "answer"}, texts(s.Messages()))
}
