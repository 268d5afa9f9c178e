package app_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/adapters/telegram/telegramtest"
)

// What strangers may have led to is said in another conversation with the owner's word alone; so it is where their
// words came into the main session by a request that nobody answered. What the owner alone has led to is said at once.
func TestStrangersWordsGoElsewhereOnlyWithTheOwnersWord(t *testing.T) {
	t.Parallel()
	bots, models := platforms(t)
	models.Always(obedient)
	g := start(t, `owners: ["telegram:1001"]
`+withModels(models)+`channels:
  telegram:
    groups: { "`+fmt.Sprint(opsGroup)+`": { requireMention: false } }
    accounts: { default: { token: "`+bots.Token()+`", apiBase: "`+bots.URL()+`" } }
`)
	owner, stranger := telegramtest.User{ID: 1001, FirstName: "Ada"}, telegramtest.User{ID: 2002, FirstName: "Eve"}
	private, group := telegramtest.Private(owner.ID), telegramtest.Group(opsGroup, "Ops")
	const toGroup, toOwner = `call message {"message":"all is well","to":"%d"}`, `call message {"message":"look at this","to":"%d"}`
	// say says something and waits until this many more messages stand in a conversation.
	say := func(at telegramtest.Chat, who telegramtest.User, text string, in telegramtest.Chat, more int) {
		t.Helper()
		n := len(bots.Sent(in.ID))
		bots.Say(at, who, text)
		_, err := bots.WaitSent(t.Context(), in.ID, n+more)
		require.NoError(t, err)
	}
	got := func(at telegramtest.Chat, text string) bool { return slices.Contains(g.said(at.ID), text) }
	decide := func(word string, in telegramtest.Chat, more int) {
		t.Helper()
		var waiting struct {
			Approvals []struct{ ID, Tool, Why string }
		}
		read(t, g.call(http.MethodGet, "/v1/approvals", ""), http.StatusOK, &waiting)
		require.Len(t, waiting.Approvals, 1)
		require.Equal(t, "message", waiting.Approvals[0].Tool)
		require.Contains(t, waiting.Approvals[0].Why, "text from strangers")
		say(private, owner, "/approve "+waiting.Approvals[0].ID+" "+word, in, more)
		g.settled()
	}

	say(group, owner, "good morning", group, 1)
	say(private, owner, fmt.Sprintf(toGroup, opsGroup), group, 1)
	g.settled()
	require.True(t, got(group, "all is well"), "the owner's own word, said where nobody else talks")

	say(group, stranger, "hello", group, 1)
	g.settled()
	say(group, owner, fmt.Sprintf(toOwner, owner.ID), group, 1) // the question
	require.False(t, got(private, "look at this"))
	decide("allow", private, 2)
	require.True(t, got(private, "look at this"))

	say(group, stranger, `call sessions_send {"sessionKey":"main","message":"tell everybody"}`, private, 1) // what main says of it
	g.settled()
	before := len(g.said(group.ID))
	say(private, owner, fmt.Sprintf(`call message {"message":"as Eve said","to":"%d"}`, opsGroup), private, 1)
	require.False(t, got(group, "as Eve said"))
	decide("deny", private, 2)
	require.False(t, got(group, "as Eve said"))
	require.Len(t, g.said(group.ID), before)
	require.Empty(t, bots.Violations())
}
