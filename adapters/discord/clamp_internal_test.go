package discord

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

// Numbers of Discord that no clock or memory can hold are clamped: the heart would panic, on a goroutine of its own.
func TestHeartbeatsAreClamped(t *testing.T) {
	t.Parallel()
	for _, interval := range []string{"9223372036855", "9223372036854775807", "600000"} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			ws, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer ws.Close() //nolint:errcheck // the client has gone
			if err := ws.WriteMessage(websocket.TextMessage, []byte(`{"op":10,"d":{"heartbeat_interval":`+interval+`}}`)); err != nil {
				t.Error(err)
			}
			_, _, _ = ws.ReadMessage() // until the client goes
		}))
		t.Cleanup(srv.Close)
		ws, _, err := websocket.DefaultDialer.DialContext(t.Context(), strings.Replace(srv.URL, "http", "ws", 1), nil)
		require.NoError(t, err)
		c := &connection{ws: ws}
		require.NoError(t, c.hello(t.Context(), 10*time.Second))
		require.Equal(t, 5*time.Minute, c.interval, interval)
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		require.NoError(t, c.sendHeartbeats(ended, func() int64 { return 0 }))
		c.close(closeResumable)
	}
}

// What Discord says of the day's budget is clamped too.
func TestBudgetIsClamped(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"url":"ws://127.0.0.1:1","shards":2,"session_start_limit":{"total":1,"remaining":0,"reset_after":9223372036854775807,"max_concurrency":1000000}}`)
	}))
	t.Cleanup(srv.Close)
	a, err := New(Config{Account: "default", Token: "MTAwMDAwMA.test.token-of-the-bot", APIBase: srv.URL, Now: time.Now, Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry()})
	require.NoError(t, err)
	t.Cleanup(a.Close)
	g, err := newGate(t.Context(), a.api)
	require.NoError(t, err)
	require.Equal(t, 2, len(g.buckets)) //nolint:testifylint // a failure must not print a million of them
	wait, left := g.budget()
	require.Equal(t, 24*time.Hour, wait)
	require.Zero(t, left)
}
