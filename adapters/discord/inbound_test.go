package discord_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/adapters/discord/discordtest"
	"sluice/sessions"
)

const (
	mention = "<@" + discordtest.BotID + ">"
	botRole = "<@&" + discordtest.BotRole + ">"
)

func TestMentionsAndNames(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		said      string
		text      string
		mentioned bool
	}{
		"nobody":                 {"good morning", "good morning", false},
		"the bot":                {mention + " good morning", "good morning", true},
		"the bot by nick":        {"<@!" + discordtest.BotID + ">, good morning", "good morning", true},
		"the bot amid":           {"good " + mention + " morning", "good morning", true},
		"the bot at the end":     {"good morning " + mention, "good morning", true},
		"the bot alone":          {mention, "", true},
		"the bot's own role":     {botRole + " good morning", "good morning", true},
		"a role of the bot":      {"<@&" + discordtest.StaffRole + "> help", "@Staff help", true},
		"another role":           {"<@&" + discordtest.MemberRole + "> help", "@Member help", false},
		"an unknown role":        {"<@&9> help", "<@&9> help", false},
		"somebody else":          {"ask <@1002> please", "ask @Person 1002 please", false},
		"a channel":              {"see <#" + discordtest.Forum + ">", "see #help", false},
		"an unknown channel":     {"see <#9>", "see <#9>", false},
		"an emoji":               {"well <:blob_wave:123> <a:party:9>", "well :blob_wave: :party:", false},
		"a command":              {"use </new chat:77>", "use /new chat", false},
		"a time":                 {"at <t:1700000000:R> or <t:1700000000>", "at 2023-11-14T22:13:20Z or 2023-11-14T22:13:20Z", false},
		"everyone":               {"@everyone look", "@everyone look", false},
		"markup that is none":    {"a <b> </i> <@x> <t:now>", "a <b> </i> <@x> <t:now>", false},
		"a mention that is code": {"`<@1002>`", "`@Person 1002`", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, discordtest.Options{}, nil)
			s.run(t)
			s.srv.Say(discordtest.General, ada, c.said)
			in := s.inbox.wait(t, 1)[0]
			require.Equal(t, c.text, in.Text)
			require.Equal(t, c.mentioned, in.Mentioned)
		})
	}
}

func TestPlaces(t *testing.T) {
	t.Parallel()
	guild := sessions.Route{Channel: "discord", Account: "default", ChatType: sessions.Group, Space: discordtest.GuildID}
	for name, c := range map[string]struct {
		at   string
		want func(r *sessions.Route)
	}{
		"channel": {discordtest.General, func(r *sessions.Route) {
			r.Conversation, r.Title = discordtest.General, "#general"
		}},
		"thread": {discordtest.ThreadID, func(r *sessions.Route) {
			r.Conversation, r.Thread, r.Title = discordtest.General, discordtest.ThreadID, "#general › a thread"
		}},
		"post in a forum": {discordtest.PostID, func(r *sessions.Route) {
			r.Conversation, r.Thread, r.Title = discordtest.Forum, discordtest.PostID, "#help › a question"
		}},
		"direct": {discordtest.DirectID(ada), func(r *sessions.Route) {
			r.ChatType, r.Space = sessions.Direct, ""
			r.Conversation, r.Title = sessions.ConversationID(discordtest.DirectID(ada)), "Person 1001"
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, discordtest.Options{}, nil)
			s.run(t)
			id := s.srv.Say(c.at, ada, "hello")
			want := guild
			want.ReplyTo = sessions.PlatformMessageID(id)
			c.want(&want)
			in := s.inbox.wait(t, 1)[0]
			require.Equal(t, want, in.Route)
			_, err := s.adapter.Send(t.Context(), out(in.Route, "answer"))
			require.NoError(t, err)
			require.Len(t, s.srv.Shown(c.at), 1, "the answer stays there")
		})
	}
}

// A thread is learnt from its event, moved by another, and asked for where no event told of it.
func TestThreadsAreLearnt(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	s.run(t)
	s.srv.OpenThread("6400", discordtest.General, "told", true)
	s.srv.OpenThread("6500", discordtest.Forum, "not told", false)
	s.srv.Say("6400", ada, "one")
	s.srv.Say("6500", ada, "two")
	s.srv.Say("6500", ada, "three")
	for _, in := range s.inbox.wait(t, 3) {
		want := sessions.ConversationID(discordtest.General)
		if in.Route.Thread == "6500" {
			want = discordtest.Forum
		}
		require.Equal(t, want, in.Route.Conversation, in.Text)
	}
	require.Empty(t, s.srv.Calls("/channels/6400"))
	require.Len(t, s.srv.Calls("/channels/6500"), 1, "asked once")
}

func TestRolesOfMembers(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	s.srv.GiveRoles(ada, discordtest.StaffRole, discordtest.MemberRole)
	s.run(t)
	s.srv.Say(discordtest.General, ada, "hello")
	in := s.inbox.wait(t, 1)[0]
	require.Equal(t, []string{discordtest.StaffRole, discordtest.MemberRole}, in.Roles)
}

func TestRolesOfTheBotChange(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	s.run(t)
	s.srv.Occur("GUILD_MEMBER_UPDATE", map[string]any{
		"guild_id": discordtest.GuildID, "user": map[string]any{"id": discordtest.BotID}, "roles": []string{discordtest.MemberRole},
	})
	s.srv.Occur("GUILD_ROLE_UPDATE", map[string]any{
		"guild_id": discordtest.GuildID, "role": map[string]any{"id": discordtest.StaffRole, "name": "Crew"},
	})
	s.srv.Say(discordtest.General, ada, "<@&"+discordtest.StaffRole+"> help")
	s.srv.Say(discordtest.General, ada, "<@&"+discordtest.MemberRole+"> help")
	got := s.inbox.wait(t, 2)
	require.Equal(t, []string{"@Crew help", "@Member help"}, texts(got))
	require.False(t, got[0].Mentioned)
	require.True(t, got[1].Mentioned)
}

func TestOtherPrograms(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	s.run(t)
	s.srv.Write(discordtest.Writing{Channel: discordtest.General, Person: 2000, Text: "beep", Bot: true})
	s.srv.Write(discordtest.Writing{Channel: discordtest.General, Person: 2001, Text: "deployed", Webhook: true})
	for _, in := range s.inbox.wait(t, 2) {
		require.True(t, in.Sender.Bot, in.Text)
	}
}

func TestNoticesAreNoMessages(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	s.run(t)
	for _, kind := range []int{6, 7, 18, 21} { // pinned, joined, thread made, thread's first message
		s.srv.Write(discordtest.Writing{Channel: discordtest.General, Person: ada, Text: "notice", Extra: map[string]any{"type": kind}})
	}
	s.srv.Say(discordtest.General, ada, "words")
	require.Equal(t, []string{"words"}, texts(s.inbox.wait(t, 1)))
}

func TestQuotes(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	s.run(t)
	first := s.srv.Say(discordtest.General, ada+1, "ask <@1003>")
	s.srv.Write(discordtest.Writing{Channel: discordtest.General, Person: ada, Text: "yes", ReplyTo: first})
	s.srv.Write(discordtest.Writing{Channel: discordtest.General, Person: ada, Extra: map[string]any{
		"message_snapshots": []any{map[string]any{"message": map[string]any{"content": "forwarded words"}}},
	}})
	got := s.inbox.wait(t, 3)
	require.Equal(t, "ask @Person 1003", got[1].Quotations[0].Text)
	require.False(t, got[1].Mentioned, "it answers somebody else")
	require.Equal(t, "forwarded words", got[2].Quotations[0].Text)
	require.Empty(t, got[2].Text)
}

// The library decodes none of a message that has a component newer than itself, and none
// of a guild that has a permission beyond 63 bits: the fake's guild has one.
func TestWhatIsNewerThanTheLibrary(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	s.run(t)
	s.srv.Write(discordtest.Writing{Channel: discordtest.General, Person: ada, Text: mention + " look", Extra: map[string]any{
		"components": []any{map[string]any{"type": 999}}, "nonce": 12345, "sticker_items": []any{nil},
	}})
	in := s.inbox.wait(t, 1)[0]
	require.Equal(t, "look", in.Text)
	require.Equal(t, "#general", in.Route.Title)
}

func TestAttachmentsIn(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	s.run(t)
	s.srv.Write(discordtest.Writing{Channel: discordtest.DirectID(ada), Person: ada, Extra: map[string]any{
		"attachments": []any{
			map[string]any{"id": "1", "filename": "a.png", "content_type": "image/png", "size": 9, "url": "https://cdn.discordapp.com/a.png"},
			map[string]any{"id": "2", "filename": "b.ogg", "content_type": "audio/ogg", "size": 8, "url": "https://cdn.discordapp.com/b.ogg", "duration_secs": 2.5, "waveform": "AAAA"},
			map[string]any{"id": "3", "filename": "c.mp4", "content_type": "video/mp4", "size": 7, "url": "https://cdn.discordapp.com/c.mp4"},
			map[string]any{"id": "4", "filename": "d", "size": 6, "url": "https://cdn.discordapp.com/d"},
		},
		"sticker_items": []any{
			map[string]any{"id": "5", "name": "wave", "format_type": 1}, map[string]any{"id": "6", "name": "dance", "format_type": 3},
		},
	}})
	in := s.inbox.wait(t, 1)[0]
	require.Equal(t, []sessions.Attachment{
		{Kind: "photo", Name: "a.png", MIME: "image/png", Size: 9, Ref: "https://cdn.discordapp.com/a.png"},
		{Kind: "voice", Name: "b.ogg", MIME: "audio/ogg", Size: 8, Ref: "https://cdn.discordapp.com/b.ogg", Duration: 3},
		{Kind: "video", Name: "c.mp4", MIME: "video/mp4", Size: 7, Ref: "https://cdn.discordapp.com/c.mp4"},
		{Kind: "document", Name: "d", Size: 6, Ref: "https://cdn.discordapp.com/d"},
		{Kind: "sticker", Name: "wave", Ref: "https://cdn.discordapp.com/stickers/5.png"},
		{Kind: "sticker", Name: "dance"},
	}, in.Attachments)
}

func TestChanges(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	s.run(t)
	place := discordtest.General
	id := s.srv.Say(place, ada, "frist")
	s.srv.Embed(place, id)
	s.srv.Edit(place, id, "first")
	s.srv.Embed(place, id)
	s.srv.React(place, id, ada+1, "👍", false)
	s.srv.React(place, id, ada+1, "👍", true)
	s.srv.Delete(place, id)
	s.srv.Say(place, ada, "last")
	got := s.inbox.wait(t, 6)
	require.Len(t, got, 6, "a link's preview is no edit, before one and after one")
	require.True(t, got[1].Edited)
	require.Equal(t, "first", got[1].Text)
	require.Equal(t, &adapters.Reaction{Emoji: "👍"}, got[2].Reaction)
	require.Equal(t, "Person 1002", got[2].Sender.Name)
	require.Equal(t, &adapters.Reaction{Emoji: "👍", Removed: true}, got[3].Reaction)
	require.True(t, got[4].Deleted)
	require.EqualValues(t, id, got[4].MessageID)
	require.WithinDuration(t, time.Now(), got[4].SentAt, time.Minute)
}

func TestManyDeletedAtOnce(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	s.run(t)
	s.srv.Occur("MESSAGE_DELETE_BULK", map[string]any{
		"ids": []string{"11", "12"}, "channel_id": discordtest.General, "guild_id": discordtest.GuildID,
	})
	got := s.inbox.wait(t, 2)
	require.Equal(t, []string{discordtest.General + "/11/delete", discordtest.General + "/12/delete"}, []string{got[0].Event, got[1].Event})
}

func TestEmojiOfAGuild(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	s.run(t)
	s.srv.Occur("MESSAGE_REACTION_ADD", map[string]any{
		"user_id": "1001", "channel_id": discordtest.General, "message_id": "11", "guild_id": discordtest.GuildID,
		"message_author_id": discordtest.BotID, "emoji": map[string]any{"id": "77", "name": "blob"},
	})
	s.srv.Occur("MESSAGE_REACTION_ADD", map[string]any{
		"user_id": discordtest.BotID, "channel_id": discordtest.General, "message_id": "11", "emoji": map[string]any{"name": "👀"},
	})
	s.srv.Say(discordtest.General, ada, "last")
	got := s.inbox.wait(t, 2)
	require.Len(t, got, 2, "it ignores its own reactions")
	require.Equal(t, &adapters.Reaction{Emoji: "blob:77", Own: true}, got[0].Reaction)
}
