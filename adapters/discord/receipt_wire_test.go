package discord_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/adapters/discord"
	"sluice/adapters/discord/discordtest"
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
	s := newSetup(t, discordtest.Options{}, func(c *discord.Config) { c.APIBase = platform.URL })
	receipt, err := s.adapter.Send(t.Context(), adapters.Outbound{
		DeliveryID: "dlv_1", Text: "hello", Route: sessions.Route{Channel: "discord", Account: "default", ChatType: sessions.Direct, Conversation: "500"},
	})
	require.NoError(t, err)
	require.Equal(t, sessions.PlatformMessageID("1174000000000000000"), receipt.MessageID)
	require.Equal(t, 2023, receipt.At.Year(), "the id says when the message was written")
	_, err = json.Marshal(receipt)
	require.NoError(t, err)
}
