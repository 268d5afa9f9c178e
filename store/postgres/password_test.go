package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/store/postgres"
)

// Whatever is wrong with an address, its error does not tell the password.
func TestNoErrorTellsThePassword(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{
		"slash in it":         "postgres://sluice:PASS/WORD@127.0.0.1:1/x",
		"question mark in it": "postgres://sluice:PASS?WORD@127.0.0.1:1/x",
		"hash in it":          "postgres://sluice:PASS#WORD@127.0.0.1:1/x",
		"percent in it":       "postgres://sluice:PASS%WORD@127.0.0.1:1/x",
		"at in it":            "postgres://sluice:PASS@WORD@127.0.0.1:1/x",
		"a parameter":         "postgres://127.0.0.1:1/x?user=sluice&password=PASSWORD&port=x",
		"no such port":        "postgres://sluice:PASSWORD@127.0.0.1:port/x",
		"nobody there":        "postgres://sluice:PASSWORD@127.0.0.1:1/x?connect_timeout=2",
		"a wrong setting":     "postgres://sluice:PASSWORD@127.0.0.1:1/x?sslmode=maybe",
		"key and value":       "host=127.0.0.1 port=x password = 'PASS WORD'",
		"no scheme":           "sluice:PASSWORD@127.0.0.1/x",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := postgres.Open(t.Context(), postgres.Config{URL: url})
			require.Error(t, err)
			t.Log(err)
			require.NotContains(t, err.Error(), "PASS")
			require.NotContains(t, err.Error(), "WORD")
		})
	}
}
