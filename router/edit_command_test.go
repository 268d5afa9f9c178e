package router_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/sessions"
)

// /edit is answered on a branch exactly once, after a crash at any commit.
func TestEditCommandSurvivesDeaths(t *testing.T) {
	t.Parallel()
	everyDeath(t, nil, func(t *testing.T, b *bundle) {
		first := b.insist(in("ann", "1", "one"))
		b.settle()
		b.insist(in("ann", "2", "/edit two"))
		b.settle()
		require.Equal(t, map[string]int{" > one": 1, "one > echo: one": 1, " > two": 1, "two > echo: two": 1}, b.tree(first.Session))
		require.Equal(t, []string{"user: two", "assistant: echo: two"}, b.thread(first.Session))
		require.Equal(t, []string{"echo: one", "echo: two"}, b.chat.texts("ann"))
	})
}

// A message that still waits is replaced and never answered as it was. The platform's own edit and /edit follow each other.
func TestEditCommandOfAWaitingMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		release := b.busy()
		first := b.hear(in("ann", "1", "one"))
		synctest.Wait()
		waits := b.hear(in("ann", "2", "tow"))
		b.hear(in("ann", "3", "/edit two"))
		b.hear(edited(in("ann", "2", ""), 1, "three"))
		last := b.hear(in("ann", "4", "/edit four"))
		release()
		require.Equal(t, sessions.RunDone, b.ended(last.Run).Status)
		require.Equal(t, sessions.RunAborted, b.ended(waits.Run).Status)
		b.await(2)
		require.Equal(t, []string{"user: one", "assistant: echo: one", "user: four", "assistant: echo: four"}, b.thread(first.Session))
		b.hear(edited(in("ann", "2", ""), 5, "five"))
		b.await(1)
		synctest.Wait()
		require.Equal(t, []string{"user: one", "assistant: echo: one", "user: five", "assistant: echo: five"}, b.thread(first.Session))
	})
}

// In a group, only the author of the last message and an owner edit it. The message keeps its files and what it quotes.
func TestWhoMayEdit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, func(b *bundle) {
			b.settings.Channels["test"] = place.ChannelSettings{GroupPolicy: place.AccessOpen}
		})
		asked := inGroup("g", "ann", "1", "one", true)
		asked.Quotations = []sessions.Quotation{{Kind: sessions.QuoteReply, Text: "quoted"}}
		first := b.hear(asked)
		b.await(1)
		got := b.hear(inGroup("g", "bob", "2", "/edit two", true))
		require.Equal(t, ledger.OutcomeCommand, got.Outcome)
		require.Contains(t, got.Notice, "Only the author")
		b.await(1)
		run := b.ended(b.hear(inGroup("g", "ann", "3", "/edit three", true)).Run)
		require.Equal(t, asked.Quotations, run.Input.Quotations)
		b.await(1)
		owners := b.ended(b.hear(inGroup("g", "owner", "4", "/edit four", true)).Run)
		b.await(1)
		require.False(t, owners.Input.Owner, "others have written what the message quotes")
		record, err := b.store.Session(t.Context(), first.Session)
		require.NoError(t, err)
		thread, err := b.store.Thread(t.Context(), record)
		require.NoError(t, err)
		require.Len(t, thread, 2)
		require.Contains(t, thread[0].Text(), "four")
		require.Equal(t, sessions.UserID("owner"), thread[0].Sender.ID)
		require.Equal(t, owners.ID, thread[0].Run)
	})
}

// A session that several chats share: a message is edited where it was sent.
func TestEditCommandFromAnotherChat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, func(b *bundle) { b.settings.Keyer = sessions.Keyer{Scope: sessions.ScopeMain} })
		first := b.hear(in("owner", "1", "one"))
		b.await(1)
		other := in("owner", "2", "/edit two")
		other.Route.Conversation, other.Event = "chat-elsewhere", "chat-elsewhere/2"
		require.Contains(t, b.hear(other).Notice, "sent in another chat")
		b.await(1)
		require.Equal(t, []string{"user: one", "assistant: echo: one"}, b.thread(first.Session))
	})
}

// A file that comes with /edit is not lost in silence: its sender reads that it has to be sent again.
func TestEditCommandWithAFile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		first := b.hear(in("ann", "1", "one"))
		b.await(1)
		with := in("ann", "2", "/edit two")
		with.Attachments = []sessions.Attachment{{Kind: "photo", Name: "a.png", Ref: "f1"}}
		require.Contains(t, b.hear(with).Notice, "can't add a file")
		b.await(1)
		require.Equal(t, []string{"user: one", "assistant: echo: one"}, b.thread(first.Session))
	})
}
