package address_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/sessions/address"
)

func TestPrincipalsAreParsed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct {
		channel string
		id      address.UserID
		ok      bool
	}{
		"telegram:1001":     {"telegram", "1001", true},
		"webchat:token:ops": {"webchat", "token:ops", true},
		"telegram:":         {"telegram", "", false},
		"telegram":          {"telegram", "", false},
		":1001":             {"", "1001", false},
		"":                  {"", "", false},
	} {
		channel, id, ok := address.ParsePrincipal(text)
		require.Equal(t, want.channel, channel, text)
		require.Equal(t, want.id, id, text)
		require.Equal(t, want.ok, ok, text)
		if ok {
			require.Equal(t, text, address.Principal(channel, id))
		}
	}
}
