package slack_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/adapters/slack/slacktest"
	"sluice/sessions"
)

func TestNamesAreFoundOnAnyPage(t *testing.T) {
	t.Parallel()
	s := newSetup(t, slacktest.Options{}, nil)
	for i := range 450 {
		s.srv.Join(fmt.Sprintf("C%06d", i), slacktest.Public, fmt.Sprintf("channel-%d", i))
		s.srv.Name(slacktest.Person(i), fmt.Sprintf("Name %d", i))
	}
	s.srv.Join("C9SECRET", slacktest.Private, "secret")
	for name, want := range map[string]sessions.ConversationID{
		"#channel-1": "C000001", "#channel-449": "C000449", "#SECRET": "C9SECRET", "C000007": "C000007",
		"@Name 1": "D000001", "@name.449": "D000449", slacktest.Person(7): "D000007",
	} {
		route, err := s.adapter.Find(t.Context(), name)
		require.NoError(t, err, name)
		require.Equal(t, want, route.Conversation, name)
		require.NotEmpty(t, route.Title, name)
		require.Equal(t, slacktest.TeamID, route.Space)
	}
	for _, name := range []string{"#channel", "@Name", "", "#", "@", "hello", "U404"} {
		_, err := s.adapter.Find(t.Context(), name)
		require.Equal(t, adapters.Permanent, adapters.AsFailure(err).Kind, name)
	}
}

func TestMembersComeFromAllPages(t *testing.T) {
	t.Parallel()
	s := newSetup(t, slacktest.Options{}, nil)
	var people []string
	for i := range 250 {
		people = append(people, slacktest.Person(i))
	}
	s.srv.Join(channel, slacktest.Public, "general", people...)
	route := sessions.Route{Conversation: channel}
	all, err := s.adapter.Members(t.Context(), route, 1000)
	require.NoError(t, err)
	require.Len(t, all, 251, "and the bot")
	some, err := s.adapter.Members(t.Context(), route, 230)
	require.NoError(t, err)
	require.Equal(t, all[:230], some)
	require.Equal(t, "Person 7", all[8].Name)
	_, err = s.adapter.Members(t.Context(), sessions.Route{Conversation: "C404"}, 5)
	require.Equal(t, adapters.Permanent, adapters.AsFailure(err).Kind)
}
