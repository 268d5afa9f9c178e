package telegram_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/adapters/telegram/telegramtest"
)

// oddUpdates are messages with a field of a type that is not expected, with what is left of their text.
func oddUpdates() map[string][2]string {
	const head = `{"update_id":%d,"message":{"message_id":5,"date":1,"chat":{"id":1001,"type":"private"},"from":{"id":1001,"first_name":"Ada"},`
	return map[string][2]string{
		"text":     {head + `"text":7}}`, ""},
		"entities": {head + `"text":"hello","entities":{"type":"bold"}}}`, "hello"},
		"photo":    {head + `"caption":"hello","photo":"x"}}`, "hello"},
		"size":     {head + `"caption":"hello","document":{"file_id":"f","file_size":"big"}}}`, "hello"},
		"reply":    {head + `"text":"hello","reply_to_message":5}}`, "hello"},
		"contact":  {head + `"text":"hello","contact":[]}}`, "hello"},
	}
}

func TestPolledUpdatesAreReadAsFarAsTheyCan(t *testing.T) {
	t.Parallel()
	for name, c := range oddUpdates() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, telegramtest.Options{}, nil)
			s.srv.Say(telegramtest.Private(1001), ada, "before")
			s.srv.PostRaw(func(id int64) string { return strings.ReplaceAll(c[0], "%d", strconv.FormatInt(id, 10)) })
			s.srv.Say(telegramtest.Private(1001), ada, "after")
			s.run(t)
			got := s.inbox.wait(t, 3)
			require.Equal(t, c[1], got[1].Text)
			require.NotEmpty(t, got[1].Unread)
			require.Empty(t, got[0].Unread+got[2].Unread)
		})
	}
}

func TestPostedUpdatesAreReadAsFarAsTheyCan(t *testing.T) {
	t.Parallel()
	for name, c := range oddUpdates() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := hooked(t)
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/channels/telegram/default", strings.NewReader(fmt.Sprintf(c[0], 1)))
			r.Header.Set("X-Telegram-Bot-Api-Secret-Token", "s3cret")
			w := httptest.NewRecorder()
			s.adapter.ServeCallback(w, r, s.inbox)
			require.Equal(t, http.StatusOK, w.Code)
			got := s.inbox.wait(t, 1)
			require.Equal(t, c[1], got[0].Text)
			require.NotEmpty(t, got[0].Unread)
		})
	}
}
