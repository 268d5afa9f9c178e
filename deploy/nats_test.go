package deploy_test

import (
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"
)

// The servers of the compose file read its configuration, and know each other's addresses and password.
func TestNATSConfiguration(t *testing.T) {
	t.Setenv("NATS_PASSWORD", "s0123")
	for _, n := range []string{"1", "2", "3"} {
		t.Setenv("NATS_ROUTE_"+n, "nats://route:s0123@nats-"+n+":6222")
	}
	options, err := server.ProcessConfigFile("compose/replicas/nats.conf")
	require.NoError(t, err)
	require.Equal(t, "s0123", options.Password)
	require.Equal(t, "s0123", options.Cluster.Password)
	require.Len(t, options.Routes, 3)
	for _, route := range options.Routes {
		password, _ := route.User.Password()
		require.Equal(t, "s0123", password)
	}
}
