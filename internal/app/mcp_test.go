package app_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// A server that is not there is shown, and disturbs nothing.
func TestTheGatewayIsReadyWithoutItsMCPServers(t *testing.T) {
	t.Parallel()
	g := start(t, `mcp: { servers: { gone: { command: [/nowhere/server] } } }`)
	g.log.await(t, "MCP server is not connected")
	resp := g.call(http.MethodGet, "/readyz", "")
	require.Equal(t, http.StatusOK, resp.StatusCode)
	var got struct {
		Parts []struct {
			Name, Detail string
			OK, Optional bool
		}
	}
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&got))
	part := got.Parts[len(got.Parts)-1]
	require.Equal(t, "mcp/gone", part.Name)
	require.False(t, part.OK)
	require.True(t, part.Optional)

	waiting, err := g.Reload(load(t, g.state, ""))
	require.NoError(t, err)
	require.Empty(t, waiting, "servers come and go without a restart")
	resp = g.call(http.MethodGet, "/v1/status", "")
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&got))
	for _, part := range got.Parts {
		require.NotEqual(t, "mcp/gone", part.Name)
	}
}
