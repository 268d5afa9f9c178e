package telegramtest_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sluice/adapters/telegram/telegramtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var ada = telegramtest.User{ID: 1001, FirstName: "Ada"}

type updates struct {
	OK          bool            `json:"ok"`
	Code        int             `json:"error_code"`
	Description string          `json:"description"`
	Result      []models.Update `json:"result"`
}

func ask(ctx context.Context, t *testing.T, srv *telegramtest.Server, body string) updates {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL()+"/bot"+srv.Token()+"/getUpdates", strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(r)
	require.NoError(t, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	var u updates
	require.NoError(t, json.Unmarshal(text, &u), "%s", text)
	return u
}

func TestOffsetConfirmsUpdates(t *testing.T) {
	t.Parallel()
	srv := telegramtest.Start(t, telegramtest.Options{})
	first := srv.Say(telegramtest.Private(1001), ada, "one")
	srv.Say(telegramtest.Private(1001), ada, "two \"q\" \u2028")

	got := ask(t.Context(), t, srv, `{"timeout":5}`)
	require.Len(t, got.Result, 2)
	require.Equal(t, "two \"q\" \u2028", got.Result[1].Message.Text)
	require.Len(t, ask(t.Context(), t, srv, `{"limit":1}`).Result, 1, "not confirmed, so given again")
	again := ask(t.Context(), t, srv, `{"offset":`+json.Number(itoa(first.UpdateID+1)).String()+`}`)
	require.Len(t, again.Result, 1)
	require.Equal(t, 1, srv.Pending())

	srv.Redeliver(first.UpdateID)
	repeat := ask(t.Context(), t, srv, `{"offset":`+itoa(first.UpdateID+1)+`}`)
	require.Equal(t, first.UpdateID, repeat.Result[0].ID)
}

func itoa(n int64) string { b, _ := json.Marshal(n); return string(b) }

func TestSecondPollerEndsTheFirst(t *testing.T) {
	t.Parallel()
	srv := telegramtest.Start(t, telegramtest.Options{})
	ended := make(chan updates, 1)
	go func() { ended <- ask(t.Context(), t, srv, `{"timeout":30}`) }()
	_, err := srv.WaitCalls(t.Context(), "getUpdates", 1)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	second := make(chan struct{})
	go func() {
		defer close(second)
		srv.Say(telegramtest.Private(1001), ada, "hi")
		ask(ctx, t, srv, `{"timeout":0}`)
	}()
	<-second
	<-ended // it got the message or the conflict, whichever came first
}

func TestBotSDKSpeaksToIt(t *testing.T) {
	t.Parallel()
	srv := telegramtest.Start(t, telegramtest.Options{})
	srv.Join(telegramtest.Private(1001))
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	b, err := bot.New(srv.Token(), bot.WithServerURL(srv.URL()), bot.WithHTTPClient(0, client))
	require.NoError(t, err)
	m, err := b.SendMessage(t.Context(), &bot.SendMessageParams{
		ChatID: 1001, Text: "<b>hi</b> &amp; <a href=\"https://example.org\">there</a>", ParseMode: models.ParseModeHTML,
	})
	require.NoError(t, err)
	require.Equal(t, "hi & there", m.Text)
	_, err = b.EditMessageText(t.Context(), &bot.EditMessageTextParams{ChatID: 1001, MessageID: m.ID, Text: "1234"})
	require.NoError(t, err)
	ok, err := b.SetMyCommands(t.Context(), &bot.SetMyCommandsParams{Commands: []models.BotCommand{{Command: "help", Description: "Help"}}})
	require.NoError(t, err)
	require.True(t, ok)

	sent, err := srv.WaitSent(t.Context(), 1001, 1)
	require.NoError(t, err)
	require.Equal(t, "1234", sent[0].Plain)
	require.Equal(t, 1, sent[0].Edits)
	require.Equal(t, "help", srv.Commands()[0].Command)
}

func TestRefusesBadMarkup(t *testing.T) {
	t.Parallel()
	srv := telegramtest.Start(t, telegramtest.Options{})
	srv.Join(telegramtest.Private(1001))
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	b, err := bot.New(srv.Token(), bot.WithServerURL(srv.URL()), bot.WithSkipGetMe(), bot.WithHTTPClient(0, client))
	require.NoError(t, err)
	for _, text := range []string{"<b>x", "x</b>", "<b><i>x</b></i>", "<p>x</p>", "a < b", `<a onclick="x">y</a>`} {
		_, err = b.SendMessage(t.Context(), &bot.SendMessageParams{ChatID: 1001, Text: text, ParseMode: models.ParseModeHTML})
		require.ErrorContains(t, err, "can't parse entities", text)
	}
	_, err = b.SendMessage(t.Context(), &bot.SendMessageParams{ChatID: 1001, Text: strings.Repeat("😀", 2049)})
	require.ErrorContains(t, err, "message is too long")
	_, err = b.SendMessage(t.Context(), &bot.SendMessageParams{ChatID: 77, Text: "x"})
	require.ErrorContains(t, err, "chat not found")
}

func TestFaults(t *testing.T) {
	t.Parallel()
	srv := telegramtest.Start(t, telegramtest.Options{})
	srv.Join(telegramtest.Private(1001))
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	b, err := bot.New(srv.Token(), bot.WithServerURL(srv.URL()), bot.WithSkipGetMe(), bot.WithHTTPClient(0, client))
	require.NoError(t, err)
	send := func() error {
		_, err := b.SendMessage(t.Context(), &bot.SendMessageParams{ChatID: 1001, Text: "x"})
		return err
	}
	srv.Inject(telegramtest.RateLimit(30).On("sendMessage"))
	require.ErrorContains(t, send(), "retry_after 30")
	srv.Inject(telegramtest.DropBefore())
	require.Error(t, send())
	require.Empty(t, srv.Sent(1001))
	srv.Inject(telegramtest.DropAfter())
	require.Error(t, send())
	require.Len(t, srv.Sent(1001), 1)
	require.NoError(t, send())
}
