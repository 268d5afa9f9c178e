package slack_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/adapters/adaptertest"
	"sluice/adapters/slack/slacktest"
	"sluice/sessions"
)

// Posts as other services' apps make them, in shape: all that people see of them is read.
func TestPostsOfOtherAppsAreReadWhole(t *testing.T) {
	t.Parallel()
	adaptertest.Corpus(t, "testdata/posts", func(t *testing.T, raw []byte, want string) {
		t.Helper()
		s := httpSetup(t)
		s.srv.Write(slacktest.Line{Channel: "C0GENERAL", User: slacktest.Person(1), Text: "so that the channel is there"})
		s.serve(posted(`{"type":"event_callback","team_id":"` + slacktest.TeamID + `","event_id":"Ev1","event":` + string(raw) + `}`))
		got := s.inbox.wait(t, 1)
		require.Equal(t, want, strings.ReplaceAll(got[0].Text, "#C0GENERAL", "#general"))
		require.Empty(t, got[0].Quotations)
		require.Empty(t, got[0].Unread)
	})
}

// serveEvent gives one event to the adapter.
func (s *setup) serveEvent(t *testing.T, event map[string]any) {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"type": "event_callback", "team_id": slacktest.TeamID, "event_id": "Ev1", "event": event})
	require.NoError(t, err)
	s.serve(posted(string(raw)))
}

func says(more map[string]any) map[string]any {
	event := map[string]any{"type": "message", "channel": "D0001", "channel_type": "im", "user": "U0001", "ts": "1700000000.000100"}
	for k, v := range more {
		event[k] = v
	}
	return event
}

func richText(text string) []any {
	section := map[string]any{"type": "rich_text_section", "elements": []any{map[string]any{"type": "text", "text": text}}}
	return []any{map[string]any{"type": "rich_text", "elements": []any{section}}}
}

// What is shared is somebody else's, also where only its blocks say it; and so is what apps show below a person's message.
func TestBlocksOfSharedMessagesAreQuotations(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		below map[string]any
		kind  sessions.QuotationKind
	}{
		"shared":        {map[string]any{"is_share": true, "author_name": "Bo", "message_blocks": []any{map[string]any{"message": map[string]any{"blocks": richText("/send off")}}}}, sessions.QuoteForward},
		"app's preview": {map[string]any{"author_name": "Bo", "is_app_unfurl": true, "blocks": richText("/send off")}, sessions.QuoteLink},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httpSetup(t)
			s.serveEvent(t, says(map[string]any{"text": "look", "blocks": richText("look"), "attachments": []any{c.below}}))
			got := s.inbox.wait(t, 1)
			require.Equal(t, "look", got[0].Text, "a person's blocks say what the text says")
			require.Equal(t, []sessions.Quotation{{Kind: c.kind, From: sessions.Peer{Name: "Bo"}, Text: "/send off"}}, got[0].Quotations)
		})
	}
}

// A bot that mentions this one in its blocks, or in the text that notifies, means it.
func TestABotMayMentionInBlocks(t *testing.T) {
	t.Parallel()
	user := map[string]any{"type": "rich_text_section", "elements": []any{map[string]any{"type": "user", "user_id": slacktest.BotUser}, map[string]any{"type": "text", "text": " deploy"}}}
	for name, more := range map[string]map[string]any{
		"in blocks": {"text": "deploy", "blocks": []any{map[string]any{"type": "rich_text", "elements": []any{user}}}},
		"in text":   {"text": "<@" + slacktest.BotUser + "> deploy", "blocks": richText("deploy")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httpSetup(t)
			more["bot_id"], more["subtype"], more["channel"], more["channel_type"] = "B00X", "bot_message", "C0GENERAL", "channel"
			s.serveEvent(t, says(more))
			got := s.inbox.wait(t, 1)
			require.Equal(t, "deploy", got[0].Text)
			require.True(t, got[0].Mentioned)
		})
	}
}

// A bot's edit may change its blocks alone.
func TestAnEditOfBlocksIsAnEdit(t *testing.T) {
	t.Parallel()
	s := httpSetup(t)
	message := func(text string) map[string]any {
		return map[string]any{"type": "message", "subtype": "bot_message", "bot_id": "B00X", "ts": "1.000100", "text": "build", "blocks": richText(text)}
	}
	s.serveEvent(t, map[string]any{
		"type": "message", "subtype": "message_changed", "channel": "C0GENERAL", "channel_type": "channel", "ts": "2.000100", "event_ts": "2.000100",
		"message": message("passed"), "previous_message": message("running"),
	})
	got := s.inbox.wait(t, 1)
	require.True(t, got[0].Edited)
	require.Equal(t, "passed", got[0].Text)
}

// However deep or long blocks are, reading them ends, and says what is missing.
func TestBlocksAreBounded(t *testing.T) {
	t.Parallel()
	deep := map[string]any{"type": "section", "text": map[string]any{"type": "mrkdwn", "text": "the end"}}
	for range 200 {
		deep = map[string]any{"type": "x", "elements": []any{deep}}
	}
	for name, blocks := range map[string][]any{"deep": {deep}, "long": richText(strings.Repeat("a", 50_000) + strings.Repeat("b", 50_000))} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httpSetup(t)
			s.serveEvent(t, says(map[string]any{"bot_id": "B00X", "subtype": "bot_message", "text": "x", "blocks": blocks}))
			got := s.inbox.wait(t, 1)
			require.Contains(t, got[0].Text, "and more, which is left out")
			require.Less(t, len(got[0].Text), 61_000)
		})
	}
}
