package sessions_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"sluice/policy/flow"
	"sluice/sessions"
	"sluice/sessions/sessiontest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAnswerIsStoredWithItsQuestion(t *testing.T) {
	t.Parallel()
	b := newBundle(t, sessiontest.Says("hello there"))
	b.Append(user("hi"))
	text, err := step(t.Context(), b.Session)
	require.NoError(t, err)
	require.Equal(t, "hello there", text)
	require.True(t, b.Dirty())
	require.NoError(t, b.Persist(t.Context()))
	require.False(t, b.Dirty())
	require.NoError(t, b.Persist(t.Context()), "persisting twice stores once")
	require.Equal(t, 1, b.store.Commits())

	again := b.load(t)
	messages := again.Messages()
	require.Len(t, messages, 2)
	require.Equal(t, "hi", messages[0].Text())
	require.Equal(t, "hello there", messages[1].Text())
	require.Equal(t, messages[0].ID, messages[1].Parent)
	require.Equal(t, "test/scripted", messages[1].Model)
	require.Equal(t, 10+len("hello there"), again.Record().ContextSize)
}

func TestToolStepProtocol(t *testing.T) {
	t.Parallel()
	b := newBundle(t, sessiontest.Calls("count", "{}", "a", "b"), sessiontest.Says("done"))
	b.Append(user("count twice"))
	_, err := step(t.Context(), b.Session)
	require.NoError(t, err)
	open := b.PendingToolCalls()
	require.Len(t, open, 2)

	rejected, err := b.ConfirmAndExecuteTools(t.Context(), sessions.Caller{}, []sessions.Confirmation{
		{CallID: "b", Approved: true}, {CallID: "a", Reason: "not today"},
	})
	require.NoError(t, err)
	require.False(t, rejected)
	require.Equal(t, []string{"b"}, b.ran)
	results := b.Last()
	require.Equal(t, sessions.RoleToolResult, results.Role)
	require.Equal(t, []string{"a", "b"}, []string{results.Parts[0].CallID, results.Parts[1].CallID}, "results stand in the order of the calls")
	require.True(t, results.Parts[0].Error)
	require.Equal(t, "not today", results.Parts[0].Text)
	require.Equal(t, flow.NewLabel(flow.Internal, flow.Untrusted), b.Taint(), "what a tool has read taints the session")
	require.Nil(t, b.PendingToolCalls())

	_, err = step(t.Context(), b.Session)
	require.NoError(t, err)
	require.Equal(t, flow.NewLabel(flow.Internal, flow.Untrusted), b.Last().Label)
}

func TestConfirmationsMustMatchTheCalls(t *testing.T) {
	t.Parallel()
	for name, confirmations := range map[string][]sessions.Confirmation{
		"missing":   {{CallID: "a", Approved: true}},
		"duplicate": {{CallID: "a", Approved: true}, {CallID: "a", Approved: true}},
		"unknown":   {{CallID: "a", Approved: true}, {CallID: "b", Approved: true}, {CallID: "c", Approved: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBundle(t, sessiontest.Calls("count", "{}", "a", "b"))
			b.Append(user("count"))
			_, err := step(t.Context(), b.Session)
			require.NoError(t, err)
			_, err = b.ConfirmAndExecuteTools(t.Context(), sessions.Caller{}, confirmations)
			require.Error(t, err)
			require.Empty(t, b.ran, "nothing runs")
		})
	}
	b := newBundle(t)
	_, err := b.ConfirmAndExecuteTools(t.Context(), sessions.Caller{}, nil)
	require.ErrorIs(t, err, sessions.ErrNoToolCall)
}

// A process that dies between two calls has stored the first one's result; the second is reported as interrupted.
func TestToolRunsAtMostOnceAcrossCrashes(t *testing.T) {
	t.Parallel()
	for fail := 1; fail <= 3; fail++ {
		for _, late := range []bool{false, true} {
			t.Run(fmt.Sprintf("commit %d late=%v", fail, late), func(t *testing.T) {
				t.Parallel()
				b := newBundle(t, sessiontest.Calls("count", "{}", "a", "b", "c"))
				b.Append(user("count"))
				require.NoError(t, b.Persist(t.Context()))
				_, err := step(t.Context(), b.Session)
				require.NoError(t, err)
				b.store.FailAt(fail, late)
				_, err = b.ConfirmAndExecuteTools(t.Context(), sessions.Caller{}, confirm(b.PendingToolCalls()))
				require.ErrorIs(t, err, sessiontest.ErrFault)

				again := b.load(t)
				ran := len(b.ran)
				open := again.PendingToolCalls()
				require.LessOrEqual(t, ran, 3-len(open)+1, "of the open calls only the first may have begun")
				again.ResolveInterrupted()
				require.Nil(t, again.PendingToolCalls())
				require.Len(t, b.ran, ran, "nothing runs again")
				if len(open) > 0 {
					require.Len(t, again.Last().Parts, 3, "each call has one result")
				}
				require.LessOrEqual(t, ran, 3)
			})
		}
	}
}

func TestConflictWritesNothing(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.Append(user("one"))
	require.NoError(t, b.Persist(t.Context()))
	other := b.load(t)
	other.Append(user("from another writer"))
	require.NoError(t, other.Persist(t.Context()))

	b.Append(user("two"))
	require.ErrorIs(t, b.Persist(t.Context()), sessions.ErrConflict)
	require.ErrorIs(t, b.Reload(t.Context(), false), sessions.ErrDirty)
	require.NoError(t, b.Reload(t.Context(), true))
	require.Len(t, b.Messages(), 2)
	b.Append(user("two"))
	require.NoError(t, b.Persist(t.Context()))
	require.Len(t, b.load(t).Messages(), 3)
}

func TestFailedCompletionLeavesTheThread(t *testing.T) {
	t.Parallel()
	b := newBundle(t, func(_ context.Context, _ sessions.Request, on func(sessions.Chunk)) (sessions.Completion, error) {
		on(sessions.Chunk{Type: sessions.PartText, Text: "half an ans"})
		return sessions.Completion{}, &sessions.ModelError{Kind: sessions.ModelCut, Err: errors.New("cut")}
	}, func(context.Context, sessions.Request, func(sessions.Chunk)) (sessions.Completion, error) {
		panic("model")
	})
	b.Append(user("hi"))
	for range 2 {
		_, err := step(t.Context(), b.Session)
		require.Error(t, err)
		require.Len(t, b.Messages(), 1)
		require.Nil(t, b.CurrentParts())
	}
}

func TestCurrentPartsWhileStreaming(t *testing.T) {
	t.Parallel()
	proceed := make(chan struct{})
	b := newBundle(t, func(_ context.Context, _ sessions.Request, on func(sessions.Chunk)) (sessions.Completion, error) {
		on(sessions.Chunk{Type: sessions.PartThinking, Text: "hm"})
		on(sessions.Chunk{Type: sessions.PartText, Text: "one "})
		on(sessions.Chunk{Type: sessions.PartText, Text: "two"})
		<-proceed
		return sessions.Completion{Parts: []sessions.Part{{Type: sessions.PartText, Text: "one two"}}}, nil
	})
	b.Append(user("hi"))
	require.Nil(t, b.CurrentParts())
	steps, cancel := b.RequestCompletion(t.Context())
	defer cancel()
	for range 3 {
		<-steps
	}
	parts := b.CurrentParts()
	require.Len(t, parts, 2)
	require.Equal(t, "one two", parts[1].Text)
	parts[1].Text = "changed" // a copy
	require.Equal(t, "one two", b.CurrentParts()[1].Text)

	_, busy := step(t.Context(), b.Session)
	require.ErrorIs(t, busy, sessions.ErrStepBusy)
	close(proceed)
	for range steps {
	}
	require.Equal(t, "one two", b.Last().Text())
}

// A reader that goes away without reading must not keep the goroutine; a cancelled step still ends with one Done.
func TestCancelEndsTheStep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, func(ctx context.Context, _ sessions.Request, on func(sessions.Chunk)) (sessions.Completion, error) {
			for range 100 {
				on(sessions.Chunk{Type: sessions.PartText, Text: "x"})
			}
			<-ctx.Done()
			return sessions.Completion{}, ctx.Err()
		})
		b.Append(user("hi"))
		steps, cancel := b.RequestCompletion(t.Context())
		cancel()
		cancel()
		synctest.Wait()
		done := 0
		for st := range steps {
			if st.Done {
				done++
				require.ErrorIs(t, st.Err, context.Canceled)
			}
		}
		require.Equal(t, 1, done)
	})
}

func TestModelMustBeClearedForTheSession(t *testing.T) {
	t.Parallel()
	b := newBundle(t, sessiontest.Says("secret"))
	b.model.Level = flow.Internal
	m := user("the plan")
	m.Parts[0].Label = flow.NewLabel(flow.Confidential, flow.Trusted)
	b.Append(m)
	_, err := step(t.Context(), b.Session)
	require.ErrorIs(t, err, sessions.ErrModelLevel)
	require.Empty(t, b.model.Asked(), "the model saw nothing")
}

func TestEditsAreStored(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.Append(user("one"), user("two"), user("three"))
	require.NoError(t, b.Persist(t.Context()))
	ids := b.Messages()
	require.NoError(t, b.SetContent(ids[0].ID, "first", flow.NewLabel(flow.Confidential, flow.Trusted)))
	require.True(t, b.IsDirty(ids[0].ID))
	require.False(t, b.IsDirty(ids[1].ID))
	require.Equal(t, flow.Confidential, b.Taint().Level(), "an edit taints too")
	require.ErrorIs(t, b.SetContent("msg_none", "x", flow.Bottom()), sessions.ErrNotFound)
	require.NoError(t, b.Persist(t.Context()))
	require.Equal(t, "first", b.load(t).Messages()[0].Text())
}

func TestCompaction(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	for i := range 6 {
		b.Append(user(fmt.Sprintf("question %d", i)), sessions.Message{Role: sessions.RoleAssistant, Parts: []sessions.Part{sessions.TextPart("answer", flow.Bottom())}})
	}
	require.ErrorIs(t, b.Compact("too early", 4), sessions.ErrDirty)
	require.NoError(t, b.Persist(t.Context()))
	n := b.CompactionPoint(40)
	require.Positive(t, n)
	require.Equal(t, sessions.RoleUser, b.Messages()[n].Role, "what is kept begins with a question")
	require.NoError(t, b.Compact("they asked things", n))
	b.Append(user("and now?"))
	require.NoError(t, b.Persist(t.Context()))
	want := b.Messages()
	require.Equal(t, sessions.RoleSummary, want[0].Role)
	require.Equal(t, want, b.load(t).Messages())

	require.NoError(t, b.Compact("they asked more", b.CompactionPoint(0)))
	require.NoError(t, b.Persist(t.Context()))
	got := b.load(t).Messages()
	require.Len(t, got, 2)
	require.Equal(t, "they asked more", got[0].Text())
	require.Equal(t, "and now?", got[1].Text())
	require.Zero(t, b.CompactionPoint(0), "a summary of a summary gains nothing")
}

// Whatever happens to commits, a session in memory and the stored one agree once a Persist succeeds.
func TestPersistProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		b := newBundle(t)
		var want []string
		for range rapid.IntRange(1, 12).Draw(rt, "steps") {
			switch rapid.SampledFrom([]string{"append", "edit", "persist", "fail", "reload"}).Draw(rt, "op") {
			case "append":
				want = append(want, fmt.Sprint("text ", len(want)))
				b.Append(user(want[len(want)-1]))
			case "edit":
				if i := rapid.IntRange(0, len(want)).Draw(rt, "which"); i < len(want) {
					want[i] += " edited"
					require.NoError(rt, b.SetContent(b.Messages()[i].ID, want[i], flow.Bottom()))
				}
			case "persist":
				require.NoError(rt, b.Persist(t.Context()))
			case "fail":
				if b.Dirty() {
					b.store.FailAt(1, false)
					require.ErrorIs(rt, b.Persist(t.Context()), sessiontest.ErrFault)
				}
			case "reload":
				if !b.Dirty() {
					require.NoError(rt, b.Reload(t.Context(), false))
				}
			}
		}
		require.NoError(rt, b.Persist(t.Context()))
		var got []string
		for _, m := range b.load(t).Messages() {
			got = append(got, m.Text())
		}
		require.Equal(rt, want, got)
	})
}
