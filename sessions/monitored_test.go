package sessions_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/sessions"
	"sluice/sessions/sessiontest"
)

// judge is a monitor that says what a test wants, and counts what is recorded.
type judge struct {
	reach   func(context.Context, sessions.MonitoredCall) sessions.Reach
	call    func(c sessions.MonitoredCall, effects bool) sessions.CallVerdict
	counted []string // call ids that were judged with effects
}

func (j *judge) Reach(ctx context.Context, c sessions.MonitoredCall) sessions.Reach {
	return j.reach(ctx, c)
}

func (j *judge) Call(c sessions.MonitoredCall, effects bool) sessions.CallVerdict {
	if effects {
		j.counted = append(j.counted, c.CallID)
	}
	return j.call(c, effects)
}

func (*judge) Response(_ sessions.MonitoredCall, r sessions.Response) (sessions.Response, []sessions.AuditEntry) {
	return r, nil
}

func (*judge) Model(sessions.Record, sessions.Model) (bool, []sessions.AuditEntry) { return true, nil }

// judged is a session with open calls of a tool that tells its arguments.
func judged(t *testing.T, j *judge, calls ...string) (b *bundle, args map[string]string) {
	t.Helper()
	b, args = newBundle(t, sessiontest.Calls("tell", `{"text":"all"}`, calls...), sessiontest.Says("done")), map[string]string{}
	b.SetAgent(sessions.Agent{ID: "main", Tools: []sessions.Tool{{
		Spec: sessions.ToolSpec{Name: "tell"}, Flow: sessions.ToolFlow{Reads: sessions.FlowSession, Writes: sessions.FlowSession},
		Run: func(_ context.Context, caller sessions.Caller, raw json.RawMessage) (sessions.ToolResult, error) {
			b.ran = append(b.ran, caller.CallID)
			args[caller.CallID] = string(raw)
			return sessions.ToolResult{Text: "told", Label: caller.Taint}, nil
		},
	}}})
	b.SetMonitor(j)
	require.NoError(t, b.SetPermission(sessions.PermissionAuto))
	b.Append(user("tell"))
	_, err := step(t.Context(), b.Session)
	require.NoError(t, err)
	return b, args
}

// results are the results of the calls so far, by call.
func results(s *sessions.Session) map[string]string {
	texts := map[string]string{}
	for _, p := range s.Last().Parts {
		texts[p.CallID] = p.Text
	}
	return texts
}

// The tool gets the arguments that the monitor lets through.
func TestToolGetsWhatTheMonitorLetsThrough(t *testing.T) {
	t.Parallel()
	j := &judge{call: func(sessions.MonitoredCall, bool) sessions.CallVerdict {
		return sessions.CallVerdict{Args: json.RawMessage(`{"text":"[redacted]"}`)}
	}}
	b, args := judged(t, j, "a")
	_, err := b.ConfirmAndExecuteTools(t.Context(), sessions.Caller{}, nil)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"a": `{"text":"[redacted]"}`}, args)
	require.Equal(t, []string{"a"}, j.counted, "it is recorded once")
}

// What the monitor refuses when the call is about to run does not run, and the model reads why.
func TestMonitorHasTheLastWord(t *testing.T) {
	t.Parallel()
	j := &judge{call: func(_ sessions.MonitoredCall, effects bool) sessions.CallVerdict {
		if effects {
			return sessions.CallVerdict{Ruling: sessions.RulingRefuse, Reason: "too late"}
		}
		return sessions.CallVerdict{}
	}}
	b, _ := judged(t, j, "a")
	rejected, err := b.ConfirmAndExecuteTools(t.Context(), sessions.Caller{}, nil)
	require.NoError(t, err)
	require.True(t, rejected)
	require.Empty(t, b.ran)
	require.Equal(t, map[string]string{"a": "too late"}, results(b.Session))
}

// A call that the monitor refuses at once is recorded too; a person's reason is told before the monitor's.
func TestRefusedCallsAreRecorded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		said []sessions.Confirmation
		want string
	}{
		"nobody said anything":   {nil, "a rule"},
		"somebody said no":       {[]sessions.Confirmation{{CallID: "a", Reason: "my no"}}, "my no"},
		"somebody said only no":  {[]sessions.Confirmation{{CallID: "a"}}, "a rule"},
		"a yes lifts no refusal": {[]sessions.Confirmation{{CallID: "a", Approved: true, Reason: "please"}}, "a rule"},
	} {
		j := &judge{call: func(sessions.MonitoredCall, bool) sessions.CallVerdict {
			return sessions.CallVerdict{Ruling: sessions.RulingRefuse, Reason: "a rule"}
		}}
		b, _ := judged(t, j, "a")
		_, err := b.ConfirmAndExecuteTools(t.Context(), sessions.Caller{}, c.said)
		require.NoError(t, err, name)
		require.Empty(t, b.ran, name)
		require.Equal(t, map[string]string{"a": c.want}, results(b.Session), name)
		require.Equal(t, []string{"a"}, j.counted, name)
	}
}

// Calls that need no approval run before the first one that does. All of them run once it is approved.
func TestCallsBeforeTheFirstQuestion(t *testing.T) {
	t.Parallel()
	asks := func(c sessions.MonitoredCall, _ bool) sessions.CallVerdict {
		if c.CallID == "b" && !c.Approved {
			return sessions.CallVerdict{Ruling: sessions.RulingAsk, Reason: "a rule asks"}
		}
		return sessions.CallVerdict{Args: c.Args}
	}
	b, _ := judged(t, &judge{call: asks}, "a", "b", "c")
	_, err := b.ExecuteUntilApproval(t.Context(), sessions.Caller{}, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, b.ran)
	_, err = b.ExecuteUntilApproval(t.Context(), sessions.Caller{}, nil)
	require.ErrorIs(t, err, sessions.ErrNoToolCall, "the first open one waits for consent")
	_, err = b.ConfirmAndExecuteTools(t.Context(), sessions.Caller{}, nil)
	require.ErrorContains(t, err, `"b" (tell) is not confirmed`)
	_, err = b.ConfirmAndExecuteTools(t.Context(), sessions.Caller{}, confirm(b.PendingToolCalls()))
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b", "c"}, b.ran)
}

// A text that is given instead of a call stands in its place; an error ends the step before the call is begun.
func TestSkippedCalls(t *testing.T) {
	t.Parallel()
	run := func(sessions.MonitoredCall, bool) sessions.CallVerdict { return sessions.CallVerdict{} }
	j := &judge{call: run}
	b, _ := judged(t, j, "a", "b")
	b.SetSkip(func(context.Context) (string, error) { return "a new message has come", nil })
	rejected, err := b.ConfirmAndExecuteTools(t.Context(), sessions.Caller{}, nil)
	require.NoError(t, err)
	require.True(t, rejected)
	require.Empty(t, b.ran)
	require.Empty(t, j.counted, "what does not run is not recorded")
	require.Equal(t, map[string]string{"a": "a new message has come", "b": "a new message has come"}, results(b.Session))

	b, _ = judged(t, &judge{call: run}, "a")
	stop := errors.New("stop")
	b.SetSkip(func(context.Context) (string, error) { return "", stop })
	_, err = b.ConfirmAndExecuteTools(t.Context(), sessions.Caller{}, nil)
	require.ErrorIs(t, err, stop)
	require.Empty(t, b.ran)
	require.Len(t, b.PendingToolCalls(), 1)
}

// Each call of an answer has an id of its own, whatever the model gave it.
func TestCallsGetIDsOfTheirOwn(t *testing.T) {
	t.Parallel()
	b := newBundle(t, sessiontest.Calls("count", "{}", "a", "", "a", "b", ""))
	b.Append(user("count"))
	_, err := step(t.Context(), b.Session)
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, c := range b.PendingToolCalls() {
		require.NotEmpty(t, c.CallID)
		require.False(t, seen[c.CallID], c.CallID)
		seen[c.CallID] = true
	}
	require.Len(t, seen, 5)
	require.True(t, seen["a"] && seen["b"], "a good one stays")
}

// The tokens of all completions add up in the record; its context size is that of the last one.
func TestTokensAddUp(t *testing.T) {
	t.Parallel()
	b := newBundle(t, sessiontest.Says("four"), sessiontest.Says("seven77"))
	for range 2 {
		b.Append(user("say"))
		_, err := step(t.Context(), b.Session)
		require.NoError(t, err)
	}
	require.Equal(t, sessions.Usage{InputTokens: 20, OutputTokens: 11}, b.Record().Usage)
	require.Equal(t, 17, b.Record().ContextSize)
}

func TestOtherTools(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	setTools(b.Session, []sessions.Tool{{Spec: sessions.ToolSpec{Name: "other"}}})
	require.Len(t, b.Tools(), 1)
	require.Equal(t, "other", b.Tools()[0].Spec.Name)
	_, ok := b.Tool("count")
	require.False(t, ok)
}

// What a caller does with the messages that it is given changes nothing in the session.
func TestMessagesAreCopies(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	m := user("look")
	m.Parts = append(m.Parts, sessions.Part{Type: sessions.PartText, Args: json.RawMessage(`{"a":1}`), Attachment: &sessions.Attachment{Name: "a.png"}})
	b.Append(m)
	for _, got := range []sessions.Message{b.Last(), b.Messages()[0]} {
		got.Parts[1].Attachment.Name, got.Parts[1].Args[2], got.Parts[0].Text = "changed", 'b', "changed"
	}
	last := b.Last()
	require.Equal(t, "a.png", last.Parts[1].Attachment.Name)
	require.Equal(t, []byte(`{"a":1}`), []byte(last.Parts[1].Args))
	require.Equal(t, "look", last.Parts[0].Text)
}

func TestMessagesAreReplaced(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.Append(user("one"))
	id := b.Last().ID
	other := sessions.Message{Role: sessions.RoleAssistant, Model: "m", Parts: []sessions.Part{sessions.TextPart("two", flow.Bottom())}}
	require.NoError(t, b.SetMessage(id, other))
	require.Equal(t, "two", b.Last().Text())
	require.Equal(t, sessions.RoleAssistant, b.Last().Role)
	require.NoError(t, b.SetParts(id, []sessions.Part{sessions.TextPart("three", flow.Bottom())}))
	require.Equal(t, "three", b.Last().Text())
	require.Error(t, b.SetMessage("msg_nowhere", other))
	require.Error(t, b.SetParts("msg_nowhere", nil))
	require.Equal(t, "three", b.Last().Text())
}

// What is kept begins with what somebody said, has at most the size that was asked for, arguments of calls included, and
// at least the newest message of a person.
func TestWhereAThreadIsCut(t *testing.T) {
	t.Parallel()
	thread := func(args string) *bundle {
		b := newBundle(t)
		b.Append(user("u0"), sessions.Message{Role: sessions.RoleAssistant, Parts: []sessions.Part{sessions.TextPart("a0", flow.Bottom())}})
		b.Append(user("u1"),
			sessions.Message{Role: sessions.RoleAssistant, Parts: []sessions.Part{{Type: sessions.PartToolCall, CallID: "c", Tool: "count", Args: json.RawMessage(args), Label: flow.Bottom()}}},
			sessions.Message{Role: sessions.RoleToolResult, Parts: []sessions.Part{{Type: sessions.PartToolResult, CallID: "c", Text: "r", Label: flow.Bottom()}}})
		b.Append(user("u2"))
		return b
	}
	require.Equal(t, 2, thread(`{}`).CompactionPoint(1000), "the first message is never all that is summed up")
	require.Equal(t, 2, thread(`{}`).CompactionPoint(len("u1{}ru2")))
	require.Equal(t, 5, thread(`{}`).CompactionPoint(len("u1{}ru2")-1))
	require.Equal(t, 5, thread(`{"long":"`+string(make([]byte, 100))+`"}`).CompactionPoint(50))
	require.Equal(t, 5, thread(`{}`).CompactionPoint(0))

	b := thread(`{}`)
	for _, n := range []int{-1, 0, 6, 7} {
		require.ErrorIs(t, b.Compact("in short", n), sessions.ErrNothingToCompact, "%d of 6", n)
	}
	require.NoError(t, b.Persist(t.Context()))
	require.NoError(t, b.Compact("in short", 5))
	require.Equal(t, "in short", b.Messages()[0].Text())
	require.Zero(t, b.CompactionPoint(0), "a summary of a summary alone gains nothing")
}

// A commit that failed is looked for: one that the store does not have is made again.
func TestFailedCommitIsMadeAgain(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.Append(user("hello"))
	b.store.FailAt(1, false)
	require.ErrorIs(t, b.Persist(t.Context()), sessiontest.ErrFault)
	require.NoError(t, b.Persist(t.Context()))
	require.Equal(t, "hello", b.load(t).Last().Text())

	b.Append(user("again"))
	b.store.FailAt(1, false)
	require.ErrorIs(t, b.Persist(t.Context()), sessiontest.ErrFault)
	b.clock = b.clock.Add(time.Second)
	require.NoError(t, b.Persist(t.Context()))
	require.Equal(t, "again", b.load(t).Last().Text())
}

// A session that another process has made in the meantime is continued after it is read again.
func TestReloadOfASessionThatAnotherMade(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	other := sessions.NewSession(b.store, b.Record(), func() time.Time { return b.clock })
	b.Append(user("first"))
	require.NoError(t, b.Persist(t.Context()))
	require.NoError(t, other.Reload(t.Context(), true))
	other.Append(user("second"))
	require.NoError(t, other.Persist(t.Context()))
	require.Len(t, b.load(t).Messages(), 2)
}

// callsOf is an answer that calls tools, once each in this order. The id of a call is its place.
func callsOf(tools ...string) sessiontest.Answer {
	return func(context.Context, sessions.Request, func(sessions.Chunk)) (sessions.Completion, error) {
		var c sessions.Completion
		for i, tool := range tools {
			c.Parts = append(c.Parts, sessions.Part{Type: sessions.PartToolCall, CallID: strconv.Itoa(i), Tool: tool, Args: json.RawMessage(`{}`)})
		}
		return c, nil
	}
}

// Only calls of sub-agents' tools are prepared.
func TestOtherCallsHaveNoSubAgent(t *testing.T) {
	t.Parallel()
	b := newBundle(t, callsOf("task", "count", "unknown"))
	count, _ := b.Tool("count")
	b.delegate(b.Session, sessions.SubAgentPlan{Task: "look"}, nil)
	setTools(b.Session, append(b.Tools(), count))
	b.Append(user("do all"))
	_, err := step(t.Context(), b.Session)
	require.NoError(t, err)
	pending, err := b.PendingSubAgentToolCalls(t.Context(), sessions.Caller{}, confirm(b.PendingToolCalls()))
	require.NoError(t, err)
	require.Len(t, pending, 1)
}

// A branch that ends with open calls can be gone back to, and they are still open.
func TestSwitchToOpenCalls(t *testing.T) {
	t.Parallel()
	b := newBundle(t, sessiontest.Calls("count", "{}", "a"))
	b.Append(user("count"))
	_, err := step(t.Context(), b.Session)
	require.NoError(t, err)
	thread := b.Messages()
	require.NoError(t, b.Branch(t.Context(), ""))
	b.Append(user("another"))
	require.Nil(t, b.PendingToolCalls())
	require.NoError(t, b.Switch(t.Context(), thread[0].ID))
	require.Equal(t, thread, b.Messages())
	require.Len(t, b.PendingToolCalls(), 1)
}

// Calls are open only at the end of the thread.
func TestCallsThatNobodyAnsweredAreNotOpenLater(t *testing.T) {
	t.Parallel()
	b := newBundle(t, sessiontest.Calls("count", "{}", "a"))
	b.Append(user("count"))
	_, err := step(t.Context(), b.Session)
	require.NoError(t, err)
	b.Append(user("never mind"))
	require.Nil(t, b.PendingToolCalls())
	rejected, err := b.ConfirmAndExecuteTools(t.Context(), sessions.Caller{}, nil)
	require.ErrorIs(t, err, sessions.ErrNoToolCall)
	require.False(t, rejected, "nothing was rejected")
}

// A session whose id another one has got is never taken for stored.
func TestAnotherSessionHasTheID(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	record := b.Record()
	record.Key = "agent:main:other"
	other := sessions.NewSession(b.store, record, func() time.Time { return b.clock })
	b.store.FailAt(1, false)
	require.ErrorIs(t, b.Persist(t.Context()), sessiontest.ErrFault)
	require.NoError(t, other.Persist(t.Context()))
	require.Error(t, b.Persist(t.Context()))
	require.Equal(t, sessions.Key("agent:main:other"), b.load(t).Record().Key)
}

// A sub-agent is the same one after a restart, also when another call of the answer has got its result in the meantime.
func TestSubAgentIsFoundBehindOtherResults(t *testing.T) {
	t.Parallel()
	b := newBundle(t, callsOf("look", "task"))
	equip := func(s *sessions.Session) {
		b.delegate(s, sessions.SubAgentPlan{Task: "look"}, nil)
		setTools(s, append(s.Tools(), sessions.Tool{
			Spec: sessions.ToolSpec{Name: "look"}, Flow: sessions.ToolFlow{Reads: sessions.FlowSession, Writes: sessions.FlowNone},
			Run: func(_ context.Context, caller sessions.Caller, _ json.RawMessage) (sessions.ToolResult, error) {
				return sessions.ToolResult{Text: "seen", Label: caller.Taint}, nil
			},
		}))
	}
	equip(b.Session)
	b.Append(user("do both"))
	_, err := step(t.Context(), b.Session)
	require.NoError(t, err)
	require.Nil(t, pendingOf(t, b.Session), "the other call comes first")
	_, err = b.ExecuteUntilApproval(t.Context(), sessions.Caller{}, nil)
	require.NoError(t, err)
	before := pendingOf(t, b.Session)
	require.Len(t, before, 1)
	again := b.load(t)
	equip(again)
	after := pendingOf(t, again)
	require.Len(t, after, 1)
	require.Equal(t, before[0].Session().Record().ID, after[0].Session().Record().ID)
}

func TestQuotationsAreTheSame(t *testing.T) {
	t.Parallel()
	q := sessions.Quotation{Kind: sessions.QuoteForward, From: sessions.Peer{ID: "1"}, Text: "x", Files: []string{"a"}}
	require.True(t, q.Same(q))
	for name, change := range map[string]func(*sessions.Quotation){
		"kind": func(o *sessions.Quotation) { o.Kind = sessions.QuoteReply }, "from": func(o *sessions.Quotation) { o.From.ID = "2" },
		"text": func(o *sessions.Quotation) { o.Text = "y" }, "files": func(o *sessions.Quotation) { o.Files = nil },
	} {
		other := q
		change(&other)
		require.False(t, q.Same(other), name)
	}
}

// Without somebody who keeps it, what the operator is to know is forgotten.
func TestNoTrail(t *testing.T) {
	t.Parallel()
	var trail *sessions.Trail
	require.NotPanics(t, func() { trail.Add(sessions.AuditEntry{}) })
}

// Where calls go is looked up with the session unlocked and the caller's context: once for the question, and once more when a
// call is about to run. The end of the context is an error, and nothing runs.
func TestReachIsLookedUpWithoutTheLock(t *testing.T) {
	t.Parallel()
	looked := 0
	var reached []sessions.Reach
	j := &judge{call: func(c sessions.MonitoredCall, _ bool) sessions.CallVerdict {
		reached = append(reached, c.Reach)
		return sessions.CallVerdict{Args: c.Args}
	}}
	b, _ := judged(t, j, "a")
	j.reach = func(ctx context.Context, c sessions.MonitoredCall) sessions.Reach {
		require.Equal(t, "a", c.CallID)
		require.JSONEq(t, `{"text":"all"}`, string(c.Args))
		require.Equal(t, b.Taint(), c.Record.Taint, "the session is not locked")
		require.NoError(t, ctx.Err())
		looked++
		return sessions.ReachHere
	}
	tools := b.Tools()
	tools[0].Beyond = func(context.Context, sessions.Caller, json.RawMessage) (bool, error) { return false, nil }
	setTools(b.Session, tools)
	asked, err := b.CallsToConfirm(t.Context())
	require.NoError(t, err)
	require.Empty(t, asked)
	_, err = b.ExecuteUntilApproval(t.Context(), sessions.Caller{}, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, b.ran)
	require.Equal(t, 2, looked)
	require.NotContains(t, reached, sessions.ReachUnknown)

	b, _ = judged(t, j, "a")
	setTools(b.Session, tools)
	ctx, stop := context.WithCancelCause(t.Context())
	over := errors.New("the run was stopped")
	j.reach = func(ctx context.Context, _ sessions.MonitoredCall) sessions.Reach {
		stop(over)
		<-ctx.Done()
		return sessions.ReachUnknown
	}
	_, err = b.CallsToConfirm(ctx)
	require.ErrorIs(t, err, over)
	_, err = b.ConfirmAndExecuteTools(ctx, sessions.Caller{}, nil)
	require.ErrorIs(t, err, over)
	require.Empty(t, b.ran)
}

// A call that turns out to go elsewhere when it is about to run waits: nobody was asked about it.
func TestCallThatReachesFurtherThanItSeemed(t *testing.T) {
	t.Parallel()
	reach := sessions.ReachHere
	j := &judge{
		reach: func(context.Context, sessions.MonitoredCall) sessions.Reach { return reach },
		call: func(c sessions.MonitoredCall, _ bool) sessions.CallVerdict {
			if c.Reach != sessions.ReachHere && !c.Approved {
				return sessions.CallVerdict{Ruling: sessions.RulingAsk}
			}
			return sessions.CallVerdict{Args: c.Args}
		},
	}
	for _, later := range []sessions.Reach{sessions.ReachBeyond, sessions.ReachUnknown} {
		reach = sessions.ReachHere
		b, _ := judged(t, j, "a")
		tools := b.Tools()
		tools[0].Beyond = func(context.Context, sessions.Caller, json.RawMessage) (bool, error) { return false, nil }
		setTools(b.Session, tools)
		asked, err := b.CallsToConfirm(t.Context())
		require.NoError(t, err)
		require.Empty(t, asked)
		reach = later
		_, err = b.ConfirmAndExecuteTools(t.Context(), sessions.Caller{}, confirm(b.PendingToolCalls()))
		require.NoError(t, err)
		require.Empty(t, b.ran, "a message before the question is not an answer to it")
		asked, err = b.CallsToConfirm(t.Context())
		require.NoError(t, err)
		require.Len(t, asked, 1)
		_, err = b.ConfirmAndExecuteTools(t.Context(), sessions.Caller{}, confirm(b.PendingToolCalls()))
		require.NoError(t, err)
		require.Equal(t, []string{"a"}, b.ran)
	}
}
