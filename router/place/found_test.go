package place

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/sessions"
)

// A group counts under its oldest id. What one attempt has read of it is not read again, unless it could not be read.
func TestFoundIsReadOnce(t *testing.T) {
	t.Parallel()
	s := newSettings(ChannelSettings{GroupPolicy: AccessOpen})
	in := inGroup("new", "", "ann", false)
	old := in.Route
	old.Conversation = "old"
	newStore := func() *fakeStore {
		return &fakeStore{
			records: []sessions.Record{{ID: "sess_1", Key: s.Keyer.Key("main", old, "")}}, older: map[sessions.ConversationID]sessions.ConversationID{"new": "old"},
		}
	}
	for _, found := range []*Found{nil, {}} {
		store := newStore()
		places := newPlaces(store, s)
		in.Found = found
		for _, broken := range []string{"CanonicalConversation", "SessionByKey"} {
			store.broken = broken
			_, _, err := places.SessionFor(t.Context(), s, in, false)
			require.ErrorIs(t, err, errBroken)
		}
		store.broken = ""
		how, err := places.Access(t.Context(), s, in, false)
		require.NoError(t, err)
		require.Equal(t, AdmitHistory, how)
		if found != nil {
			store.broken = "SessionByKey"
		}
		record, fresh, err := places.SessionFor(t.Context(), s, in, false)
		require.NoError(t, err)
		require.False(t, fresh)
		require.Equal(t, sessions.ID("sess_1"), record.ID)
		store.broken = "CanonicalConversation"
		oldest, err := places.oldestOf(t.Context(), in)
		if found == nil {
			require.ErrorIs(t, err, errBroken, "nothing is kept")
			continue
		}
		require.NoError(t, err)
		require.Equal(t, sessions.ConversationID("old"), oldest)
	}
	store := newStore()
	store.broken = "CanonicalConversation"
	_, err := newPlaces(store, s).SessionAt(t.Context(), s, "", in.Route, "ann")
	require.ErrorIs(t, err, errBroken)
}
