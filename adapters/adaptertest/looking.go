package adaptertest

import (
	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/sessions"
)

var looking = []subtest{
	{"a person's id leads to the direct chat", findPerson},
	{"a conversation's id leads to it, and says of what kind it is", findConversation},
	{"nobody of the name is a permanent failure", findNobody},
	{"members are people, not more than asked for", members},
}

func findPerson(w *world) {
	directory := able[adapters.Directory](w)
	route, err := directory.Find(w.t.Context(), string(w.Person(0).ID))
	require.NoError(w.t, err)
	require.Equal(w.t, w.adapter.Channel(), route.Channel)
	require.Equal(w.t, w.adapter.Account(), route.Account)
	require.Equal(w.t, w.Direct().ChatType, route.ChatType)
	require.Equal(w.t, w.Direct().Conversation, route.Conversation)
	w.send(out("dlv_1", route, "there you are"))
	w.shown(w.Direct(), 1)
}

func findConversation(w *world) {
	directory := able[adapters.Directory](w)
	for _, place := range []sessions.Route{w.Direct(), w.Group()} {
		if place.IsZero() {
			continue
		}
		route, err := directory.Find(w.t.Context(), string(place.Conversation))
		require.NoError(w.t, err)
		require.Equal(w.t, place.ChatType, route.ChatType)
		require.Equal(w.t, place.Conversation, route.Conversation)
	}
}

func findNobody(w *world) {
	directory := able[adapters.Directory](w)
	for _, name := range []string{"#no_such_place", "@no_such_person", ""} {
		_, err := directory.Find(w.t.Context(), name)
		require.Error(w.t, err, name)
		require.Equal(w.t, adapters.Permanent, adapters.AsFailure(err).Kind, name)
	}
}

func members(w *world) {
	directory := able[adapters.Directory](w)
	w.needs(!w.Group().IsZero(), "groups")
	all, err := directory.Members(w.t.Context(), w.Group(), 100)
	require.NoError(w.t, err)
	require.NotEmpty(w.t, all)
	for _, p := range all {
		require.NotEmpty(w.t, p.ID)
	}
	one, err := directory.Members(w.t.Context(), w.Group(), 1)
	require.NoError(w.t, err)
	require.Len(w.t, one, 1)
}
