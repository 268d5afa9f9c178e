package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGuests(t *testing.T) {
	t.Parallel()
	const account = `, accounts: { default: { token: "123456:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" } }`
	for name, c := range map[string]struct {
		telegram string
		want     []string
		pairs    bool
	}{
		"who has a code":        {"dmPolicy: pairing" + account, nil, true},
		"owners alone":          {`dmPolicy: allowlist, allowFrom: ["1001"]` + account, nil, false},
		"somebody else":         {`allowFrom: ["1001", "2002"]` + account, []string{"channels.telegram.allowFrom names others than owners"}, true},
		"anybody who is listed": {`dmPolicy: allowlist, allowFrom: ["*"]` + account, []string{"channels.telegram.allowFrom names others than owners"}, false},
		"anybody":               {`dmPolicy: open, allowFrom: ["2002"]` + account, []string{"channels.telegram.dmPolicy is open"}, false},
		"nobody":                {`dmPolicy: disabled, allowFrom: ["2002"]` + account, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := parsed(t, `owners: ["telegram:1001"]`+"\nchannels: { telegram: { "+c.telegram+" } }\n")
			require.Equal(t, c.want, cfg.Guests())
			require.Equal(t, c.pairs, cfg.LetsPair("telegram"))
		})
	}
}
