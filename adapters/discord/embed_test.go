package discord_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/adapters/adaptertest"
	"sluice/adapters/discord/discordtest"
	"sluice/sessions"
)

// Cards as other services' bots post them, in shape: all that people see of them is read. Below a person's message Discord
// puts what it shows of a link: that is somebody else's word.
func TestEmbedsAreRead(t *testing.T) {
	t.Parallel()
	adaptertest.Corpus(t, "testdata/embeds", func(t *testing.T, raw []byte, want string) {
		t.Helper()
		var embeds any
		require.NoError(t, json.Unmarshal(raw, &embeds))
		s := newSetup(t, discordtest.Options{}, nil)
		s.run(t)
		s.srv.Write(discordtest.Writing{Channel: discordtest.General, Person: ada, Text: "so it goes", Extra: map[string]any{"embeds": embeds, "webhook_id": "77"}})
		s.srv.Write(discordtest.Writing{Channel: discordtest.General, Person: ada, Text: "so it goes", Extra: map[string]any{"embeds": embeds}})
		s.srv.Write(discordtest.Writing{Channel: discordtest.General, Person: ada, Extra: map[string]any{"embeds": embeds, "webhook_id": "77"}})
		got := s.inbox.wait(t, 3)
		require.Equal(t, want, got[0].Text)
		require.Empty(t, got[0].Quotations)
		require.Equal(t, "so it goes", got[1].Text)
		var quoted []string
		for _, q := range got[1].Quotations {
			require.Equal(t, sessions.QuoteLink, q.Kind)
			quoted = append(quoted, q.Text)
		}
		_, cards, _ := strings.Cut(want, "\n")
		require.Equal(t, cards, strings.Join(quoted, "\n"))
		require.Equal(t, cards, got[2].Text, "a message of nothing but embeds")
	})
}

// What stands in embeds is bounded, addresses nobody, and is there when a message is forwarded or answered.
func TestEmbedsAreBoundedAndAddressNobody(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	s.run(t)
	many := make([]any, 20)
	for i := range many {
		many[i] = map[string]any{"description": strings.Repeat("ü", 20_000)}
	}
	card := []any{map[string]any{"title": "the card", "description": "look " + mention}}
	s.srv.Write(discordtest.Writing{Channel: discordtest.General, Person: ada, Text: "long", Extra: map[string]any{"embeds": many, "webhook_id": "77"}})
	s.srv.Write(discordtest.Writing{Channel: discordtest.General, Person: ada, Text: "hm", Extra: map[string]any{"embeds": card, "webhook_id": "77"}})
	s.srv.Write(discordtest.Writing{Channel: discordtest.General, Person: ada, Extra: map[string]any{"message_snapshots": []any{map[string]any{"message": map[string]any{"embeds": card}}}}})
	got := s.inbox.wait(t, 3)
	require.Less(t, len(got[0].Text), 25_000)
	require.Contains(t, got[0].Text, "left out")
	require.False(t, got[1].Mentioned)
	require.Equal(t, "hm\nthe card\nlook", got[1].Text)
	require.Equal(t, "the card\nlook", got[2].Quotations[0].Text)
}
