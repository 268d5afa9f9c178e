package telegram_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/adapters/telegram"
	"sluice/adapters/telegram/telegramtest"
)

// hooked is a setup in webhook mode whose callback is mounted on a server.
func hooked(t *testing.T) *setup {
	t.Helper()
	var s *setup
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.adapter.ServeCallback(w, r, s.inbox)
	}))
	t.Cleanup(front.Close)
	s = newSetup(t, telegramtest.Options{}, func(c *telegram.Config) {
		c.Mode, c.WebhookURL, c.WebhookSecret = telegram.Webhook, front.URL, "s3cret"
	})
	return s
}

func TestWebhookDelivers(t *testing.T) {
	t.Parallel()
	s := hooked(t)
	refusals := 0
	s.inbox.refuse = func(adapters.Inbound) error {
		if refusals++; refusals < 3 {
			return errRefused
		}
		return nil
	}
	s.srv.Say(telegramtest.Private(1001), ada, "one")
	s.srv.PostRaw(func(int64) string { return `{"update_id":1,"message":7}` })
	s.srv.Say(telegramtest.Private(1001), ada, "two")
	s.run(t)
	require.NoError(t, s.srv.WaitConfirmed(t.Context()))
	got := s.inbox.wait(t, 2)
	require.Equal(t, "one", got[0].Text)
	require.Equal(t, "two", got[1].Text)
	require.Equal(t, 4, refusals, "refused twice and sent again")
	require.Equal(t, adapters.Connected, s.adapter.State().Status)
	require.Contains(t, string(s.srv.Calls("setWebhook")[0].Params), `"secret_token":"s3cret"`)
}

func TestWebhookRefuses(t *testing.T) {
	t.Parallel()
	good := `{"update_id":1,"message":{"message_id":1,"date":1,"chat":{"id":1,"type":"private"},"text":"x"}}`
	for name, c := range map[string]struct {
		method, secret, body string
		want                 int
	}{
		"good":           {"POST", "s3cret", good, 200},
		"wrong secret":   {"POST", "other", good, 401},
		"no secret":      {"POST", "", good, 401},
		"get":            {"GET", "s3cret", "", 405},
		"no json":        {"POST", "s3cret", "{", 400},
		"empty":          {"POST", "s3cret", "", 400},
		"a megabyte":     {"POST", "s3cret", `{"x":"` + strings.Repeat("a", 1<<20) + `"}`, 413},
		"not an update":  {"POST", "s3cret", `[]`, 200},
		"unknown update": {"POST", "s3cret", `{"update_id":3,"new_kind":{}}`, 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := hooked(t)
			r := httptest.NewRequestWithContext(t.Context(), c.method, "/channels/telegram/default", strings.NewReader(c.body))
			r.Header.Set("X-Telegram-Bot-Api-Secret-Token", c.secret)
			w := httptest.NewRecorder()
			s.adapter.ServeCallback(w, r, s.inbox)
			require.Equal(t, c.want, w.Code)
		})
	}
}

func TestPollingBotTakesNoCallback(t *testing.T) {
	t.Parallel()
	s := newSetup(t, telegramtest.Options{}, func(c *telegram.Config) { c.WebhookSecret = "s3cret" })
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(`{}`))
	r.Header.Set("X-Telegram-Bot-Api-Secret-Token", "s3cret")
	w := httptest.NewRecorder()
	s.adapter.ServeCallback(w, r, s.inbox)
	require.Equal(t, http.StatusNotFound, w.Code)
}

func TestWebhookKeepsLargeMessage(t *testing.T) {
	t.Parallel()
	s := hooked(t)
	body := `{"update_id":1,"message":{"message_id":1,"date":1,"chat":{"id":1,"type":"private"},"text":"` + strings.Repeat("a", 1<<20-200) + `"}}`
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("X-Telegram-Bot-Api-Secret-Token", "s3cret")
	w := httptest.NewRecorder()
	s.adapter.ServeCallback(w, r, s.inbox)
	require.Equal(t, http.StatusOK, w.Code)
	require.Len(t, s.inbox.wait(t, 1)[0].Text, 1<<20-200)
}

func TestWebhookWaitsUntilTheBotIsKnown(t *testing.T) {
	t.Parallel()
	s := hooked(t)
	s.srv.Inject(telegramtest.APIError(500, "down").On("getMe"))
	body := `{"update_id":1,"message":{"message_id":1,"date":1,"chat":{"id":1,"type":"private"},"text":"x"}}`
	for _, want := range []int{http.StatusServiceUnavailable, http.StatusOK} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
		r.Header.Set("X-Telegram-Bot-Api-Secret-Token", "s3cret")
		w := httptest.NewRecorder()
		s.adapter.ServeCallback(w, r, s.inbox)
		require.Equal(t, want, w.Code)
	}
}

// FuzzUpdate posts anything as an update: it is taken or refused, never a panic,
// and what goes on is valid text.
func FuzzUpdate(f *testing.F) {
	for _, seed := range []string{
		`{"update_id":1,"message":{"message_id":1,"date":1,"chat":{"id":1,"type":"private"},"text":"x"}}`,
		`{"update_id":1,"message":{"message_id":1,"chat":{"id":-1,"type":"supergroup","is_forum":true},"is_topic_message":true,"message_thread_id":3,"text":"@test0_bot \ud83d","entities":[{"type":"mention","offset":0,"length":10}],"reply_to_message":{"message_id":3}}}`,
		`{"update_id":2,"edited_channel_post":{"message_id":9,"chat":{"id":-5,"type":"channel"},"caption":"c","photo":[{"file_id":"a"}]}}`,
		`{"update_id":3,"callback_query":{"id":"9","from":{"id":1},"data":"/yes","message":{"message_id":4,"chat":{"id":-1}}}}`,
		`{"update_id":4,"message_reaction":{"chat":{"id":1,"type":"private"},"message_id":3,"user":{"id":1},"old_reaction":[{"type":"paid"}],"new_reaction":[{"type":"emoji","emoji":"\ud83d"}]}}`,
		`{"update_id":"x"}`, `[]`, `{`, ``,
	} {
		f.Add(seed)
	}
	srv, err := telegramtest.NewServer(telegramtest.Options{})
	require.NoError(f, err)
	f.Cleanup(srv.Close)
	a, err := telegram.New(telegram.Config{
		Token: adapters.Secret(srv.Token()), APIBase: srv.URL(), Log: slog.New(slog.DiscardHandler),
		Mode: telegram.Webhook, WebhookURL: "https://example.org", WebhookSecret: "s3cret",
	})
	require.NoError(f, err)
	f.Cleanup(a.Close)
	f.Fuzz(func(t *testing.T, body string) {
		box := newInbox()
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(body))
		r.Header.Set("X-Telegram-Bot-Api-Secret-Token", "s3cret")
		w := httptest.NewRecorder()
		a.ServeCallback(w, r, box)
		require.Contains(t, []int{http.StatusOK, http.StatusBadRequest}, w.Code)
		for _, in := range box.got {
			require.NotEmpty(t, in.Event)
			require.NotEmpty(t, in.Route.Conversation)
			require.True(t, utf8.ValidString(in.Text+in.Sender.Name+in.Route.Title))
		}
	})
}
