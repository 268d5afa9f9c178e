package httpapi

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/router/ledger"
)

// An exchange that retention has emptied has a list of hops as the document of the API says, not null.
func TestEmptiedExchangeHasAListOfHops(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(exchangeOf(ledger.Exchange{}))
	require.NoError(t, err)
	require.Contains(t, string(text), `"hops":[]`)
}
