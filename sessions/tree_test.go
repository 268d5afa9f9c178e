package sessions_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/sessions"
	"sluice/sessions/sessiontest"
)

func says(text string) sessions.Message {
	return sessions.Message{Role: sessions.RoleAssistant, Parts: []sessions.Part{sessions.TextPart(text, flow.Bottom())}}
}

// talk appends n questions and answers and gives all ids.
func (b *bundle) talk(n int) (ids []sessions.MessageID) {
	for i := range n {
		b.Append(user(fmt.Sprint("question ", i)), says(fmt.Sprint("answer ", i)))
	}
	for _, m := range b.Messages() {
		ids = append(ids, m.ID)
	}
	return ids
}

func TestEditIsABranch(t *testing.T) {
	t.Parallel()
	b := newBundle(t, sessiontest.Says("another answer"))
	ids := b.talk(2)
	require.NoError(t, b.Persist(t.Context()))
	edited, err := b.Edit(t.Context(), ids[2], []sessions.Part{sessions.TextPart("a better question", flow.Bottom())})
	require.NoError(t, err)
	_, err = step(t.Context(), b.Session)
	require.NoError(t, err)
	require.NoError(t, b.Persist(t.Context()))
	require.Equal(t, []string{"question 0", "answer 0", "a better question", "another answer"}, texts(b.load(t).Messages()))

	branches, err := b.Branches(t.Context(), edited)
	require.NoError(t, err)
	require.Len(t, branches, 2)
	require.Equal(t, "question 1", branches[0].Message.Text())
	require.Equal(t, sessions.Branch{Message: branches[1].Message, Position: 2, Count: 2, Selected: true}, branches[1])
	beginnings, err := b.Branches(t.Context(), "")
	require.NoError(t, err)
	require.Equal(t, []sessions.Branch{{Message: b.Messages()[0], Position: 1, Count: 1, Selected: true}}, beginnings)
	require.NoError(t, b.Switch(t.Context(), ids[2]))
	require.Equal(t, []string{"question 0", "answer 0", "question 1", "answer 1"}, texts(b.Messages()))
}

func TestRetryAndUndo(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	ids := b.talk(3)
	require.NoError(t, b.Retry(t.Context(), ""))
	require.Equal(t, ids[4], b.Record().Head, "the question is to be answered again")
	require.NoError(t, b.Retry(t.Context(), ids[3]))
	require.Equal(t, ids[2], b.Record().Head)
	require.NoError(t, b.Switch(t.Context(), ids[0]))
	undone, err := b.Undo(t.Context(), 2)
	require.NoError(t, err)
	require.Equal(t, 2, undone)
	require.Equal(t, []string{"question 0", "answer 0"}, texts(b.Messages()))
	undone, err = b.Undo(t.Context(), 5)
	require.NoError(t, err)
	require.Equal(t, 1, undone)
	require.Empty(t, b.Messages())
	_, err = b.Undo(t.Context(), 1)
	require.ErrorIs(t, err, sessions.ErrNoTurn)
	require.ErrorIs(t, b.Retry(t.Context(), ""), sessions.ErrNoTurn)
	_, err = b.Undo(t.Context(), 0)
	require.ErrorContains(t, err, "want at least 1")
	require.NoError(t, b.Persist(t.Context()))
	require.NoError(t, b.Switch(t.Context(), ids[0]), "what was undone is in the tree")
	require.Len(t, b.Messages(), 6)
}

func TestSwitchAboveASummary(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	ids := b.talk(4)
	require.NoError(t, b.Persist(t.Context()))
	require.NoError(t, b.Compact("the first two", 4))
	require.NoError(t, b.Persist(t.Context()))
	below := []string{"the first two", "question 2", "answer 2", "question 3", "answer 3"}
	require.Equal(t, below, texts(b.Messages()))

	edited, err := b.Edit(t.Context(), ids[2], []sessions.Part{sessions.TextPart("instead", flow.Bottom())})
	require.NoError(t, err)
	require.Equal(t, []string{"question 0", "answer 0", "instead"}, texts(b.Messages()), "the summary says nothing of this branch")
	require.NoError(t, b.Persist(t.Context()))
	require.Equal(t, []string{"question 0", "answer 0", "instead"}, texts(b.load(t).Messages()))

	require.NoError(t, b.Switch(t.Context(), ids[2]))
	require.Equal(t, below, texts(b.Messages()))
	branches, err := b.Branches(t.Context(), edited)
	require.NoError(t, err)
	require.True(t, branches[0].Selected, "also where the summary hides it")
	require.False(t, branches[1].Selected)
	require.NoError(t, b.Branch(t.Context(), ids[3]))
	require.Equal(t, []string{"the first two"}, texts(b.Messages()))
	undone, err := b.Undo(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, 1, undone)
	require.Equal(t, []string{"question 0", "answer 0"}, texts(b.Messages()))
}

// Calls have run once: a branch at the message that asked for them would let them run again.
func TestNoBranchBetweenCallsAndResults(t *testing.T) {
	t.Parallel()
	b := newBundle(t, sessiontest.Calls("count", "{}", "a"), sessiontest.Says("done"))
	b.Append(user("count"))
	for range 2 {
		_, err := step(t.Context(), b.Session)
		require.NoError(t, err)
		if calls := b.PendingToolCalls(); calls != nil {
			_, err = b.ConfirmAndExecuteTools(t.Context(), sessions.Caller{}, confirm(calls))
			require.NoError(t, err)
		}
	}
	thread := b.Messages()
	require.Len(t, thread, 4)
	require.ErrorIs(t, b.Branch(t.Context(), thread[1].ID), sessions.ErrOpenCalls)
	require.Equal(t, thread, b.Messages())
	require.NoError(t, b.Branch(t.Context(), thread[2].ID), "behind the results")
	_, err := b.Edit(t.Context(), thread[2].ID, nil)
	require.ErrorContains(t, err, "toolResult")
	require.NoError(t, b.Retry(t.Context(), ""))
	require.Equal(t, thread[0].ID, b.Record().Head)
	require.Equal(t, []string{"a"}, b.ran)
}

func TestMovesNameWhatIsNotThere(t *testing.T) {
	t.Parallel()
	b := newBundle(t)
	b.talk(1)
	for name, move := range map[string]func() error{
		"branch":   func() error { return b.Branch(t.Context(), "msg_none") },
		"switch":   func() error { return b.Switch(t.Context(), "msg_none") },
		"retry":    func() error { return b.Retry(t.Context(), "msg_none") },
		"edit":     func() error { _, err := b.Edit(t.Context(), "msg_none", nil); return err },
		"branches": func() error { _, err := b.Branches(t.Context(), "msg_none"); return err },
	} {
		err := move()
		require.ErrorIs(t, err, sessions.ErrNotFound, name)
		require.ErrorContains(t, err, "msg_none", name)
		require.Len(t, b.Messages(), 2)
	}
}
