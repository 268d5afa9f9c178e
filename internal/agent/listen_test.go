package agent_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/agent/roster"
	"sluice/policy"
	"sluice/policy/flow"
	runs "sluice/router/work"
	"sluice/sessions"
	"sluice/sessions/sessiontest"
)

// mail is an inbox into which a test says things.
type mail struct {
	session *sessions.Session
	said    []string
	looks   int
	broken  error
}

var _ runs.Inbox = (*mail)(nil)

func (m *mail) Waiting(context.Context) (bool, error) {
	m.looks++
	return len(m.said) > 0, m.broken
}

func (m *mail) Take(ctx context.Context) (bool, error) {
	taken := len(m.said) > 0
	for _, text := range m.said {
		m.session.Append(sessions.Message{Role: sessions.RoleUser, Parts: []sessions.Part{sessions.TextPart(text, flow.Bottom())}})
	}
	m.said = nil
	return taken, errors.Join(m.broken, m.session.Persist(ctx))
}

// calls asks for todo_list twice in one answer, and says in the meantime what then.
func calls(then func()) sessiontest.Answer {
	return func(context.Context, sessions.Request, func(sessions.Chunk)) (sessions.Completion, error) {
		then()
		return sessions.Completion{Parts: []sessions.Part{
			{Type: sessions.PartToolCall, CallID: "call_1", Tool: "agents_list"},
			{Type: sessions.PartToolCall, CallID: "call_2", Tool: "agents_list"},
		}}, nil
	}
}

// What is said while the model writes is given to the run before the next completion, and the
// calls of the present answer are left out.
func TestNewMessageSkipsCallsThatHaveNotStarted(t *testing.T) {
	t.Parallel()
	m := &mail{}
	b := newBundle(t, calls(func() { m.said = append(m.said, "stop that, tell me a joke") }), sessiontest.Says("a joke"))
	m.session, b.inbox = b.session, m
	answer, err := b.ask(t.Context(), "list the agents")
	require.NoError(t, err)
	require.Equal(t, "a joke", answer.Text)
	messages := b.session.Messages()
	require.Len(t, messages, 5)
	for _, result := range messages[2].Parts {
		require.True(t, result.Error)
		require.Contains(t, result.Text, "skipped: a newer message came")
	}
	require.Equal(t, "stop that, tell me a joke", messages[3].Text())
}

// What is left out has not happened: nothing says that it was allowed, and it counts for no rate.
func TestSkippedCallsAreNotJudged(t *testing.T) {
	t.Parallel()
	m := &mail{}
	b := newBundle(t, calls(func() { m.said = append(m.said, "stop that") }), sessiontest.Says("as you like"))
	b.configure(func(s *roster.Settings) {
		s.Monitor = monitorOf(policy.EscalationAuto, policy.Rule{Name: "once", Hook: policy.PreToolCall, Action: policy.Block, Rate: &policy.Rate{Limit: 1, Per: time.Hour}})
	})
	m.session, b.inbox = b.session, m
	_, err := b.ask(t.Context(), "list the agents")
	require.NoError(t, err)
	require.NoError(t, b.session.Persist(t.Context()))
	require.Empty(t, b.store.Audit())
	require.False(t, b.tool(t, "agents_list", `{}`).Error, "the first that runs")
	require.True(t, b.tool(t, "agents_list", `{}`).Error, "the second")
}

// A call that runs when something is said comes to its end; only those after it are left out.
func TestNewMessageLeavesARunningCallAlone(t *testing.T) {
	t.Parallel()
	m := &mail{}
	b := newBundle(t, calls(func() {}), sessiontest.Says("done"))
	m.session, b.inbox = b.session, inboxFunc{m, func() {
		if m.looks == 1 { // the first call is about to start: it is said while that runs
			m.said = append(m.said, "enough")
		}
	}}
	_, err := b.ask(t.Context(), "list the agents")
	require.NoError(t, err)
	results := b.session.Messages()[2].Parts
	require.False(t, results[0].Error)
	require.Contains(t, results[1].Text, "skipped")
}

// inboxFunc does something after each look.
type inboxFunc struct {
	*mail
	after func()
}

func (i inboxFunc) Waiting(ctx context.Context) (bool, error) {
	defer i.after()
	return i.mail.Waiting(ctx)
}

// A look that fails ends the work: it is continued from what is stored.
func TestBrokenInboxEndsTheWork(t *testing.T) {
	t.Parallel()
	m := &mail{broken: sessions.ErrUnavailable}
	b := newBundle(t, sessiontest.Says("never"))
	m.session, b.inbox = b.session, m
	_, err := b.ask(t.Context(), "hi")
	require.ErrorIs(t, err, sessions.ErrUnavailable)
}
