package sessions_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/policy/flow"
	"sluice/sessions"
	"sluice/sessions/sessiontest"
)

// delegate gives a session a sub-agent tool with a plan.
func (b *bundle) delegate(s *sessions.Session, plan sessions.SubAgentPlan, fails error) {
	s.SetAgent(sessions.Agent{ID: "main", Tools: []sessions.Tool{{
		Spec: sessions.ToolSpec{Name: "task"}, Flow: sessions.ToolFlow{Reads: sessions.FlowSession, Writes: sessions.FlowSession},
		SubAgent: func(_ context.Context, caller sessions.Caller, args json.RawMessage) (sessions.SubAgentPlan, error) {
			b.ran = append(b.ran, caller.CallID)
			if plan.Task == "" {
				plan.Task = string(args)
			}
			return plan, fails
		},
	}}})
}

// asked is a session whose model has called the sub-agent tool.
func asked(t *testing.T, plan sessions.SubAgentPlan, fails error) *bundle {
	t.Helper()
	b := newBundle(t, sessiontest.Calls("task", `{"what":"look"}`, "a", "b"), sessiontest.Says("found it"), sessiontest.Says("thanks"))
	b.delegate(b.Session, plan, fails)
	b.Append(user("have it looked up"))
	_, err := step(t.Context(), b.Session)
	require.NoError(t, err)
	return b
}

func pendingOf(t *testing.T, s *sessions.Session) []*sessions.PendingSubAgentToolCall {
	t.Helper()
	pending, err := s.PendingSubAgentToolCalls(t.Context(), sessions.Caller{}, confirm(s.PendingToolCalls()))
	require.NoError(t, err)
	return pending
}

func TestSubAgentAnswersTheCall(t *testing.T) {
	t.Parallel()
	b := asked(t, sessions.SubAgentPlan{Description: "a look"}, nil)
	pending := pendingOf(t, b.Session)
	require.Len(t, pending, 2)
	require.Equal(t, pending, pendingOf(t, b.Session), "asked again, the same")
	require.Equal(t, []string{"a", "b"}, b.ran, "planned once")

	child := pending[0].Session()
	require.True(t, child.Record().Key.SubAgent())
	require.Equal(t, "a look", child.Record().Title.Raw())
	require.JSONEq(t, `{"what":"look"}`, child.Last().Text(), "the task is what the plan says")
	confirmations := []sessions.Confirmation{{CallID: "a", Approved: true}, {CallID: "b", Reason: "one is enough"}}
	commits := b.store.Commits()
	_, err := b.ConfirmAndExecuteTools(t.Context(), sessions.Caller{}, confirmations, pending...)
	require.ErrorContains(t, err, `"a" (task): its sub-agent is not complete`)
	_, err = b.ConfirmAndExecuteTools(t.Context(), sessions.Caller{}, confirmations)
	require.ErrorContains(t, err, "not complete")
	require.Equal(t, commits, b.store.Commits(), "nothing was done")

	_, err = step(t.Context(), child)
	require.NoError(t, err)
	child.Append(sessions.Message{Role: sessions.RoleAssistant, Parts: []sessions.Part{sessions.TextPart("it is secret", flow.NewLabel(flow.Confidential, flow.Untrusted))}})
	require.False(t, pending[0].IsComplete())
	pending[0].Complete()
	pending[0].Fail(errors.New("too late"))
	require.True(t, pending[0].IsComplete())
	rejected, err := b.ConfirmAndExecuteTools(t.Context(), sessions.Caller{}, confirmations, pending...)
	require.NoError(t, err)
	require.False(t, rejected)
	results := b.Last().Parts
	require.Equal(t, []string{"it is secret", "one is enough"}, []string{results[0].Text, results[1].Text})
	require.Equal(t, flow.NewLabel(flow.Confidential, flow.Untrusted), b.Taint(), "the parent learns what the child has learned")
	_, err = step(t.Context(), b.Session)
	require.NoError(t, err)
	require.Equal(t, "thanks", b.Last().Text())
	require.Nil(t, pendingOf(t, b.Session))
}

func TestSubAgentIsNotMoreThanItsParent(t *testing.T) {
	t.Parallel()
	files := sessions.FileAccess{Read: []string{""}, Write: []string{"out", "../away", "/etc"}}
	b := asked(t, sessions.SubAgentPlan{Permission: sessions.PermissionAuto, Clearance: flow.Restricted, Files: &files}, nil)
	child := pendingOf(t, b.Session)[0].Session()
	record := child.Record()
	require.Equal(t, sessions.PermissionAsk, child.Permission())
	require.Equal(t, b.Record().Clearance, record.Clearance)
	require.Equal(t, b.Taint(), record.Taint)
	require.Equal(t, sessions.FileAccess{Read: []string{}, Write: []string{}}, record.FileAccess, "the parent may see no files")
	require.Equal(t, b.Model(), child.Model())

	b = asked(t, sessions.SubAgentPlan{Permission: sessions.PermissionDeny, Clearance: flow.Internal}, nil)
	child = pendingOf(t, b.Session)[0].Session()
	require.Equal(t, sessions.PermissionDeny, child.Permission())
	require.Equal(t, flow.Internal, child.Record().Clearance)
}

func TestSubAgentThatCantBePrepared(t *testing.T) {
	t.Parallel()
	secret := user("a secret")
	secret.Parts[0].Label = flow.NewLabel(flow.Confidential, flow.Trusted)
	for name, c := range map[string]struct {
		plan  sessions.SubAgentPlan
		fails error
		first *sessions.Message
		says  string
	}{
		"plan fails":          {fails: errors.New("what: is required"), says: "what: is required"},
		"clearance too low":   {plan: sessions.SubAgentPlan{Clearance: flow.Internal}, first: &secret, says: "may know up to INTERNAL"},
		"child has no answer": {says: "ended without an answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t, sessiontest.Calls("task", `{}`, "a"))
			b.delegate(b.Session, c.plan, c.fails)
			if c.first != nil {
				b.Append(*c.first)
			}
			b.Append(user("go"))
			_, err := step(t.Context(), b.Session)
			require.NoError(t, err)
			pending := pendingOf(t, b.Session)
			require.Len(t, pending, 1)
			require.Equal(t, c.says != "ended without an answer", pending[0].IsComplete())
			pending[0].Complete()
			_, err = b.ConfirmAndExecuteTools(t.Context(), sessions.Caller{}, []sessions.Confirmation{{CallID: "a", Approved: true}}, pending...)
			require.NoError(t, err)
			require.Contains(t, b.Last().Parts[0].Text, c.says)
			require.True(t, b.Last().Parts[0].Error)
		})
	}
}

// A process that ends while a child works finds that child again, and what it has said.
func TestSubAgentIsFoundAgain(t *testing.T) {
	t.Parallel()
	b := asked(t, sessions.SubAgentPlan{}, nil)
	require.NoError(t, b.Persist(t.Context()))
	child := pendingOf(t, b.Session)[0].Session()
	_, err := step(t.Context(), child)
	require.NoError(t, err)
	require.NoError(t, child.Persist(t.Context()))

	again := b.load(t)
	b.delegate(again, sessions.SubAgentPlan{Permission: sessions.PermissionAuto}, nil)
	pending := pendingOf(t, again)
	require.Equal(t, child.Record(), pending[0].Session().Record())
	require.Equal(t, "found it", pending[0].Session().Last().Text())
	require.Equal(t, sessions.PermissionAsk, pending[0].Session().Permission())
	require.NotEqual(t, child.Record().ID, pending[1].Session().Record().ID)
	_, err = b.ConfirmAndExecuteTools(t.Context(), sessions.Caller{}, confirm(b.PendingToolCalls()), pending...)
	require.ErrorContains(t, err, "another session", "children of another Session are not ours")
	_, err = again.ConfirmAndExecuteTools(t.Context(), sessions.Caller{}, confirm(again.PendingToolCalls()), pending[0], pending[0])
	require.ErrorContains(t, err, "two sub-agents")
}

func TestSubAgentsStartNone(t *testing.T) {
	t.Parallel()
	b := asked(t, sessions.SubAgentPlan{}, nil)
	child := pendingOf(t, b.Session)[0].Session()
	b.delegate(child, sessions.SubAgentPlan{}, nil)
	b.model.Answers = []sessiontest.Answer{sessiontest.Calls("task", `{}`, "c")}
	_, err := step(t.Context(), child)
	require.NoError(t, err)
	pending := pendingOf(t, child)
	require.Len(t, pending, 1)
	require.Nil(t, pending[0].Session())
	_, err = child.ConfirmAndExecuteTools(t.Context(), sessions.Caller{}, confirm(child.PendingToolCalls()), pending...)
	require.NoError(t, err)
	require.Equal(t, "a sub-agent can't start sub-agents", child.Last().Parts[0].Text)

	b = asked(t, sessions.SubAgentPlan{}, nil)
	require.NoError(t, b.SetPermission(sessions.PermissionDeny))
	for _, p := range pendingOf(t, b.Session) {
		require.True(t, p.IsComplete())
		require.Nil(t, p.Session(), "refused calls need no child")
	}
	require.Empty(t, b.ran, "nor a plan")
	rejected, err := b.ConfirmAndExecuteTools(t.Context(), sessions.Caller{}, nil)
	require.NoError(t, err)
	require.True(t, rejected)
}

func TestFilesNarrow(t *testing.T) {
	t.Parallel()
	access := func(paths ...string) sessions.FileAccess { return sessions.FileAccess{Read: paths, Write: paths} }
	for _, c := range []struct{ parent, child, want []string }{
		{[]string{""}, []string{"docs"}, []string{"docs"}},
		{[]string{"docs"}, []string{""}, []string{"docs"}},
		{[]string{"docs"}, []string{"docs/a", "docsx", "src"}, []string{"docs/a"}},
		{[]string{"docs"}, []string{"docs/../src", "/docs", "../docs", "docs/./b/"}, []string{"docs/b"}},
		{[]string{}, []string{""}, []string{}},
	} {
		require.Equal(t, c.want, access(c.parent...).Narrow(access(c.child...)).Write)
	}
	require.Equal(t, []string{"out"}, sessions.FileAccess{Write: []string{"out"}}.Narrow(access("out")).Read, "what may be written may be read")

	under := func(p string, scopes []string) bool {
		for _, s := range scopes {
			if s == "" || p == s || strings.HasPrefix(p, s+"/") {
				return true
			}
		}
		return false
	}
	rapid.Check(t, func(t *rapid.T) {
		path := rapid.StringMatching(`([ab]/){0,2}[ab]|`)
		scope := rapid.SliceOfN(path, 0, 3)
		a, b, p := scope.Draw(t, "a"), scope.Draw(t, "b"), path.Draw(t, "path")
		require.Equal(t, under(p, a) && under(p, b), under(p, access(a...).Narrow(access(b...)).Write))
	})
}

// A child is prepared when its call is the next one: it knows what the calls before it have taught its parent.
func TestSubAgentWaitsForTheCallsBeforeIt(t *testing.T) {
	t.Parallel()
	b := newBundle(t, callsOf("look", "task", "look", "task"))
	secret := flow.NewLabel(flow.Confidential, flow.Trusted)
	b.delegate(b.Session, sessions.SubAgentPlan{}, nil)
	setTools(b.Session, append(b.Tools(), sessions.Tool{
		Spec: sessions.ToolSpec{Name: "look"}, Flow: sessions.ToolFlow{Reads: sessions.FlowSession, Writes: sessions.FlowNone},
		Run: func(context.Context, sessions.Caller, json.RawMessage) (sessions.ToolResult, error) {
			return sessions.ToolResult{Text: "seen", Label: secret}, nil
		},
	}))
	b.Append(user("do all"))
	_, err := step(t.Context(), b.Session)
	require.NoError(t, err)
	for _, results := range []int{1, 3, 4} {
		pending := pendingOf(t, b.Session)
		for _, p := range pending {
			require.Equal(t, secret.Level(), p.Session().Taint().Level())
			p.Complete()
		}
		require.Len(t, pending, min(results-1, 1))
		_, err = b.ConfirmAndExecuteTools(t.Context(), sessions.Caller{}, confirm(b.PendingToolCalls()), pending...)
		require.NoError(t, err)
		require.Len(t, b.Last().Parts, results, "calls behind a child that is not prepared stay open")
	}
	require.Nil(t, b.PendingToolCalls())
}

// A call takes effect when its child starts, so before that it is confirmed, judged and stored, once.
func TestSubAgentStartsAfterTheVerdict(t *testing.T) {
	t.Parallel()
	b := asked(t, sessions.SubAgentPlan{}, nil)
	ruling, effects := sessions.RulingRun, 0
	b.SetMonitor(&judge{call: func(c sessions.MonitoredCall, effect bool) sessions.CallVerdict {
		if effect {
			effects++
		}
		return sessions.CallVerdict{Ruling: ruling, Reason: "no", Args: c.Args}
	}})
	pending, err := b.PendingSubAgentToolCalls(t.Context(), sessions.Caller{}, nil)
	require.NoError(t, err)
	require.Nil(t, pending, "nobody has confirmed a call")
	require.Zero(t, b.store.Commits())

	pending, err = b.PendingSubAgentToolCalls(t.Context(), sessions.Caller{}, []sessions.Confirmation{{CallID: "a", Approved: true}})
	require.NoError(t, err)
	require.Len(t, pending, 1)
	require.False(t, b.IsDirty(b.Last().ID), "the call is stored")
	require.Equal(t, 1, effects)
	pending[0].Fail(errors.New("no luck"))
	_, err = b.ConfirmAndExecuteTools(t.Context(), sessions.Caller{}, confirm(b.PendingToolCalls()), pending...)
	require.NoError(t, err)
	require.Equal(t, "no luck", b.Last().Parts[0].Text)
	require.Equal(t, 1, effects, "it is not judged again")

	ruling = sessions.RulingRefuse
	pending = pendingOf(t, b.Session)
	require.Len(t, pending, 1)
	require.Nil(t, pending[0].Session())
	_, err = b.ConfirmAndExecuteTools(t.Context(), sessions.Caller{}, confirm(b.PendingToolCalls()), pending...)
	require.NoError(t, err)
	require.Equal(t, "no", b.Last().Parts[1].Text)
	require.Equal(t, 2, effects)
	require.Equal(t, []string{"a"}, b.ran, "a refused call is not planned")
}

// A plan can give the child to someone who works it later: the call does not wait for the child.
func TestSubAgentIsStartedForLater(t *testing.T) {
	t.Parallel()
	var started []sessions.Record
	fails := errors.New("too many at work")
	b := asked(t, sessions.SubAgentPlan{Description: "a look", Start: func(_ context.Context, child sessions.Record) (sessions.ToolResult, error) {
		if started = append(started, child); len(started) == 2 {
			return sessions.ToolResult{}, fails
		}
		return sessions.ToolResult{Text: "accepted", Label: flow.NewLabel(flow.Internal, flow.Trusted)}, nil
	}}, nil)
	pending := pendingOf(t, b.Session)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, pending[0].Start(ended), "it has started all the same")
	require.ErrorIs(t, pending[1].Start(ended), context.Canceled)
	require.False(t, pending[1].IsComplete())
	require.NoError(t, pending[0].Start(t.Context()))
	require.Len(t, started, 2, "once it has a result, it does not start again")
	fails = errors.New("none left")
	started = started[:1]
	require.NoError(t, pending[1].Start(t.Context()))
	pending[0].Complete()
	_, err := b.ConfirmAndExecuteTools(t.Context(), sessions.Caller{}, confirm(b.PendingToolCalls()), pending...)
	require.NoError(t, err)
	require.Equal(t, []string{"accepted", "none left"}, []string{b.Last().Parts[0].Text, b.Last().Parts[1].Text})
	require.True(t, b.Last().Parts[1].Error)
	require.Equal(t, flow.Internal, b.Taint().Level())
	child := started[0]
	require.Equal(t, []any{b.Record().ID, "a look", sessions.MessageID("")}, []any{child.SpawnedBy, child.Title.Raw(), child.Head}, "whoever starts it gives it the task")
	_, err = b.store.Session(t.Context(), child.ID)
	require.ErrorIs(t, err, sessions.ErrNotFound, "and stores it")
}

// A call that is refused after its child was prepared does not start, and its result is the reason.
func TestSubAgentIsRefusedBeforeItStarts(t *testing.T) {
	t.Parallel()
	var started []sessions.Record
	b := asked(t, sessions.SubAgentPlan{Start: func(_ context.Context, child sessions.Record) (sessions.ToolResult, error) {
		started = append(started, child)
		return sessions.ToolResult{Text: "accepted", Label: flow.Bottom()}, nil
	}}, nil)
	pending := pendingOf(t, b.Session)
	again := func(c ...sessions.Confirmation) {
		same, err := b.PendingSubAgentToolCalls(t.Context(), sessions.Caller{}, c)
		require.NoError(t, err)
		require.Equal(t, pending, same)
	}
	again() // prepared calls have been decided about
	require.NoError(t, pending[1].Start(t.Context()))
	again(sessions.Confirmation{CallID: "a", Reason: "changed my mind"}, sessions.Confirmation{CallID: "b", Reason: "too late"})
	require.NoError(t, pending[0].Start(t.Context()))
	require.Len(t, started, 1)
	rejected, err := b.ConfirmAndExecuteTools(t.Context(), sessions.Caller{}, nil, pending...)
	require.NoError(t, err)
	require.False(t, rejected)
	require.Equal(t, []string{"changed my mind", "accepted"}, []string{b.Last().Parts[0].Text, b.Last().Parts[1].Text})
	require.True(t, b.Last().Parts[0].Error)
}
