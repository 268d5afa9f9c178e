package discord_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/adapters"
	"sluice/adapters/adaptertest"
	"sluice/adapters/discord"
	"sluice/adapters/discord/discordtest"
	"sluice/sessions"
)

func group() sessions.Route {
	return sessions.Route{
		Channel: "discord", Account: "default", ChatType: sessions.Group,
		Conversation: discordtest.General, Space: discordtest.GuildID,
	}
}

// lastPost is the body of the last message that was posted to a channel.
func (s *setup) lastPost(t *testing.T, channelID string) map[string]any {
	t.Helper()
	calls := s.srv.Calls("/channels/" + channelID + "/messages")
	require.NotEmpty(t, calls)
	var body map[string]any
	require.NoError(t, json.Unmarshal(calls[len(calls)-1].Body, &body))
	return body
}

func TestWireOfAMessage(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	o := out(group(), "Hello @everyone, look")
	o.Route.ReplyTo, o.Silent = "77", true
	o.Buttons = []adapters.Button{{Label: "Yes", Press: "y"}, {Label: "No", Press: "n"}, {Label: "Yes again", Press: "y"}}
	_, err := s.adapter.Send(t.Context(), o)
	require.NoError(t, err)
	body := s.lastPost(t, discordtest.General)
	nonce, _ := body["nonce"].(string)
	require.NotEmpty(t, nonce)
	require.LessOrEqual(t, len(nonce), 25)
	delete(body, "nonce")
	want := `{
		"content": "Hello @everyone, look", "flags": 4100, "allowed_mentions": {"parse": []}, "enforce_nonce": true,
		"message_reference": {"message_id": "77", "fail_if_not_exists": false},
		"components": [{"type": 1, "components": [
			{"type": 2, "style": 2, "label": "Yes", "custom_id": "y", "disabled": false},
			{"type": 2, "style": 2, "label": "No", "custom_id": "n", "disabled": false}]}]}`
	got, err := json.Marshal(body)
	require.NoError(t, err)
	require.JSONEq(t, want, string(got))
}

func TestOnlyTheFirstPieceRefers(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	o := out(group(), "second piece")
	o.Route.ReplyTo, o.Part = "77", 1
	_, err := s.adapter.Send(t.Context(), o)
	require.NoError(t, err)
	require.NotContains(t, s.lastPost(t, discordtest.General), "message_reference")
}

// A try whose answer was lost is repeated and shows once: Discord knows its nonce.
func TestRetriedSendIsOneMessage(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	s.srv.Fault(adaptertest.Fault{Kind: adaptertest.ResetAfter})
	o := out(group(), "once")
	_, err := s.adapter.Send(t.Context(), o)
	require.False(t, adapters.AsFailure(err).Certain)
	receipt, err := s.adapter.Send(t.Context(), o)
	require.NoError(t, err)
	shown := s.srv.Shown(discordtest.General)
	require.Len(t, shown, 1)
	require.EqualValues(t, shown[0].ID, receipt.MessageID)
}

func TestNoncesDiffer(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a := adapters.Outbound{DeliveryID: rapid.String().Draw(t, "a"), Part: rapid.IntRange(0, 20).Draw(t, "part a")}
		b := adapters.Outbound{DeliveryID: rapid.String().Draw(t, "b"), Part: rapid.IntRange(0, 20).Draw(t, "part b")}
		require.Regexp(t, `^[A-Za-z0-9_-]{1,25}$`, discord.NonceOf(a))
		require.Equal(t, a.DeliveryID == b.DeliveryID && a.Part == b.Part, discord.NonceOf(a) == discord.NonceOf(b))
	})
}

// Two deliveries of the same words, one of which was lost: the one that shows is not taken for it.
func TestReconcileTellsSameWordsApart(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	sentAt := time.Now()
	first, second := out(group(), "ok"), out(group(), "ok")
	second.DeliveryID = "dlv_2"
	_, err := s.adapter.Send(t.Context(), first)
	require.NoError(t, err)
	_, ok, err := s.adapter.Reconcile(t.Context(), second, sentAt)
	require.NoError(t, err)
	require.False(t, ok)
}

func TestReconcileLooksNoFurtherThanItCan(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	sentAt := time.Now()
	for range 500 {
		s.srv.Say(discordtest.General, ada, "chatter")
	}
	_, ok, err := s.adapter.Reconcile(t.Context(), out(group(), "lost"), sentAt)
	require.Error(t, err, "it is not known")
	require.False(t, ok)
}

func TestTooLongIsNotSent(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	_, err := s.adapter.Send(t.Context(), out(group(), strings.Repeat("é", 2001)))
	require.Equal(t, adapters.TooLarge, adapters.AsFailure(err).Kind)
	require.Empty(t, s.srv.Calls("/messages"))
	_, err = s.adapter.Send(t.Context(), out(group(), strings.Repeat("é", 2000)))
	require.NoError(t, err)
}

func TestFencesAreKept(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	pieces := s.adapter.Split("```go\n" + strings.Repeat("x := 1\n", 600) + "```")
	require.Greater(t, len(pieces), 1)
	for i, p := range pieces {
		o := out(direct(ada), p)
		o.Part = i
		_, err := s.adapter.Send(t.Context(), o)
		require.NoError(t, err)
	}
	for _, m := range s.srv.Shown(discordtest.DirectID(ada)) {
		require.True(t, strings.HasPrefix(m.Content, "```go\n") && strings.HasSuffix(m.Content, "```"), m.Content)
	}
}

func TestNoConversation(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	for _, to := range []sessions.ConversationID{"", "general", "12/../34", "-1"} {
		_, err := s.adapter.Send(t.Context(), out(sessions.Route{Channel: "discord", Conversation: to}, "x"))
		require.Equal(t, adapters.Permanent, adapters.AsFailure(err).Kind, to)
	}
	require.Empty(t, s.srv.Calls("/"))
}

func TestFetchOnlyFromDiscord(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, func(c *discord.Config) { c.FileHosts = []string{"files.example.org"} })
	for _, ref := range []string{
		"", "nonsense", "http://169.254.169.254/latest", "https://example.org/a.png", "https://cdn.discordapp.com.evil.org/a",
		"http://cdn.discordapp.com/a", "https://x@cdn.discordapp.com/a", "file:///etc/passwd", "https://files.example.org.evil/a",
	} {
		_, err := s.adapter.Fetch(t.Context(), sessions.Attachment{Ref: ref})
		require.Equal(t, adapters.Permanent, adapters.AsFailure(err).Kind, ref)
	}
}

func TestFileWithoutSize(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	f := adapters.File{Name: `we"ird/näme.txt`, Open: opened("hello")}
	_, err := s.adapter.SendFile(t.Context(), out(direct(ada), ""), f)
	require.NoError(t, err)
	require.Equal(t, []byte("hello"), s.srv.Shown(discordtest.DirectID(ada))[0].Files["näme.txt"], "the server takes the last part of a path")
}

func TestFileThatCanNotBeOpened(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	f := adapters.File{Name: "a", Size: 1, Open: func(context.Context) (io.ReadCloser, error) { return nil, errors.New("gone") }}
	_, err := s.adapter.SendFile(t.Context(), out(direct(ada), ""), f)
	require.Equal(t, adapters.Transient, adapters.AsFailure(err).Kind)
	require.True(t, adapters.AsFailure(err).Certain)
	require.Empty(t, s.srv.Calls("/"))
}

func opened(content string) func(context.Context) (io.ReadCloser, error) {
	return func(context.Context) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(content)), nil }
}

// A refusal says what to do about it.
func TestADeletedChannelIsExplained(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	s.srv.Fault(adaptertest.Fault{Kind: adaptertest.Refused})
	_, err := s.adapter.Send(t.Context(), out(group(), "hi"))
	require.Equal(t, adapters.Permanent, adapters.AsFailure(err).Kind)
	require.ErrorContains(t, err, "Unknown Channel: the channel was deleted, or its id is wrong")
}
