package conversation

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/router/ledger"
	"sluice/sessions"
)

func TestTurnStatuses(t *testing.T) {
	t.Parallel()
	for run, want := range map[sessions.RunStatus]string{
		sessions.RunDone: "ok", sessions.RunFailed: "error", sessions.RunAborted: "error", sessions.RunDropped: "error",
		sessions.RunTimeout: "timeout", sessions.RunQueued: "timeout", sessions.RunRunning: "timeout",
	} {
		require.Equal(t, want, turnStatus(run), run)
	}
}

// The OpenAPI document promises a list of hops, so it is [] and not null after retention has emptied the exchange.
func TestEmptiedExchangeHasAListOfHops(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(exchangeOf(ledger.Exchange{}))
	require.NoError(t, err)
	require.Contains(t, string(text), `"hops":[]`)
}
