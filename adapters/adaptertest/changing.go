package adaptertest

import (
	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/sessions"
)

var changing = []subtest{
	{"an edit is an event of its own", editedIn},
	{"a message taken back is an event of its own", deletedIn},
	{"reactions of people come, and go", reactedIn},
}

func editedIn(w *world) {
	w.needs(w.limits.Edits, "edits that a bot is told of")
	w.warm()
	said := w.Say(w.Direct(), w.Person(0), "frist")
	first := w.only(w.Direct(), w.Person(0))
	w.Edit(said, "first")
	in := w.only(w.Direct(), w.Person(0))
	require.True(w.t, in.Edited)
	require.Equal(w.t, "first", in.Text)
	require.Equal(w.t, said.ID, in.MessageID)
	require.NotEqual(w.t, first.Event, in.Event)
}

func deletedIn(w *world) {
	w.needs(w.limits.Deletes, "deletions that a bot is told of")
	w.warm()
	said := w.Say(w.Direct(), w.Person(0), "never mind")
	first := w.only(w.Direct(), w.Person(0))
	w.Delete(said)
	in := w.only(w.Direct(), w.Person(0))
	require.True(w.t, in.Deleted)
	require.Empty(w.t, in.Text)
	require.Equal(w.t, said.ID, in.MessageID)
	require.NotEqual(w.t, first.Event, in.Event)
}

func reactedIn(w *world) {
	w.needs(w.limits.Reactions, "reactions that a bot is told of")
	w.warm()
	said := w.Say(w.Direct(), w.Person(0), "look")
	w.only(w.Direct(), w.Person(0))
	own := w.send(out("dlv_1", w.Direct(), "I see")).MessageID
	names := map[string]bool{}
	for _, want := range []struct {
		id sessions.PlatformMessageID
		r  adapters.Reaction
	}{
		{said.ID, adapters.Reaction{Emoji: "👍"}},
		{own, adapters.Reaction{Emoji: "👍", Own: true}},
		{own, adapters.Reaction{Emoji: "👍", Removed: true, Own: true}},
		{own, adapters.Reaction{Emoji: "👍", Own: true}},
	} {
		w.React(w.Direct(), want.id, w.Person(0), adapters.Reaction{Emoji: want.r.Emoji, Removed: want.r.Removed})
		in := w.only(w.Direct(), w.Person(0))
		require.Equal(w.t, &want.r, in.Reaction)
		require.Equal(w.t, want.id, in.MessageID)
		require.Equal(w.t, w.Person(0).ID, in.Sender.ID)
		require.Empty(w.t, in.Text)
		names[in.Event] = true
	}
	require.Len(w.t, names, 4, "each is an event of its own")
}
