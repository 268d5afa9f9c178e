package wire

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUnknownIsBounded(t *testing.T) {
	t.Parallel()
	u := NewUnknown()
	require.True(t, u.take("a", unknownShare))
	require.False(t, u.take("a", 1), "one address leaves room for others")
	for _, from := range []string{"b", "c", "d"} {
		require.True(t, u.take(from, unknownShare))
	}
	require.False(t, u.take("e", 1))
	u.release("a", unknownShare)
	require.True(t, u.take("e", 1))
	require.NotContains(t, u.by, "a")
}

func TestUnknownReadsUpToALimit(t *testing.T) {
	t.Parallel()
	u := NewUnknown()
	for size, want := range map[int]string{64 << 10: "", 64<<10 + 1: "the body is larger than 64 KiB"} {
		for _, told := range []bool{true, false} {
			r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(strings.Repeat("x", size)))
			if !told {
				r.ContentLength = -1
			}
			body, done, err := u.Read(httptest.NewRecorder(), r, 64<<10)
			if want != "" {
				require.ErrorContains(t, err, want)
			} else {
				require.NoError(t, err)
				require.Len(t, body, size)
				require.Positive(t, u.total)
			}
			done()
			require.Zero(t, u.total)
		}
	}
	require.ErrorContains(t, tooLarge(2<<20), "2 MiB")
}

func TestAddress(t *testing.T) {
	t.Parallel()
	for from, want := range map[string]string{
		"192.0.2.1:80": "192.0.2.1", "[2001:db8:1:2:3::4]:80": "2001:db8:1:2::/64", "[::ffff:192.0.2.1]:80": "192.0.2.1", "@": "@",
	} {
		require.Equal(t, want, Address(&http.Request{RemoteAddr: from}), from)
	}
}
