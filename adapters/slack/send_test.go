package slack_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/adapters/slack/slacktest"
	"sluice/sessions"
)

// writes is a setup with a direct chat, for what needs no Run.
func writes(t *testing.T) *setup {
	t.Helper()
	s := newSetup(t, slacktest.Options{}, nil)
	s.srv.Join(slacktest.DirectID(1), slacktest.Direct, "", ada)
	return s
}

func TestFailures(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		fault   *slacktest.Fault
		kind    adapters.Kind
		certain bool
		says    string
	}{
		{slacktest.Code("invalid_auth"), adapters.Auth, true, "get the current one"},
		{slacktest.Code("account_inactive"), adapters.Auth, true, ""},
		{slacktest.Code("token_revoked"), adapters.Auth, true, ""},
		{slacktest.Code("not_authed"), adapters.Auth, true, ""},
		{slacktest.Code("not_in_channel"), adapters.Permanent, true, "/invite"},
		{slacktest.Code("channel_not_found"), adapters.Permanent, true, "invite it"},
		{slacktest.Code("is_archived"), adapters.Permanent, true, "unarchive"},
		{slacktest.Code("missing_scope"), adapters.Permanent, true, "manifest"},
		{slacktest.Code("brand_new_code"), adapters.Permanent, true, "brand_new_code"},
		{slacktest.Code("msg_too_long"), adapters.TooLarge, true, "longer"},
		{slacktest.Code("ratelimited"), adapters.RateLimited, true, ""},
		{slacktest.Code("fatal_error"), adapters.Transient, false, ""},
		{slacktest.Code("internal_error"), adapters.Transient, false, ""},
		{slacktest.Status(http.StatusTooManyRequests, ""), adapters.RateLimited, true, ""},
		{slacktest.Status(http.StatusInternalServerError, ""), adapters.Transient, false, ""},
		{slacktest.Status(http.StatusForbidden, "captive portal"), adapters.Transient, false, ""},
		{slacktest.Status(http.StatusFound, ""), adapters.Transient, false, ""},
		{slacktest.Status(http.StatusOK, "<html>"), adapters.Transient, false, ""},
		{slacktest.Status(http.StatusOK, "{}"), adapters.Transient, false, "does not name the message"}, // the library takes it for a success
		{slacktest.Status(http.StatusOK, `{"ok":false}`), adapters.Transient, false, "does not name the message"},
	} {
		s := writes(t)
		s.srv.Inject(c.fault)
		_, err := s.adapter.Send(t.Context(), out(direct(1), "hello"))
		f := adapters.AsFailure(err)
		require.Equal(t, c.kind, f.Kind, err)
		require.Equal(t, c.certain, f.Certain, err)
		require.ErrorContains(t, err, c.says)
		if f.Kind == adapters.RateLimited {
			require.Positive(t, f.RetryAfter)
		}
	}
}

func TestNoConnectionIsCertain(t *testing.T) {
	t.Parallel()
	s := writes(t)
	s.srv.Close()
	_, err := s.adapter.Send(t.Context(), out(direct(1), "hello"))
	require.True(t, adapters.AsFailure(err).Certain)
	require.Equal(t, adapters.Transient, adapters.AsFailure(err).Kind)
}

// The library gives 429 back as an error and retries nothing; the pause is kept without a call.
func TestAfterALimitNoCallIsMadeBeforeItsTime(t *testing.T) {
	t.Parallel()
	s := writes(t)
	s.srv.Inject(slacktest.RateLimit(60))
	for range 3 {
		_, err := s.adapter.Send(t.Context(), out(direct(1), "hello"))
		f := adapters.AsFailure(err)
		require.Equal(t, adapters.RateLimited, f.Kind)
		require.InDelta(t, time.Minute, f.RetryAfter, float64(5*time.Second))
	}
	require.Equal(t, 1, s.srv.Calls("chat.postMessage"))
	s.srv.Join(slacktest.DirectID(2), slacktest.Direct, "")
	_, err := s.adapter.Send(t.Context(), out(direct(2), "another channel"))
	require.NoError(t, err)
}

func TestTooLongATextIsNotSent(t *testing.T) {
	t.Parallel()
	s := writes(t)
	o := out(direct(1), strings.Repeat("x", 40_001))
	o.Plain = true
	_, err := s.adapter.Send(t.Context(), o)
	require.Equal(t, adapters.TooLarge, adapters.AsFailure(err).Kind)
	require.Equal(t, adapters.TooLarge, adapters.AsFailure(s.adapter.Edit(t.Context(), "1", o)).Kind)
	require.Zero(t, s.srv.Calls("chat.postMessage"))
}

// Markdown that shows nothing is posted as it is written: Slack refuses a message without text.
func TestMarkdownThatShowsNothing(t *testing.T) {
	t.Parallel()
	s := writes(t)
	for _, text := range []string{"#", ">", "[x]: https://example.org"} {
		for _, buttons := range [][]adapters.Button{nil, {{Label: "Yes", Press: "1"}}} {
			o := out(direct(1), text)
			o.Buttons = buttons
			_, err := s.adapter.Send(t.Context(), o)
			require.NoError(t, err, text)
			shown := s.srv.Shown(slacktest.DirectID(1))
			require.Equal(t, text, slacktest.Plain(shown[len(shown)-1].Text))
		}
	}
}

// A section takes 3,000 characters, a message 4,000; encoding makes texts longer.
func TestALongTextWithButtonsIsCutIntoSections(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		strings.Repeat("a word and ", 350), strings.Repeat("<&>", 700), "```\n" + strings.Repeat("if a < b && c > d\n", 100) + "```",
	} {
		for _, plain := range []bool{false, true} {
			s := writes(t)
			o := out(direct(1), text)
			o.Plain, o.Buttons = plain, []adapters.Button{{Label: "Yes", Press: "yes"}}
			_, err := s.adapter.Send(t.Context(), o)
			require.NoError(t, err) // and the fake checks the sections
		}
	}
}

func TestAnEditTakesTheButtonsAway(t *testing.T) {
	t.Parallel()
	p := slacktest.StartPlatform(t, slacktest.Options{})
	a := p.Adapter(t)
	o := out(p.Direct(), "May I?")
	o.Buttons = []adapters.Button{{Label: "Yes", Press: "yes"}}
	receipt, err := a.Send(t.Context(), o)
	require.NoError(t, err)
	require.Len(t, p.Shown(p.Direct())[0].Buttons, 1)
	editor := a.(adapters.Editor)
	require.NoError(t, editor.Edit(t.Context(), receipt.MessageID, out(p.Direct(), "You said yes.")))
	require.Empty(t, p.Shown(p.Direct())[0].Buttons)
	require.Equal(t, "You said yes.", p.Shown(p.Direct())[0].Plain)
}

func TestAnswersToCommandsGoToTheirHandle(t *testing.T) {
	t.Parallel()
	s := hearsCommand(t)
	route := s.inbox.wait(t, 1)[0].Route
	s.srv.Expire()
	_, err := s.adapter.Send(t.Context(), out(route, "late"))
	require.Equal(t, adapters.Permanent, adapters.AsFailure(err).Kind, "half an hour is over")
	for _, foreign := range []string{"https://evil.example/respond", "http://hooks.slack.com/commands/1", "https://slack.com.evil.example/", "file:///etc/passwd", "%zz"} {
		route.Handle = foreign
		_, err := s.adapter.Send(t.Context(), out(route, "nowhere"))
		require.Equal(t, adapters.Permanent, adapters.AsFailure(err).Kind, foreign)
		require.True(t, adapters.AsFailure(err).Certain)
	}
	require.Zero(t, s.srv.Calls("chat.postMessage"), "what only one shall see is never said to all")
}

func hearsCommand(t *testing.T) *setup {
	t.Helper()
	s := hears(t, slacktest.Public, nil)
	s.srv.Command(channel, ada, "/sluice", "status")
	return s
}

func TestReactionsThatSlackHasNoNameFor(t *testing.T) {
	t.Parallel()
	s := writes(t)
	err := s.adapter.React(t.Context(), direct(1), sessions.PlatformMessageID(s.srv.Say(1, "look")), adapters.Reaction{Emoji: "🦤"})
	require.Equal(t, adapters.Unsupported, adapters.AsFailure(err).Kind)
	require.Zero(t, s.srv.Calls("reactions.add"))
}

// A thread that can't be one of Slack's is refused without a call.
func TestAThreadIsATimestamp(t *testing.T) {
	t.Parallel()
	s := writes(t)
	route := direct(1)
	route.Thread = "nonsense"
	_, err := s.adapter.Send(t.Context(), out(route, "hi"))
	require.Equal(t, adapters.Permanent, adapters.AsFailure(err).Kind)
	require.ErrorContains(t, err, `the thread "nonsense" is not the timestamp of a Slack message, such as 1700000000.000100`)
	require.Empty(t, s.srv.Shown(string(route.Conversation)))
}
