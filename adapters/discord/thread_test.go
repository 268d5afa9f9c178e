package discord_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/adapters/discord/discordtest"
	"sluice/sessions"
)

func TestReadThread(t *testing.T) {
	t.Parallel()
	for name, begun := range map[string]bool{"below a message": true, "without a message": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, discordtest.Options{}, nil)
			root := s.srv.Say(discordtest.General, ada, "the port is 9999")
			thread := "6400"
			if begun {
				thread = root
			}
			s.srv.OpenThread(thread, discordtest.General, "about it", false)
			s.srv.Write(discordtest.Writing{Channel: thread, Person: ada, Text: "", Extra: map[string]any{"type": 21}})
			for _, text := range []string{"one", "two", "three"} {
				s.srv.Say(thread, ada+1, text)
			}
			asked := s.srv.Say(thread, ada, "what port?")
			s.srv.Say(thread, ada, "later")
			said, err := s.adapter.ReadThread(t.Context(), sessions.Route{
				Channel: "discord", Conversation: discordtest.General, Thread: sessions.ThreadID(thread), Space: discordtest.GuildID,
			}, sessions.PlatformMessageID(asked), 3)
			require.NoError(t, err)
			var texts []string
			for _, m := range said {
				texts = append(texts, m.Text)
			}
			want := []string{"one", "two", "three"}
			if begun {
				want = []string{"the port is 9999", "two", "three"}
				require.Equal(t, "Person 1001", said[0].From.Name)
			}
			require.Equal(t, want, texts)
		})
	}
}
