package wire_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/model/wire"
	"sluice/sessions"
)

// body is a transport whose every response is the same bytes.
type body []byte

func (b body) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Request: r, Body: io.NopCloser(bytes.NewReader(b))}, nil
}

// FuzzEvents looks that whatever comes, only the end marker makes an answer.
func FuzzEvents(f *testing.F) {
	for _, seed := range []string{"", "data: END\n\n", "data: END", "event: a\r\ndata\r\n\r\n:\n", "data: 1\ndata: 2\n\ndata: EN", "\n\n\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		client := wire.NewClient(wire.Config{Transport: body(raw), Model: "p/m"})
		var got record
		err := client.Stream(t.Context(), "http://provider", nil, one, &got)
		require.Equal(t, err == nil, got.ended, "%q", got.events)
		var me *sessions.ModelError
		require.True(t, err == nil || errors.As(err, &me) && me.Kind == sessions.ModelCut, "%v", err)
	})
}
