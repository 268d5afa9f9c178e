package telegram_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/adapters/telegram/telegramtest"
	"sluice/sessions"
)

// field is one parameter of a call.
func field(t *testing.T, params json.RawMessage, name string) string {
	t.Helper()
	var all map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(params, &all))
	return string(all[name])
}

func TestPublicChatsAreFoundByName(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, nil)
	s.srv.Join(telegramtest.Chat{ID: -1009, Type: "channel", Title: "News", Username: "the_news"})
	for _, name := range []string{"@the_news", "-1009"} {
		route, err := s.adapter.Find(t.Context(), name)
		require.NoError(t, err)
		require.Equal(t, sessions.Route{
			Channel: "telegram", Account: "default", ChatType: sessions.Channel, Conversation: "-1009", Title: "News",
		}, route)
	}
	_, err := s.adapter.Find(t.Context(), "@a/../getMe")
	require.Equal(t, adapters.Permanent, adapters.AsFailure(err).Kind)
	require.Len(t, s.srv.Calls("getChat"), 2, "what can't be a name is not asked for")
}

func TestADirectChatHasOneMember(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, nil)
	s.srv.Join(telegramtest.Private(1001))
	people, err := s.adapter.Members(t.Context(), direct("1001"), 10)
	require.NoError(t, err)
	require.Len(t, people, 1)
	require.Equal(t, sessions.UserID("1001"), people[0].ID)
}
