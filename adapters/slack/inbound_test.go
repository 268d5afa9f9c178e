package slack_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/adapters/slack"
	"sluice/adapters/slack/slacktest"
	"sluice/sessions"
)

const (
	channel = "C0CHAN"
	bot     = "<@" + slacktest.BotUser + ">"
)

var ada = slacktest.Person(1)

// hears is a setup in a channel of one kind that runs.
func hears(t *testing.T, kind string, change func(*slack.Config)) *setup {
	t.Helper()
	s := newSetup(t, slacktest.Options{}, change)
	s.srv.Join(channel, kind, "general", ada)
	s.run(t)
	return s
}

func (s *setup) write(text, thread string) string {
	return s.srv.Write(slacktest.Line{Channel: channel, Thread: thread, User: ada, Text: text})
}

func TestMentionAndMessageAreOneEvent(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{slacktest.Public, slacktest.Private, slacktest.Multi} {
		s := hears(t, kind, nil)
		ts := s.write(bot+" hello", "")
		got := s.inbox.wait(t, 2) // Slack tells both of the message and of the mention
		require.Equal(t, channel+"/"+ts, got[0].Event)
		require.Equal(t, got[0], got[1])
		require.True(t, got[0].Mentioned)
		require.Equal(t, "hello", got[0].Text)
		require.Equal(t, sessions.Route{
			Channel: "slack", Account: "default", ChatType: sessions.Group, Conversation: channel,
			ReplyTo: sessions.PlatformMessageID(ts), Title: "general", Space: slacktest.TeamID,
		}, got[0].Route)
	}
}

func TestAnswersGoWhereTheMessageWas(t *testing.T) {
	t.Parallel()
	for _, inThread := range []bool{false, true} {
		s := hears(t, slacktest.Public, func(c *slack.Config) { c.ReplyInThread = inThread })
		top := s.write("not for the bot", "")
		asked := s.write(bot+" hello", "")
		s.inbox.wait(t, 3)
		reply := s.write(bot+" in the thread", top)
		got := s.inbox.wait(t, 5)
		require.Empty(t, got[0].Route.Thread)
		require.False(t, got[0].Mentioned)
		want := map[bool]string{false: "", true: asked}[inThread]
		require.EqualValues(t, want, got[1].Route.Thread)
		require.EqualValues(t, top, got[3].Route.Thread, "a reply stays in its thread")
		require.EqualValues(t, reply, got[3].Route.ReplyTo)

		receipt, err := s.adapter.Send(t.Context(), out(got[1].Route, "hi"))
		require.NoError(t, err)
		shown, err := s.srv.WaitShown(t.Context(), channel, 1)
		require.NoError(t, err)
		require.Equal(t, slacktest.Message{TS: string(receipt.MessageID), Thread: want, Text: "hi", Delivery: "dlv_1"}, shown[0])
	}
}

func TestAReplyInTheBotsThreadMeansTheBot(t *testing.T) {
	t.Parallel()
	s := hears(t, slacktest.Public, nil)
	route := sessions.Route{Channel: "slack", Account: "default", ChatType: sessions.Group, Conversation: channel}
	receipt, err := s.adapter.Send(t.Context(), out(route, "who is in?"))
	require.NoError(t, err)
	s.write("me", string(receipt.MessageID))
	require.True(t, s.inbox.wait(t, 1)[0].Mentioned)
}

func TestNamesAreAskedForOnce(t *testing.T) {
	t.Parallel()
	s := hears(t, slacktest.Public, nil)
	s.srv.Name("U7", "Grace")
	for range 5 {
		s.write("ask <@U7> in <#"+channel+"> &lt;now&gt; or <@U404>", "")
	}
	for _, in := range s.inbox.wait(t, 5) {
		require.Equal(t, "ask @Grace in #general <now> or @U404", in.Text)
		require.Equal(t, "Person 1", in.Sender.Name)
	}
	require.Equal(t, 3, s.srv.Calls("users.info"), "of the sender and the two that were mentioned")
	require.Equal(t, 1, s.srv.Calls("conversations.info"))
}

func TestANameThatIsNotToldHoldsUpNothing(t *testing.T) {
	t.Parallel()
	s := hears(t, slacktest.Public, nil)
	s.srv.Inject(slacktest.Code("missing_scope").On("users.info").For(100))
	s.srv.Inject(slacktest.Hang().On("conversations.info"))
	s.write("hello", "")
	got := s.inbox.wait(t, 1)[0]
	require.Equal(t, sessions.Peer{ID: sessions.UserID(ada), Name: ada}, got.Sender)
	require.Empty(t, got.Route.Title)
}

// told gives what becomes of events that are told as they are, all in the channel.
func told(t *testing.T, events ...map[string]any) []adapters.Inbound {
	t.Helper()
	s := hears(t, slacktest.Public, nil)
	for _, e := range events {
		s.srv.Tell(channel, e)
	}
	last := s.write("that was all", "")
	for n := 1; ; n++ {
		got := s.inbox.wait(t, n)
		if string(got[len(got)-1].MessageID) == last {
			return got[:len(got)-1]
		}
	}
}

func TestWhatIsNoMessageIsIgnored(t *testing.T) {
	t.Parallel()
	for _, subtype := range []string{"channel_join", "channel_topic", "pinned_item", "message_replied", "ekm_access_denied", "huddle_thread", "brand_new"} {
		require.Empty(t, told(t, map[string]any{"type": "message", "subtype": subtype, "user": ada, "text": "joined", "ts": anyTS}), subtype)
	}
	require.Empty(t, told(t,
		map[string]any{"type": "message", "user": slacktest.BotUser, "text": "my own", "ts": anyTS},
		map[string]any{"type": "message", "subtype": "bot_message", "bot_id": slacktest.BotID, "text": "my own", "ts": anyTS},
		map[string]any{"type": "message", "user": ada, "text": "", "ts": anyTS},
		map[string]any{"type": "message", "user": ada, "text": "no ts"},
		map[string]any{"type": "reaction_added", "user": ada, "reaction": "x", "item": map[string]any{"type": "file", "channel": channel}},
	))
}

func TestOtherBotsAreBots(t *testing.T) {
	t.Parallel()
	got := told(t,
		map[string]any{"type": "message", "subtype": "bot_message", "bot_id": "B7", "username": "ci", "text": "red", "ts": "1700000000.000100"},
		map[string]any{"type": "message", "bot_id": "B8", "user": "U8", "bot_profile": map[string]any{"name": "deploy"}, "text": "done", "ts": "1700000000.000200"},
		map[string]any{"type": "message", "bot_id": "B9", "text": "", "attachments": []any{map[string]any{"fallback": "alert"}}, "ts": "1700000000.000300"},
	)
	require.Len(t, got, 3)
	require.Equal(t, sessions.Peer{ID: "B7", Name: "ci", Bot: true}, got[0].Sender)
	require.Equal(t, sessions.Peer{ID: "U8", Name: "deploy", Bot: true}, got[1].Sender)
	require.Equal(t, "alert", got[2].Text)
}

func TestChangesThatChangeNoTextAreIgnored(t *testing.T) {
	t.Parallel()
	was := map[string]any{"user": ada, "text": "see https://a.example", "ts": anyTS}
	changed := func(now map[string]any) map[string]any {
		return map[string]any{"type": "message", "subtype": "message_changed", "message": now, "previous_message": was, "ts": "1700000005.000100", "event_ts": "1700000005.000100"}
	}
	got := told(t,
		changed(map[string]any{"user": ada, "text": "see https://a.example", "ts": anyTS, "attachments": []any{map[string]any{"fallback": "preview"}}}),
		changed(map[string]any{"user": slacktest.BotUser, "text": "my own edit", "ts": anyTS}),
		changed(map[string]any{"user": ada, "text": "see https://b.example", "ts": anyTS, "edited": map[string]any{"ts": "1700000005.000000"}}),
		changed(map[string]any{"subtype": "tombstone", "user": "USLACKBOT", "text": "This message was deleted.", "ts": anyTS, "thread_ts": anyTS}),
	)
	require.Len(t, got, 2)
	require.True(t, got[0].Edited)
	require.Equal(t, "see https://b.example", got[0].Text)
	require.EqualValues(t, anyTS, got[0].MessageID)
	require.Equal(t, channel+"/"+anyTS+"/edit/1700000005.000100", got[0].Event)
	require.True(t, got[1].Deleted, "a message that a thread hangs on leaves a tombstone")
	require.EqualValues(t, anyTS, got[1].MessageID)
}

func TestFilesComeAsAttachments(t *testing.T) {
	t.Parallel()
	got := told(t, map[string]any{
		"type": "message", "subtype": "file_share", "user": ada, "text": "", "ts": anyTS,
		"files": []any{
			map[string]any{"id": "F1", "name": "a.png", "mimetype": "image/png", "size": 5, "url_private": "https://files.slack.com/a.png"},
			map[string]any{"id": "F2", "mimetype": "audio/mp4", "subtype": "slack_audio", "duration_ms": 3500, "url_private": "https://files.slack.com/b"},
			map[string]any{"id": "F3", "file_access": "check_file_info"},
			map[string]any{},
		},
	})
	require.Len(t, got, 1)
	require.Equal(t, []sessions.Attachment{
		{Kind: "photo", Name: "a.png", MIME: "image/png", Size: 5, Ref: "https://files.slack.com/a.png"},
		{Kind: "voice", MIME: "audio/mp4", Ref: "https://files.slack.com/b", Duration: 3},
		{Kind: "document", Ref: "F3"},
	}, got[0].Attachments)
}

func TestAnotherWorkspacesEventsAreNotOurs(t *testing.T) {
	t.Parallel()
	s := hears(t, slacktest.Public, nil)
	s.srv.TellAs("T0OTHER", channel, map[string]any{"type": "message", "user": ada, "text": "elsewhere", "ts": anyTS})
	last := s.write("here", "")
	require.EqualValues(t, last, s.inbox.wait(t, 1)[0].MessageID)
	require.NoError(t, s.srv.WaitConfirmed(t.Context()), "but they are confirmed")
}

func TestSlashCommands(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"/sluice", "help", "/help"},
		{"/sluice", "", "/help"},
		{"/sluice", " /status all ", "/status all"},
		{"/status", "", "/status"},
		{"/send", "off", "/send off"},
		{"/ask", "who is &lt;<@U00BOT>&gt;", "/ask who is <>"},
	} {
		s := hears(t, slacktest.Public, nil)
		s.srv.Command(channel, ada, c.name, c.text)
		got := s.inbox.wait(t, 1)[0]
		require.Equal(t, c.want, got.Text)
		require.Empty(t, got.MessageID)
		require.NotEmpty(t, got.Route.Handle)
		require.WithinDuration(t, time.Now(), got.SentAt, time.Minute)
	}
}

func TestTheIdTellsTheKindOfConversation(t *testing.T) {
	t.Parallel()
	s := newSetup(t, slacktest.Options{}, nil)
	for id, want := range map[sessions.ConversationID]sessions.ChatType{"D1": sessions.Direct, "C1": sessions.Group, "G1": sessions.Group, "U1": "", "W1": ""} {
		require.Equal(t, want, s.adapter.ConversationType(id))
	}
}

func TestADeletionGoesWhereTheMessageWent(t *testing.T) {
	t.Parallel()
	for _, inThread := range []bool{false, true} {
		s := hears(t, slacktest.Public, func(c *slack.Config) { c.ReplyInThread = inThread })
		asked := s.write(bot+" hello", "")
		reply := s.write("and so on", asked)
		got := s.inbox.wait(t, 3)
		s.srv.Delete(channel, asked)
		s.srv.Delete(channel, reply)
		gone := s.inbox.wait(t, 5)[3:]
		require.Equal(t, got[0].Route, gone[0].Route)
		require.Equal(t, got[2].Route, gone[1].Route)
		require.True(t, gone[0].Deleted)
		require.Empty(t, gone[0].Text)
	}
}
