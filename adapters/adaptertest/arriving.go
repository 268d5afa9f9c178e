package adaptertest

import (
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/sessions"
)

var arriving = []subtest{
	{"a direct message comes once, normalised", directMessage},
	{"in a group only who addresses the bot means it", groupMessages},
	{"an answer to the bot means it", replyToBot},
	{"what is forwarded is quoted, not said", forwarded},
	{"a message with a field that can't be read comes all the same", garbled},
	{"and holds up none of those that were missed", garbledMissed},
	{"an event that comes again has the same name", redelivered},
	{"a thread's answer goes to the thread", threads},
	{"the bot does not hear itself", ownWords},
	{"a command of the platform's menu is a message, its answer private", menuCommand},
}

// requireFrom checks the origin of a message.
func requireFrom(w *world, in adapters.Inbound, said Said, from sessions.Peer) {
	w.t.Helper()
	want := said.Place
	require.NotEmpty(w.t, in.Event)
	require.Equal(w.t, w.adapter.Channel(), in.Route.Channel)
	require.Equal(w.t, w.adapter.Account(), in.Route.Account)
	require.Equal(w.t, want.ChatType, in.Route.ChatType)
	require.Equal(w.t, want.Conversation, in.Route.Conversation)
	require.Equal(w.t, want.Thread, in.Route.Thread)
	require.Equal(w.t, said.ID, in.MessageID)
	require.Equal(w.t, said.ID, in.Route.ReplyTo, "an answer can refer to the message")
	require.Equal(w.t, from.ID, in.Sender.ID)
	require.Equal(w.t, from.Name, in.Sender.Name)
	require.False(w.t, in.Sender.Bot)
	require.WithinDuration(w.t, time.Now(), in.SentAt, time.Minute)
}

func directMessage(w *world) {
	w.warm()
	said := w.Say(w.Direct(), w.Person(0), "Grüße & <b>Küsse</b> *x* 😀")
	in := w.only(w.Direct(), w.Person(0))
	requireFrom(w, in, said, w.Person(0))
	require.Equal(w.t, "Grüße & <b>Küsse</b> *x* 😀", in.Text)
	require.True(w.t, in.Mentioned)
	require.False(w.t, in.Edited || in.Deleted || in.Press != "")
	require.Nil(w.t, in.Reaction)
}

func groupMessages(w *world) {
	w.needs(!w.Group().IsZero(), "groups")
	w.warm()
	for text, meant := range map[string]bool{"good morning": false, w.Mention() + " good morning": true} {
		said := w.Say(w.Group(), w.Person(1), text)
		in := w.only(w.Group(), w.Person(1))
		requireFrom(w, in, said, w.Person(1))
		require.Equal(w.t, "good morning", in.Text, "the bot's own name is taken out")
		require.Equal(w.t, meant, in.Mentioned, text)
	}
}

func replyToBot(w *world) {
	w.needs(!w.Group().IsZero() && w.limits.Replies, "answers to a message in groups")
	w.warm()
	place := w.Group()
	place.ReplyTo = w.send(out("dlv_1", w.Group(), "What do you think?")).MessageID
	w.Say(place, w.Person(1), "a lot")
	in := w.only(w.Group(), w.Person(2))
	require.True(w.t, in.Mentioned)
	require.Equal(w.t, "a lot", in.Text)
	require.Len(w.t, in.Quotations, 1)
	require.Equal(w.t, sessions.QuoteReply, in.Quotations[0].Kind)
	require.Equal(w.t, "What do you think?", in.Quotations[0].Text)
}

func forwarded(w *world) {
	w.needs(w.limits.Forwards, "forwarded messages")
	w.warm()
	places := []sessions.Route{w.Direct()}
	if !w.Group().IsZero() {
		places = append(places, w.Group())
	}
	for _, place := range places {
		said := w.Forward(place, w.Person(0), w.Person(2), "/send off "+w.Mention())
		in := w.only(place, w.Person(0))
		requireFrom(w, in, said, w.Person(0))
		require.Empty(w.t, in.Text, "its sender has said nothing")
		require.Len(w.t, in.Quotations, 1)
		q := in.Quotations[0]
		require.Equal(w.t, sessions.QuoteForward, q.Kind)
		require.True(w.t, strings.HasPrefix(q.Text, "/send off"), q.Text)
		if q.From != (sessions.Peer{}) { // a platform may hide the writer
			require.Equal(w.t, w.Person(2).ID, q.From.ID)
		}
		require.Equal(w.t, place.ChatType == sessions.Direct, in.Mentioned, "a mention in somebody else's words does not address the bot")
	}
}

func garbled(w *world) {
	garbler, ok := w.Platform.(Garbler)
	w.needs(ok, "remote side")
	w.warm()
	said := garbler.SayGarbled(w.Direct(), w.Person(0), "/send off")
	in := w.only(w.Direct(), w.Person(0))
	requireFrom(w, in, said, w.Person(0))
	require.Equal(w.t, "/send off", in.Text)
	require.NotEmpty(w.t, in.Unread, "so that the gateway takes it for untrusted and no command")
	w.confirmed(said)
}

// garbledMissed lets people write while the adapter is disconnected, so that it reads all messages at once. The order
// may change only if the platform spreads its events over several connections.
func garbledMissed(w *world) {
	garbler, ok := w.Platform.(Garbler)
	w.needs(ok && !w.limits.Posts, "messages that wait for the adapter")
	w.warm()()
	w.Say(w.Direct(), w.Person(0), "before")
	garbler.SayGarbled(w.Direct(), w.Person(0), "garbled")
	w.Say(w.Direct(), w.Person(0), "after")
	w.runAs(w.Adapter(w.t))
	var came []string
	for range 3 {
		in := w.inbox.next(w.t)
		came = append(came, in.Text)
		require.Equal(w.t, in.Text == "garbled", in.Unread != "", in.Unread)
	}
	want := []string{"before", "garbled", "after"}
	if w.limits.Overtakes {
		require.ElementsMatch(w.t, want, came)
	} else {
		require.Equal(w.t, want, came)
	}
}

func redelivered(w *world) {
	w.warm()
	said := w.Say(w.Direct(), w.Person(0), "once")
	first := w.only(w.Direct(), w.Person(0))
	w.Redeliver(said)
	require.Empty(w.t, w.until(w.Direct(), w.Person(0)), "no event with another name")
	require.LessOrEqual(w.t, w.inbox.times(first.Event), 2)
}

func threads(w *world) {
	w.needs(!w.Thread().IsZero(), "threads")
	w.warm()
	said := w.Say(w.Thread(), w.Person(1), w.Mention()+" in here")
	in := w.only(w.Thread(), w.Person(1))
	requireFrom(w, in, said, w.Person(1))
	receipt := w.send(out("dlv_1", in.Route, "yes, here"))
	require.Equal(w.t, receipt.MessageID, w.shown(w.Thread(), 1)[0].ID)
	require.Empty(w.t, w.Shown(w.Group()), "not beside the thread")
}

func ownWords(w *world) {
	w.warm()
	w.send(out("dlv_1", w.Direct(), "I talk to myself"))
	require.Empty(w.t, w.until(w.Direct(), w.Person(0)))
}

func menuCommand(w *world) {
	w.needs(w.limits.Commands, "menu of commands")
	w.warm()
	said := w.Command(w.Group(), w.Person(1), "status", "now please")
	in := w.inbox.next(w.t)
	require.Equal(w.t, "/status now please", in.Text)
	require.True(w.t, in.Mentioned)
	require.Equal(w.t, w.Person(1).ID, in.Sender.ID)
	require.Equal(w.t, w.Group().Conversation, in.Route.Conversation)
	require.NotEmpty(w.t, in.Route.Handle)
	w.confirmed(said)
	w.send(out("dlv_1", in.Route, "all is well"))
	shown := w.shown(w.Group(), 1)[0]
	require.True(w.t, shown.Private, "only who asked sees it")
	require.Equal(w.t, "all is well", shown.Plain)
}
