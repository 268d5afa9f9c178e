package router_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/router/ledger"
	"sluice/sessions"
)

// tree is all that a session's conversation has, each message with the text of the one before it.
func (b *bundle) tree(id sessions.ID) map[string]int {
	b.t.Helper()
	found := map[string]int{}
	var walk func(parent sessions.MessageID, text string)
	walk = func(parent sessions.MessageID, text string) {
		children, err := b.store.Children(context.Background(), id, parent)
		require.NoError(b.t, err)
		for _, m := range children {
			found[text+" > "+m.Text()]++
			walk(m.ID, m.Text())
		}
	}
	walk("", "")
	return found
}

// The newest message that is edited gets another version beside the old one, which is answered again;
// after a crash at any commit, there is one of each.
func TestEditIsAnsweredOnABranch(t *testing.T) {
	t.Parallel()
	everyDeath(t, nil, func(t *testing.T, b *bundle) {
		b.insist(in("ann", "1", "one"))
		first := b.insist(in("ann", "2", "tow"))
		b.settle()
		b.insist(edited(in("ann", "2", ""), 1, "two"))
		b.settle()
		require.Equal(t, []string{"user: one", "assistant: echo: one", "user: two", "assistant: echo: two"}, b.thread(first.Session))
		require.Equal(t, map[string]int{
			" > one": 1, "one > echo: one": 1, "echo: one > tow": 1, "tow > echo: tow": 1, "echo: one > two": 1, "two > echo: two": 1,
		}, b.tree(first.Session))
		require.Equal(t, []string{"echo: one", "echo: tow", "echo: two"}, b.chat.texts("ann"))
	})
}

// An edit of what is not the newest message any more is an ordinary message, and so is one from an older session.
func TestOlderEditIsAnOrdinaryMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		b.hear(in("ann", "1", "one"))
		first := b.hear(in("ann", "2", "two"))
		b.await(2)
		b.hear(edited(in("ann", "1", ""), 1, "won"))
		b.await(1)
		synctest.Wait()
		require.Equal(t, []string{
			"user: one", "assistant: echo: one", "user: two", "assistant: echo: two", "user: won", "assistant: echo: won",
		}, b.thread(first.Session))
		fresh := b.hear(in("ann", "3", "/new hello"))
		b.await(1)
		b.hear(edited(in("ann", "2", ""), 1, "too"))
		b.await(1)
		synctest.Wait()
		require.Equal(t, []string{"user: hello", "assistant: echo: hello", "user: too", "assistant: echo: too"}, b.thread(fresh.Session))
	})
}

// A message may be edited again: when the edit was answered, and while it waits.
func TestEditOfAnEdit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		first := b.hear(in("ann", "1", "one"))
		b.await(1)
		b.hear(edited(in("ann", "1", ""), 1, "two"))
		b.await(1)
		synctest.Wait()
		release := b.busy()
		b.hear(edited(in("ann", "1", ""), 2, "three"))
		synctest.Wait()
		b.hear(edited(in("ann", "1", ""), 3, "four"))
		waits := b.hear(edited(in("ann", "1", ""), 4, "five"))
		release()
		require.Equal(t, sessions.RunDone, b.ended(waits.Run).Status)
		require.Equal(t, map[string]int{
			" > one": 1, "one > echo: one": 1, " > two": 1, "two > echo: two": 1, " > three": 1, "three > echo: three": 1, " > five": 1, "five > echo: five": 1,
		}, b.tree(first.Session))
		require.Equal(t, []string{"user: five", "assistant: echo: five"}, b.thread(first.Session))
	})
}

// /retry answers the last message again, /undo takes turns back, /branch goes to another branch: each exactly
// once, after a crash at any commit.
func TestOrdersSurviveDeaths(t *testing.T) {
	t.Parallel()
	everyDeath(t, nil, func(t *testing.T, b *bundle) {
		first := b.insist(in("ann", "1", "one"))
		b.settle()
		b.insist(in("ann", "2", "/retry"))
		b.settle()
		require.Equal(t, map[string]int{" > one": 1, "one > echo: one": 2}, b.tree(first.Session))
		b.insist(in("ann", "3", "two"))
		b.settle()
		b.insist(in("ann", "4", "/undo"))
		b.settle()
		require.Equal(t, []string{"user: one", "assistant: echo: one"}, b.thread(first.Session))
		b.insist(in("ann", "5", "/branch 1"))
		b.settle()
		record, err := b.store.Session(context.Background(), first.Session)
		require.NoError(t, err)
		thread, err := b.store.Thread(context.Background(), record)
		require.NoError(t, err)
		answers, err := b.store.Children(context.Background(), first.Session, thread[0].ID)
		require.NoError(t, err)
		require.Equal(t, answers[0].ID, thread[1].ID, "the first answer")
		require.Equal(t, []string{
			"echo: one", "echo: one", "echo: two", "I have undone the last turn.", "Continuing from branch 1.",
		}, b.chat.texts("ann"))
	})
}

func TestTreeCommands(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		say  []string
		want string
	}{
		"nothing to retry":      {[]string{"/retry"}, "nothing to answer again"},
		"nothing to edit":       {[]string{"/edit two"}, "nothing to edit"},
		"nothing left to edit":  {[]string{"one", "/undo", "/edit two"}, "nothing to edit"},
		"no new text":           {[]string{"one", "/edit"}, "Usage: `/edit TEXT`"},
		"the same text":         {[]string{"one", "/edit one"}, "already says that"},
		"an edit":               {[]string{"one", "/edit two\nlines"}, "echo: two\nlines"},
		"an edit of an edit":    {[]string{"one", "/edit two", "/edit three", "/branch"}, "1. “one” → “echo: one”\n2. “two” → “echo: two”\n3. “three” → “echo: three” (current)"},
		"nothing to undo":       {[]string{"/undo"}, "nothing to undo"},
		"nothing left to undo":  {[]string{"one", "/undo", "/undo"}, "nothing to undo"},
		"all is undone":         {[]string{"one", "/undo", "/retry"}, "nothing to answer again"},
		"several turns":         {[]string{"one", "two", "three", "/undo 2"}, "the last 2 turns"},
		"more than there are":   {[]string{"one", "/undo 9"}, "There were no more."},
		"no number":             {[]string{"one", "/undo all"}, "Usage"},
		"too many":              {[]string{"one", "/undo 101"}, "Usage"},
		"no branches":           {[]string{"one", "/branch"}, "no other branch"},
		"branches":              {[]string{"one", "/retry", "/branch"}, "1. “one” → “echo: one”\n2. “one” → “echo: one” (current)"},
		"no such branch":        {[]string{"one", "/branch 2"}, "There are 1."},
		"the agent can't":       {[]string{"one", "/compact"}, "can't summarize"},
		"a new session":         {[]string{"/branch"}, "no branches here yet"},
		"nothing to shorten":    {[]string{"/compact"}, "nothing to summarize yet"},
		"nothing used":          {[]string{"/usage"}, "no tokens were used"},
		"used":                  {[]string{"one", "/usage"}, "tokens out: less than 1,000"},
		"the agent's model":     {[]string{"one", "/model"}, "`test/model` (the agent's own)"},
		"no owner sets a model": {[]string{"one", "/model a/b"}, "Only an owner can"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBundle(t)
				for i, text := range tc.say {
					b.hear(in("ann", fmt.Sprint(i), text))
					b.await(1)
					synctest.Wait()
				}
				texts := b.chat.texts("ann")
				require.Contains(t, texts[len(texts)-1], tc.want)
			})
		})
	}
}

// A command that takes its turn waits for the run before it, and answers where sending is off.
func TestCommandWaitsForItsTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, withMode(sessions.QueueInterrupt))
		require.Contains(t, b.tell("owner", "/send off"), "Sending is off")
		release := b.busy()
		first := b.hear(in("owner", "1", "one"))
		synctest.Wait()
		undo := b.hear(in("owner", "2", "/undo"))
		time.Sleep(time.Second)
		run, err := b.store.Run(t.Context(), undo.Run)
		require.NoError(t, err)
		require.Equal(t, sessions.RunQueued, run.Status, "it neither interrupts nor overtakes")
		release()
		require.Equal(t, sessions.RunDone, b.ended(undo.Run).Status)
		b.await(1)
		require.Empty(t, b.thread(first.Session))
		texts := b.chat.texts("owner")
		require.Contains(t, texts[len(texts)-1], "undone")
	})
}

// With auto, the agent's own models replace the session's when it fails. Owners use what has failed again.
func TestModelCommandAutoAndClear(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		b.agent.failed = []string{"p/m (key1)", "q/m (key1)", "q/m (key2)"}
		run := b.hear(in("owner", "1", "hi"))
		b.await(1)
		model := func() string {
			record, err := b.store.Session(t.Context(), run.Session)
			require.NoError(t, err)
			return record.Model.Raw()
		}
		require.Contains(t, b.tell("owner", "/model auto"), "The agent's own model answers")
		require.Empty(t, model())
		b.tell("owner", "/model test/other")
		for range 2 {
			require.Contains(t, b.tell("owner", "/model auto"), "`test/other` answers from your next message on. If it fails, the agent's own models replace it: `test/model`.")
			require.Equal(t, "test/other, auto", model())
		}
		b.tell("owner", "/model test/more auto")
		require.Equal(t, "test/more, auto", model())
		b.tell("owner", "/model test/more")
		require.Equal(t, "test/more", model(), "strict again")

		require.Contains(t, b.tell("owner", "/model clear x"), "There is nothing to clear")
		require.Contains(t, b.tell("owner", "/model clear q"), "These are used again: q/m (key1), q/m (key2).")
		require.Contains(t, b.tell("owner", "/model clear"), "These are used again: p/m (key1).")
		require.Len(t, b.entries("model.clear"), 2)
		b.agent.failed = []string{"p/m (key1)"}
		b.hear(in("ann", "1", "/model clear"))
		require.Len(t, b.agent.failed, 1, "only owners")
	})
}

// The owner sets a session's model; a name that is not configured changes nothing.
func TestModelCommand(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		run := b.hear(in("owner", "1", "hi"))
		b.await(1)
		model := func() string {
			record, err := b.store.Session(t.Context(), run.Session)
			require.NoError(t, err)
			return record.Model.Raw()
		}
		require.Contains(t, b.tell("owner", "/model nobody/knows"), "No model nobody/knows")
		require.Empty(t, model())
		require.Contains(t, b.tell("owner", "/model test/other"), "`test/other` answers")
		require.Equal(t, "test/other", model())
		require.Contains(t, b.tell("owner", "/model"), "set for this session; the agent's own model is `test/model`")
		require.Contains(t, b.tell("owner", "/model default"), "`test/model`")
		require.Empty(t, model())
		require.Equal(t, ledger.OutcomeCommand, b.hear(in("owner", "9", "/model")).Outcome)
		b.await(1)
	})
}
