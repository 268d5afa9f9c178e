package slack_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/adapters/slack"
	"sluice/adapters/slack/slacktest"
	"sluice/sessions"
)

// A receipt whose date is in milliseconds is one that can be stored: else it would block its conversation for ever.
func TestReceiptWithADateInMilliseconds(t *testing.T) {
	t.Parallel()
	answer, err := os.ReadFile(filepath.Join("testdata", "receipts", "milliseconds.json"))
	require.NoError(t, err)
	platform := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(answer) // the adapter may have gone
	}))
	t.Cleanup(platform.Close)
	s := newSetup(t, slacktest.Options{}, func(c *slack.Config) { c.APIBase = platform.URL })
	receipt, err := s.adapter.Send(t.Context(), adapters.Outbound{
		DeliveryID: "dlv_1", Text: "hello", Route: sessions.Route{Channel: "slack", Account: "default", ChatType: sessions.Direct, Conversation: "D0001"},
	})
	require.NoError(t, err)
	require.Equal(t, sessions.PlatformMessageID("1700000000000.000100"), receipt.MessageID)
	require.WithinDuration(t, time.Now(), receipt.At, time.Minute, "what no clock shows is the moment of the answer")
	_, err = json.Marshal(receipt)
	require.NoError(t, err)
}
