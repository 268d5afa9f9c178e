package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/sessions"
	"sluice/sessions/sessiontest"
)

// A reply keeps its files over a summary of the calls that attached them, and over a crash after that.
func TestAttachedFilesOutliveASummary(t *testing.T) {
	t.Parallel()
	b, _ := withSession(t, everything, flow.Bottom(), nil)
	b.run.Route = sessions.Route{Channel: "telegram", Account: "default", Conversation: "1"}
	for i := range 4 {
		b.model.Answers = []sessiontest.Answer{sessiontest.Says(fmt.Sprint("answer ", i))}
		_, err := b.ask(t.Context(), fmt.Sprint("question ", i, strings.Repeat(" really", 50)))
		require.NoError(t, err)
		require.NoError(t, b.session.Persist(t.Context()))
	}
	m := &mail{session: b.session}
	b.inbox = m
	crash := errors.New("the process has died")
	b.model.Answers = []sessiontest.Answer{
		sessiontest.Calls("write", `{"path":"a.txt","content":"a"}`, "call_1"), sessiontest.Calls("attach", `{"files":["a.txt"]}`, "call_2"),
		calls(func() { m.said = append(m.said, "and a table, please"+strings.Repeat(" really", 50)) }), // a person writes on
		fails(sessions.ModelOverflow, 0), sessiontest.Says("the gist"), fails(sessions.ModelOverflow, 0), sessiontest.Says("the gist of it"),
		func(context.Context, sessions.Request, func(sessions.Chunk)) (sessions.Completion, error) {
			return sessions.Completion{}, crash
		},
	}
	_, err := b.ask(t.Context(), "make the report")
	require.ErrorIs(t, err, crash)
	thread := b.session.Messages()
	require.Equal(t, sessions.RoleSummary, thread[0].Role)
	for _, m := range thread[1:] {
		require.NotContains(t, m.Text(), "attached", "the call is in the summary alone")
	}

	b.reopen(t)
	b.inbox = nil
	b.run.Attempts = 2
	b.model.Answers = []sessiontest.Answer{sessiontest.Says("Here it is.")}
	answer, err := b.work(t.Context())
	require.NoError(t, err)
	require.Equal(t, "Here it is.", answer.Text)
	require.Len(t, answer.Files, 1)
	require.Equal(t, "a", string(answer.Files[0].Content))

	b.run.ID = sessions.NewRunID()
	b.model.Answers = []sessiontest.Answer{sessiontest.Says("You are welcome.")}
	answer, err = b.ask(t.Context(), "thanks")
	require.NoError(t, err)
	require.Empty(t, answer.Files, "they were the other reply's")
}
