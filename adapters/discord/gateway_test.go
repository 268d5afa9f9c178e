package discord_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/adapters/discord/discordtest"
	"sluice/sessions"
)

func TestMessageInAnswerOut(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	s.run(t)
	id := s.srv.Say(discordtest.DirectID(ada), ada, "hello")

	in := s.inbox.wait(t, 1)[0]
	require.Equal(t, discordtest.DirectID(ada)+"/"+id, in.Event)
	require.Equal(t, "hello", in.Text)
	require.Equal(t, sessions.Direct, in.Route.ChatType)
	require.True(t, in.Mentioned)
	require.Equal(t, sessions.Peer{ID: "1001", Name: "Person 1001", Username: "person1001"}, in.Sender)

	receipt, err := s.adapter.Send(t.Context(), out(in.Route, "You said **hello**"))
	require.NoError(t, err)
	shown := s.srv.Shown(discordtest.DirectID(ada))
	require.Len(t, shown, 1)
	require.Equal(t, "You said **hello**", shown[0].Content)
	require.Equal(t, shown[0].ID, string(receipt.MessageID))
	require.Equal(t, adapters.Connected, s.adapter.State().Status)
	require.Equal(t, "sluice", s.adapter.State().Self.Username)
}
