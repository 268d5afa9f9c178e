package discord_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/adapters/discord"
	"sluice/adapters/discord/discordtest"
)

// A field that nothing here uses may have any type.
func TestUnusedFieldsMayHaveAnyType(t *testing.T) {
	t.Parallel()
	for name, extra := range map[string]map[string]any{
		"author":      {"author": map[string]any{"id": "1001", "username": "person1001", "public_flags": "many", "premium_type": "gold"}},
		"attachment":  {"attachments": []any{map[string]any{"id": 1, "filename": "a.png", "width": "wide", "ephemeral": 1, "flags": []any{}}}},
		"sticker":     {"sticker_items": []any{map[string]any{"id": "5", "name": "wave", "available": "yes"}}},
		"mention":     {"mentions": []any{map[string]any{"id": "1002", "public_flags": "x", "avatar_decoration_data": 7}}},
		"whole":       {"tts": "no", "flags": "0x10", "pinned": 3, "interaction_metadata": "slash", "position": "first"},
		"no lists":    {"embeds": "none", "components": 5, "poll": "closed"},
		"older reply": {"referenced_message": map[string]any{"id": "1", "author": map[string]any{"id": "2", "flags": "x"}, "thread": "gone"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, discordtest.Options{}, nil)
			s.run(t)
			s.srv.Write(discordtest.Writing{Channel: discordtest.General, Person: ada, Text: mention + " look", Extra: extra})
			s.srv.Say(discordtest.General, ada, "last")
			got := s.inbox.wait(t, 1)
			require.Equal(t, "look", got[0].Text)
			require.Empty(t, got[0].Unread)
		})
	}
}

// A field that is used and has another type is left out, and the message says that something is missing.
func TestUsedFieldsOfAnotherTypeAreLeftOut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		extra map[string]any
		text  string
	}{
		"content":     {map[string]any{"content": 7}, ""},
		"attachments": {map[string]any{"attachments": "two"}, "look"},
		"size":        {map[string]any{"attachments": []any{map[string]any{"id": "1", "filename": "a.png", "size": "big"}}}, "look"},
		"mentions":    {map[string]any{"mentions": map[string]any{"id": "1"}}, "look"},
		"timestamp":   {map[string]any{"timestamp": 1_700_000_000}, "look"},
		"reply":       {map[string]any{"referenced_message": "gone"}, "look"},
		"forwarded":   {map[string]any{"message_snapshots": map[string]any{}}, "look"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			s := newSetup(t, discordtest.Options{}, func(c *discord.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
			stop := s.run(t)
			s.srv.Write(discordtest.Writing{Channel: discordtest.General, Person: ada, Text: mention + " look", Extra: c.extra})
			s.srv.Say(discordtest.General, ada, "last")
			got := s.inbox.wait(t, 2)
			stop()
			require.Equal(t, c.text, got[0].Text)
			require.NotEmpty(t, got[0].Unread)
			require.False(t, got[0].SentAt.IsZero())
			require.Empty(t, got[1].Unread)
			require.Equal(t, 1, strings.Count(log.String(), "discord event read in part"), log.String())
			require.Equal(t, 1, eventCount(t, s, "partial"))
		})
	}
}

// eventCount is how many events of an outcome the metric has counted.
func eventCount(t *testing.T, s *setup, outcome string) int {
	t.Helper()
	families, err := s.metrics.Gather()
	require.NoError(t, err)
	n := 0
	for _, f := range families {
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				if f.GetName() == "sluice_discord_events_total" && l.GetValue() == outcome {
					n += int(m.GetCounter().GetValue())
				}
			}
		}
	}
	return n
}

// One message that can't be read drops no other one of what was said during a silence.
func TestOneBadMessageDropsNoPageOfMissedOnes(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	stop := s.run(t)
	s.srv.Say(discordtest.General, ada, "before")
	s.inbox.wait(t, 1)
	stop()
	s.srv.ForgetSessions()
	s.srv.Say(discordtest.General, ada, "one")
	s.srv.Write(discordtest.Writing{Channel: discordtest.General, Person: ada, Text: "two", Extra: map[string]any{"attachments": 5, "tts": []any{}}})
	s.srv.Write(discordtest.Writing{Channel: discordtest.General, Person: ada, Text: "nameless", Extra: map[string]any{"id": map[string]any{}}})
	s.srv.Say(discordtest.General, ada, "three")
	s.restart(t)
	s.run(t)
	require.Equal(t, []string{"before", "one", "two", "three"}, texts(s.inbox.wait(t, 4)))
}

// A guild with one odd role, member or channel is learnt all the same.
func TestAGuildWithAnOddRoleIsLearnt(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	s.run(t)
	s.srv.Occur("GUILD_CREATE", map[string]any{
		"id": discordtest.GuildID, "name": "The Guild", "premium_tier": "gold",
		"roles":    []any{7, map[string]any{"id": discordtest.StaffRole, "name": "Renamed"}},
		"channels": []any{map[string]any{"id": "6100", "type": 0, "name": []any{}}, map[string]any{"id": "6101", "type": 0, "name": "odd"}},
	})
	s.srv.Say(discordtest.General, ada, "<@&"+discordtest.StaffRole+"> in <#6101>")
	require.Equal(t, "@Renamed in #odd", s.inbox.wait(t, 1)[0].Text)
}

// A reaction in a direct chat, and one that is taken off, come without the member.
func TestReactionsNameThePerson(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	s.srv.GiveRoles(ada+1, discordtest.StaffRole)
	s.run(t)
	direct := s.srv.Say(discordtest.DirectID(ada), ada, "hello")
	s.srv.React(discordtest.DirectID(ada), direct, ada, "👍", false)
	group := s.srv.Say(discordtest.General, ada, "hello all")
	s.srv.React(discordtest.General, group, ada+1, "👍", true)
	for _, in := range s.inbox.wait(t, 4) {
		if in.Reaction == nil {
			continue
		}
		want := "Person 1001"
		if in.Reaction.Removed {
			want = "Person 1002"
			require.Equal(t, []string{discordtest.StaffRole}, in.Roles)
		}
		require.Equal(t, want, in.Sender.Name)
	}
}

func TestTokensMayBeLong(t *testing.T) {
	t.Parallel()
	_, err := discord.New(discord.Config{Token: adapters.Secret(strings.Repeat("abcd-EF.", 60))})
	require.NoError(t, err)
	_, err = discord.New(discord.Config{Token: adapters.Secret(strings.Repeat("a", 5000))})
	require.ErrorContains(t, err, "token")
}
