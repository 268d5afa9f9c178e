package agent_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	runs "sluice/router/work"
	"sluice/sessions"
	"sluice/sessions/sessiontest"
)

// Somebody who asks for it has all but the newest of the thread shortened, however much room the model has.
func TestCompactOnRequest(t *testing.T) {
	t.Parallel()
	b := newBundle(t, sessiontest.Says("the gist"))
	b.model.Window = 1_000_000
	for i := range 8 {
		b.session.Append(
			sessions.Message{Role: sessions.RoleUser, Parts: []sessions.Part{sessions.TextPart(fmt.Sprint("question ", i), flow.Bottom())}},
			sessions.Message{Role: sessions.RoleAssistant, Parts: []sessions.Part{sessions.TextPart(strings.Repeat("answer ", 50), flow.Bottom())}},
		)
	}
	require.NoError(t, b.session.Persist(t.Context()))
	got, err := b.Compact(t.Context(), runs.Assignment{Session: b.session, Run: &b.run, Emit: func(sessions.Event) {}})
	require.NoError(t, err)
	messages := b.session.Messages()
	require.Equal(t, sessions.RoleSummary, messages[0].Role)
	require.Equal(t, "question 7", messages[len(messages)-2].Text())
	require.Equal(t, 16-len(messages)+1, got.Messages)
	require.Less(t, got.After*2, got.Before)
	require.False(t, b.session.Dirty(), "it is stored")
}

func TestCompactOfNothing(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	_, err := b.Compact(t.Context(), runs.Assignment{Session: b.session, Run: &b.run, Emit: func(sessions.Event) {}})
	require.ErrorIs(t, err, sessions.ErrNothingToCompact)
}
