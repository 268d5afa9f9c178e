package adaptertest

import (
	"github.com/stretchr/testify/require"

	"sluice/adapters"
)

var revising = []subtest{
	{"an edit shows, an unchanged one is no error", editOut},
	{"a deleted message is gone, deleting it again is no error", deleteOut},
	{"a reaction shows once, and goes", reactOut},
	{"a reaction on what somebody said", reactOnSaid},
}

func editOut(w *world) {
	editor := able[adapters.Editor](w)
	id := w.send(out("dlv_1", w.Direct(), "one")).MessageID
	for range 2 {
		require.NoError(w.t, editor.Edit(w.t.Context(), id, out("dlv_1", w.Direct(), "**two** & more")))
	}
	shown := w.shown(w.Direct(), 1)[0]
	require.Equal(w.t, id, shown.ID)
	require.Equal(w.t, "two & more", shown.Plain)
	require.True(w.t, shown.Edited)
}

func deleteOut(w *world) {
	deleter := able[adapters.Deleter](w)
	id := w.send(out("dlv_1", w.Direct(), "one")).MessageID
	w.send(out("dlv_2", w.Direct(), "two"))
	for range 2 {
		require.NoError(w.t, deleter.Delete(w.t.Context(), w.Direct(), id))
	}
	require.Equal(w.t, "two", w.shown(w.Direct(), 1)[0].Plain)
}

func reactOut(w *world) {
	reactor := able[adapters.Reactor](w)
	id := w.send(out("dlv_1", w.Direct(), "one")).MessageID
	for range 2 {
		require.NoError(w.t, reactor.React(w.t.Context(), w.Direct(), id, adapters.Reaction{Emoji: "👀"}))
		require.Equal(w.t, []string{"👀"}, w.shown(w.Direct(), 1)[0].Reactions)
	}
	for range 2 {
		require.NoError(w.t, reactor.React(w.t.Context(), w.Direct(), id, adapters.Reaction{Emoji: "👀", Removed: true}))
		require.Empty(w.t, w.shown(w.Direct(), 1)[0].Reactions)
	}
}

func reactOnSaid(w *world) {
	reactor := able[adapters.Reactor](w)
	w.warm()
	said := w.Say(w.Direct(), w.Person(0), "look")
	in := w.only(w.Direct(), w.Person(0))
	require.NoError(w.t, reactor.React(w.t.Context(), in.Route, said.ID, adapters.Reaction{Emoji: "👀"}))
	require.Empty(w.t, w.until(w.Direct(), w.Person(0)), "the bot does not hear its own reaction")
}
