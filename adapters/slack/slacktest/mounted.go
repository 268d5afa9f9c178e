package slacktest

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"

	"sluice/adapters"
	"sluice/adapters/slack"
)

// mounted is an adapter in mode http together with the server that the gateway would
// mount it on, which takes requests while Run runs.
type mounted struct {
	*slack.Adapter
	platform *Platform
}

// Run implements adapters.Adapter.
func (m *mounted) Run(ctx context.Context, in adapters.Acceptor) error {
	gateway := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.ServeCallback(w, r, in)
	}))
	gateway.Config.BaseContext = func(net.Listener) context.Context { return ctx }
	gateway.Start()
	defer gateway.Close()
	m.platform.Callback(gateway.URL + "/channels/slack/default")
	defer m.platform.Callback("")
	return m.Adapter.Run(ctx, in)
}
