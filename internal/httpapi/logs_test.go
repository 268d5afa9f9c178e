package httpapi_test

import (
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/httpapi"
	"sluice/internal/httpapi/auth"
	"sluice/internal/logs"
	"sluice/policy/flow"
)

func TestLogsAreListed(t *testing.T) {
	t.Parallel()
	kept := logs.New(time.Unix(1, 0), func(text string) string { return text })
	h := newServer(t, newGateway(), func(c *httpapi.Config) {
		c.Logs = kept
		c.Access.Tokens = append(c.Access.Tokens, auth.Credential{Name: "low", Token: "low", Level: flow.Internal, Role: auth.RoleOwner})
	}).Handler()
	log := slog.New(kept.Handler(slog.NewTextHandler(discard{}, nil)))
	for i := range 3 {
		log.Info("line", "n", i)
	}
	log.Warn("cannot send", "channel", "telegram", "account", "default", "err", "time-out")

	w := call(h, "GET", "/v1/logs?level=warn", "")
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.Contains(t, w.Body.String(), `"level":"warn","part":"telegram/default","text":"cannot send","fields":[{"name":"channel","value":"telegram"},{"name":"account","value":"default"},{"name":"err","value":"time-out"}]`)
	require.NotContains(t, w.Body.String(), `"value":"0"`)
	require.Empty(t, w.Header().Get("Link"))

	w = call(h, "GET", "/v1/logs?q=line&limit=2", "")
	require.Regexp(t, `"n","value":"2".*"n","value":"1"`, w.Body.String())
	require.Regexp(t, `^</v1/logs\?after=\w+-2&limit=2&q=line>; rel="next"$`, w.Header().Get("Link"))
	require.Equal(t, http.StatusForbidden, call(h, "GET", "/v1/logs", "", low).Code)
	require.Equal(t, http.StatusUnprocessableEntity, call(h, "GET", "/v1/logs?level=loud", "").Code)
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
