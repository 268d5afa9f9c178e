package telegram_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-telegram/bot/models"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/adapters/telegram"
	"sluice/adapters/telegram/telegramtest"
	"sluice/sessions"
)

func TestFailures(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault *telegramtest.Fault
		want  adapters.Failure
	}{
		"429 half a minute":   {telegramtest.RateLimit(30), adapters.Failure{Kind: adapters.RateLimited, RetryAfter: 30 * time.Second, Certain: true}},
		"429 a day":           {telegramtest.RateLimit(86400), adapters.Failure{Kind: adapters.RateLimited, RetryAfter: 24 * time.Hour, Certain: true}},
		"500 of telegram":     {telegramtest.APIError(500, "Internal Server Error"), adapters.Failure{Kind: adapters.Transient, Certain: true}},
		"502 of a proxy":      {telegramtest.Status(502, "<html>Bad Gateway</html>"), adapters.Failure{Kind: adapters.Transient}},
		"portal":              {telegramtest.Status(403, "<html>log in</html>"), adapters.Failure{Kind: adapters.Transient}},
		"connection cut":      {telegramtest.DropBefore(), adapters.Failure{Kind: adapters.Transient}},
		"response lost":       {telegramtest.DropAfter(), adapters.Failure{Kind: adapters.Transient}},
		"hang":                {telegramtest.Hang(), adapters.Failure{Kind: adapters.Transient}},
		"revoked":             {telegramtest.Revoked(), adapters.Failure{Kind: adapters.Auth, Certain: true}},
		"malformed token":     {telegramtest.APIError(404, "Not Found"), adapters.Failure{Kind: adapters.Auth, Certain: true}},
		"blocked":             {telegramtest.Blocked(), adapters.Failure{Kind: adapters.Permanent, Certain: true}},
		"kicked":              {telegramtest.APIError(403, "Forbidden: bot was kicked from the group chat"), adapters.Failure{Kind: adapters.Permanent, Certain: true}},
		"chat not found":      {telegramtest.APIError(400, "Bad Request: chat not found"), adapters.Failure{Kind: adapters.Permanent, Certain: true}},
		"too long":            {telegramtest.APIError(400, "Bad Request: message is too long"), adapters.Failure{Kind: adapters.TooLarge, Certain: true}},
		"body too large":      {telegramtest.APIError(413, "Request Entity Too Large"), adapters.Failure{Kind: adapters.TooLarge, Certain: true}},
		"markup and plain":    {telegramtest.BadEntities().For(2), adapters.Failure{Kind: adapters.Permanent, Certain: true}},
		"not telegram's JSON": {telegramtest.Status(200, "<html>"), adapters.Failure{Kind: adapters.Transient}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, telegramtest.Options{}, func(c *telegram.Config) { c.CallTimeout = time.Second })
			s.srv.Join(telegramtest.Private(1001))
			s.srv.Inject(c.fault.On("sendMessage"))
			_, err := s.adapter.Send(t.Context(), out(direct("1001"), "hi"))
			f := adapters.AsFailure(err)
			require.NotContains(t, err.Error(), s.srv.Token())
			f.Err = nil
			require.Equal(t, c.want, *f, "%v", err)
		})
	}
}

func TestSendWithoutConnectionIsCertain(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, nil)
	s.srv.Close()
	_, err := s.adapter.Send(t.Context(), out(direct("1001"), "hi"))
	f := adapters.AsFailure(err)
	require.Equal(t, adapters.Transient, f.Kind)
	require.True(t, f.Certain, "nothing was ever sent: %v", err)
	require.NotContains(t, err.Error(), s.srv.Token())
	_, err = s.adapter.Probe(t.Context())
	require.NotContains(t, err.Error(), s.srv.Token())
	require.NotContains(t, fmt.Sprintf("%+v", s.adapter.State()), s.srv.Token())
}

func TestLostResponseWasDelivered(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, nil)
	s.srv.Join(telegramtest.Private(1001))
	s.srv.Inject(telegramtest.DropAfter().On("sendMessage"))
	_, err := s.adapter.Send(t.Context(), out(direct("1001"), "hi"))
	require.False(t, adapters.AsFailure(err).Certain)
	require.Len(t, s.srv.Sent(1001), 1)
}

func TestSendFallsBackToPlainText(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, nil)
	s.srv.Join(telegramtest.Private(1001))
	s.srv.Inject(telegramtest.BadEntities().On("sendMessage"))
	_, err := s.adapter.Send(t.Context(), out(direct("1001"), "**hi**"))
	require.NoError(t, err)
	sent := s.srv.Sent(1001)
	require.Len(t, sent, 1)
	require.Equal(t, "hi", sent[0].Text)
	require.Empty(t, sent[0].ParseMode)
}

func TestLongAnswerArrivesWhole(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, nil)
	s.srv.Join(telegramtest.Private(1001))
	unit := "# Part\n\nSome *text* & <tags> with a [link](https://example.org).\n\n- a\n- b 😀\n\n```go\nfunc f() {}\n```\n\n"
	pieces := s.adapter.Split(strings.Repeat(unit, 100_000/len(unit)))
	require.Greater(t, len(pieces), 15)
	for i, p := range pieces {
		o := out(direct("1001"), p)
		o.Part = i
		_, err := s.adapter.Send(t.Context(), o)
		require.NoError(t, err)
	}
	require.Len(t, s.srv.Sent(1001), len(pieces))
	require.Len(t, s.srv.Calls("sendMessage"), len(pieces), "none was refused")
}

func TestInvalidUTF8IsSent(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, nil)
	s.srv.Join(telegramtest.Private(1001))
	_, err := s.adapter.Send(t.Context(), out(direct("1001"), "a\xffb \x00"))
	require.NoError(t, err)
	require.Equal(t, "a\uFFFDb", s.srv.Sent(1001)[0].Plain)
}

func TestGroupAnswerRefersToItsQuestion(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, nil)
	forum := telegramtest.Chat{ID: -1001, Type: "supergroup", Title: "Team", Forum: true}
	s.srv.Say(forum, ada, "question")
	route := sessions.Route{Channel: "telegram", Account: "default", ChatType: sessions.Group, Conversation: "-1001", Thread: "1", ReplyTo: "1"}
	o := out(route, "answer")
	o.Silent = true
	_, err := s.adapter.Send(t.Context(), o)
	require.NoError(t, err)
	o.Part = 1
	_, err = s.adapter.Send(t.Context(), o)
	require.NoError(t, err)
	sent := s.srv.Sent(-1001)
	require.EqualValues(t, 1, sent[0].ReplyTo)
	require.Zero(t, sent[1].ReplyTo)
	require.Zero(t, sent[0].Thread, "the General topic has no thread id")
	require.True(t, sent[0].Silent)

	require.NoError(t, s.adapter.Typing(t.Context(), route))
	require.JSONEq(t, `{"chat_id":-1001,"message_thread_id":1,"action":"typing"}`, string(s.srv.Calls("sendChatAction")[0].Params))

	route.ReplyTo = "999"
	_, err = s.adapter.Send(t.Context(), out(route, "the question is gone"))
	require.NoError(t, err)
}

func TestSendFollowsMigration(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, nil)
	s.srv.Join(telegramtest.Group(-5, "Team"))
	s.srv.Migrate(-5, -1005)
	receipt, err := s.adapter.Send(t.Context(), out(sessions.Route{ChatType: sessions.Group, Conversation: "-5"}, "hi"))
	require.NoError(t, err)
	require.Equal(t, &adapters.Migration{From: "-5", To: "-1005"}, receipt.Moved)
	require.Len(t, s.srv.Sent(-1005), 1)
}

func TestEdit(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, nil)
	s.srv.Join(telegramtest.Private(1001))
	receipt, err := s.adapter.Send(t.Context(), out(direct("1001"), "one"))
	require.NoError(t, err)
	require.NoError(t, s.adapter.Edit(t.Context(), receipt.MessageID, out(direct("1001"), "**two**")))
	require.NoError(t, s.adapter.Edit(t.Context(), receipt.MessageID, out(direct("1001"), "**two**")), "unchanged is no error")
	require.Equal(t, "<b>two</b>", s.srv.Sent(1001)[0].Text)

	s.srv.Inject(telegramtest.BadEntities().On("editMessageText"))
	require.NoError(t, s.adapter.Edit(t.Context(), receipt.MessageID, out(direct("1001"), "**three**")))
	require.Equal(t, "three", s.srv.Sent(1001)[0].Text)

	s.srv.Delete(1001, 1)
	err = s.adapter.Edit(t.Context(), receipt.MessageID, out(direct("1001"), "four"))
	require.Equal(t, adapters.Permanent, adapters.AsFailure(err).Kind)
}

func TestRichMessages(t *testing.T) {
	t.Parallel()
	rich := func(c *telegram.Config) { c.RichMessages = telegram.RichOn }
	s := newSetup(t, telegramtest.Options{}, rich)
	s.srv.Join(telegramtest.Private(1001))
	_, err := s.adapter.Send(t.Context(), out(direct("1001"), "| a |\n|---|\n| 1 |"))
	require.NoError(t, err)
	require.True(t, s.srv.Sent(1001)[0].Rich)

	old := newSetup(t, telegramtest.Options{NoRichMessages: true}, rich)
	old.srv.Join(telegramtest.Private(1001))
	for range 2 {
		_, err = old.adapter.Send(t.Context(), out(direct("1001"), "**hi**"))
		require.NoError(t, err)
	}
	require.Len(t, old.srv.Sent(1001), 2)
	require.Len(t, old.srv.Calls("sendRichMessage"), 1, "asked once, remembered")
}

func TestRichOnlyWhereHTMLWouldLoseStructure(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, nil)
	s.srv.Join(telegramtest.Private(1001))
	table := "| a | b |\n|---|---|\n| 1 | 2 |"
	preview, err := s.adapter.Send(t.Context(), out(direct("1001"), "Here it **comes**"))
	require.NoError(t, err)
	require.False(t, s.srv.Sent(1001)[0].Rich)
	require.NoError(t, s.adapter.Edit(t.Context(), preview.MessageID, out(direct("1001"), table)))
	require.NoError(t, s.adapter.Edit(t.Context(), preview.MessageID, out(direct("1001"), table)), "unchanged is no error")
	require.True(t, s.srv.Sent(1001)[0].Rich)
	plain := out(direct("1001"), table)
	plain.Plain = true
	_, err = s.adapter.Send(t.Context(), plain)
	require.NoError(t, err)
	require.False(t, s.srv.Sent(1001)[1].Rich)

	old := newSetup(t, telegramtest.Options{NoRichMessages: true}, nil)
	old.srv.Join(telegramtest.Private(1001))
	preview, err = old.adapter.Send(t.Context(), out(direct("1001"), "Here it comes"))
	require.NoError(t, err)
	require.NoError(t, old.adapter.Edit(t.Context(), preview.MessageID, out(direct("1001"), table)))
	require.Contains(t, old.srv.Sent(1001)[0].Text, "<pre>")
}

func TestRefusedRichMessageGoesOutAsHTML(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, func(c *telegram.Config) { c.RichMessages = telegram.RichOn })
	s.srv.Join(telegramtest.Private(1001))
	s.srv.Inject(telegramtest.BadEntities().On("sendRichMessage"))
	_, err := s.adapter.Send(t.Context(), out(direct("1001"), "**hi**"))
	require.NoError(t, err)
	require.Equal(t, "<b>hi</b>", s.srv.Sent(1001)[0].Text)
}

func TestTopicAnswerStaysInItsTopic(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, nil)
	s.srv.Post(models.Message{From: adaModel, Chat: forum, MessageThreadID: 7, IsTopicMessage: true, Text: "x"})
	s.run(t)
	in := s.inbox.wait(t, 1)[0]
	_, err := s.adapter.Send(t.Context(), out(in.Route, "y"))
	require.NoError(t, err)
	require.EqualValues(t, 7, s.srv.Sent(-1008)[0].Thread)
	require.NoError(t, s.adapter.Typing(t.Context(), in.Route))
	require.Equal(t, map[int64]int{-1008: 1}, s.srv.Shown())
}

func TestLinkPreviewsAreOffUnlessWanted(t *testing.T) {
	t.Parallel()
	for _, wanted := range []bool{false, true} {
		s := newSetup(t, telegramtest.Options{}, func(c *telegram.Config) { c.LinkPreviews = wanted })
		s.srv.Join(telegramtest.Private(1001))
		receipt, err := s.adapter.Send(t.Context(), out(direct("1001"), "https://example.org"))
		require.NoError(t, err)
		require.NoError(t, s.adapter.Edit(t.Context(), receipt.MessageID, out(direct("1001"), "https://example.com")))
		for _, method := range []string{"sendMessage", "editMessageText"} {
			params := string(s.srv.Calls(method)[0].Params)
			require.Equal(t, !wanted, strings.Contains(params, `"link_preview_options":{"is_disabled":true}`), "%s %s", method, params)
		}
	}
}

func TestRichOffIsHTMLAlways(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, func(c *telegram.Config) { c.RichMessages = telegram.RichOff })
	s.srv.Join(telegramtest.Private(1001))
	_, err := s.adapter.Send(t.Context(), out(direct("1001"), "| a |\n|---|\n| 1 |"))
	require.NoError(t, err)
	require.Equal(t, "HTML", s.srv.Sent(1001)[0].ParseMode)
	require.Empty(t, s.srv.Calls("sendRichMessage"))
}

func TestConversationType(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, nil)
	require.Equal(t, sessions.Direct, s.adapter.ConversationType("1001"))
	require.Equal(t, sessions.Group, s.adapter.ConversationType("-5"))
	require.Equal(t, sessions.Group, s.adapter.ConversationType("-1001234567890"))
}

func TestTokenIsInNoLog(t *testing.T) {
	t.Parallel()
	log := newLogBuffer()
	s := newSetup(t, telegramtest.Options{}, func(c *telegram.Config) { c.Log = log.logger() })
	s.srv.Inject(telegramtest.DropBefore().On("getMe"))
	s.srv.Inject(telegramtest.DropBefore().On("getUpdates"))
	s.srv.PostRaw(func(id int64) string { return `{"update_id":1001,"message":7}` })
	s.run(t)
	require.NoError(t, s.srv.WaitConfirmed(t.Context()))
	require.Contains(t, log.String(), "trying again")
	require.NotContains(t, log.String(), s.srv.Token())
	require.NotContains(t, log.String(), strings.SplitN(s.srv.Token(), ":", 2)[1])
}

func TestTypingLeavesRoomForMessages(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, nil)
	s.srv.Join(telegramtest.Private(1001))
	began := time.Now()
	for range 200 {
		require.NoError(t, s.adapter.Typing(t.Context(), direct("1001")))
	}
	require.LessOrEqual(t, s.srv.Typing(1001), 21+int(10*time.Since(began).Seconds()))
	require.GreaterOrEqual(t, s.srv.Typing(1001), 20)
}

func TestCommandsAndProbe(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, nil)
	require.NoError(t, s.adapter.SetCommands(t.Context(), []adapters.Command{{Name: "help", Description: "What I can do"}}))
	require.Equal(t, []models.BotCommand{{Command: "help", Description: "What I can do"}}, s.srv.Commands())
	me, err := s.adapter.Probe(t.Context())
	require.NoError(t, err)
	require.Equal(t, "test0_bot", me.Username)
	require.True(t, me.Bot)
}

func TestRevokedTokenShowsInState(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, nil)
	s.srv.Revoke(true)
	err := s.adapter.Run(t.Context(), s.inbox)
	require.Equal(t, adapters.Auth, adapters.AsFailure(err).Kind)
	state := s.adapter.State()
	require.Equal(t, adapters.Failed, state.Status)
	require.Contains(t, state.Detail, "BotFather")
	n, err := testutil.GatherAndCount(s.metrics, "sluice_telegram_calls_total")
	require.NoError(t, err)
	require.Equal(t, 1, n)
}

func TestAccountsDoNotInterfere(t *testing.T) {
	t.Parallel()
	srv := telegramtest.Start(t, telegramtest.Options{Tokens: []string{"1:one", "2:two"}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	boxes := map[string]*inbox{}
	ended := make(chan error, 2)
	for account, token := range map[string]string{"one": "1:one", "two": "2:two"} {
		a, err := telegram.New(telegram.Config{Account: account, Token: adapters.Secret(token), APIBase: srv.URL()})
		require.NoError(t, err)
		t.Cleanup(a.Close)
		box := newInbox()
		boxes[account] = box
		go func() { ended <- a.Run(ctx, box) }()
	}
	srv.BotFor("2:two").Revoke(true)
	srv.BotFor("1:one").Say(telegramtest.Private(1001), ada, "to one")
	require.Equal(t, "one", boxes["one"].wait(t, 1)[0].Route.Account)
	require.Error(t, <-ended, "two is revoked")
	srv.BotFor("1:one").Say(telegramtest.Private(1001), ada, "again")
	boxes["one"].wait(t, 2)
	cancel()
	require.NoError(t, <-ended)
}

func TestConfigFaults(t *testing.T) {
	t.Parallel()
	_, err := telegram.New(telegram.Config{Token: "nonsense-token", APIBase: "ftp://x", Mode: telegram.Webhook, RichMessages: "maybe"})
	for _, part := range []string{"token", "apiBase", "richMessages", "webhookURL", "webhookSecret"} {
		require.ErrorContains(t, err, part)
	}
	require.NotContains(t, err.Error(), "nonsense-token")
	require.Equal(t, "{<secret>}", fmt.Sprintf("%v", struct{ S adapters.Secret }{"x"}))
}
