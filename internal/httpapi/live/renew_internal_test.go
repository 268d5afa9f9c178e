package live

import (
	"context"
	"log/slog"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/wire"
	"sluice/policy/flow"
	"sluice/sessions"
)

// silence is a bus on which nothing happens.
type silence struct{}

func (silence) FollowAll(context.Context, uint64) (<-chan sessions.Event, error) {
	return make(chan sessions.Event), nil
}

// Nobody tells the gateway that a person has signed out at a proxy, so such a stream ends after a minute: the next request passes
// the proxy again. Other streams go on until the caller goes or signs out.
func TestAStreamBehindAProxyIsRenewed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lasts time.Duration
		bye   string
	}{
		"proxy:ann": {time.Minute, `{"reason":"renew"}`},
		"ann":       {time.Hour, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, leave := context.WithTimeout(t.Context(), time.Hour)
				defer leave()
				a := &API{Events: silence{}, Rows: rows{}, Cursors: wire.Cursors{}, Ending: t.Context(), Log: slog.New(slog.DiscardHandler)}
				w, began := httptest.NewRecorder(), time.Now()
				r := auth.Admit(httptest.NewRequestWithContext(ctx, "GET", "/v1/stream", nil), auth.Caller{Name: name, Level: flow.Internal, Role: auth.RoleViewer})
				require.NoError(t, a.Watch(w, r))
				require.Equal(t, c.lasts, time.Since(began))
				if c.bye == "" {
					require.NotContains(t, w.Body.String(), "bye")
				} else {
					require.Contains(t, w.Body.String(), "event: bye\ndata: "+c.bye)
				}
			})
		})
	}
}
