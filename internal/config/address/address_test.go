package address_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/config/address"
)

func TestLocal(t *testing.T) {
	t.Parallel()
	for listen, want := range map[string]string{
		"127.0.0.1:8484": "http://127.0.0.1:8484", ":9000": "http://127.0.0.1:9000", "0.0.0.0:80": "http://127.0.0.1:80", "[::]:80": "http://127.0.0.1:80",
		"[::1]:80": "http://[::1]:80", "gateway.lan:80": "http://gateway.lan:80", "127.0.0.1:0": "", "8484": "", "": "", "127.0.0.1:": "",
	} {
		require.Equal(t, want, address.Local(listen), listen)
	}
}
