package telegram_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/adapters/telegram"
)

// against makes an adapter whose Bot API is any handler.
func against(t *testing.T, api http.HandlerFunc) *telegram.Adapter {
	t.Helper()
	srv := httptest.NewServer(api)
	t.Cleanup(srv.Close)
	a, err := telegram.New(telegram.Config{Token: "1:token", APIBase: srv.URL, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(a.Close)
	return a
}

func TestRedirectDoesNotCarryTheTokenAway(t *testing.T) {
	t.Parallel()
	var followed atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed.Add(1) }))
	t.Cleanup(elsewhere.Close)
	a := against(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
	})
	_, err := a.Send(t.Context(), out(direct("1001"), "hi"))
	require.Equal(t, adapters.Transient, adapters.AsFailure(err).Kind)
	_, err = a.Probe(t.Context())
	require.Equal(t, adapters.Transient, adapters.AsFailure(err).Kind)
	require.Zero(t, followed.Load())
}

// An answer beyond its bound counts as lost: what was asked may be done.
func TestAnswerIsBounded(t *testing.T) {
	t.Parallel()
	padding := strings.Repeat(" ", 1<<20)
	for name, flush := range map[string]bool{"length said": false, "length not said": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := against(t, func(w http.ResponseWriter, _ *http.Request) {
				if flush {
					_ = http.NewResponseController(w).Flush()
				}
				_, _ = w.Write([]byte(`{"ok":true,"result":{"message_id":1}}` + padding)) // the caller may have gone
			})
			_, err := a.Send(t.Context(), out(direct("1001"), "hi"))
			f := adapters.AsFailure(err)
			require.Equal(t, adapters.Transient, f.Kind)
			require.False(t, f.Certain)
			require.ErrorContains(t, err, "longer than 1048576 bytes")
		})
	}
}
