package app_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"sluice/internal/alert"
	"sluice/store/sqlite/sqlitetest"
)

// part is what /readyz says of a component.
func (g *gateway) part(name string) (detail string, ok bool) {
	var got struct {
		Ready bool
		Parts []struct {
			Name, Detail string
			OK           bool
		}
	}
	require.NoError(g.t, json.NewDecoder(g.call(http.MethodGet, "/readyz", "").Body).Decode(&got))
	for _, p := range got.Parts {
		if p.Name == name {
			require.True(g.t, got.Ready, "other replicas are no reason to refuse work")
			return p.Detail, p.OK
		}
	}
	require.Fail(g.t, "no part "+name)
	return "", false
}

// Replicas report that one of them got a change of the configuration which the others did not get, and that a gateway with another
// database has joined them.
func TestReplicasThatDiffer(t *testing.T) {
	t.Parallel()
	gateways := replicas(t, 2, "owners: [\"telegram:1001\"]\n")
	address := gateways[0].cfg.Bus.URL.Reveal()
	conn, err := nats.Connect(address)
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	beats, err := conn.SubscribeSync("sluice.members")
	require.NoError(t, err)
	differ := func(want string) {
		t.Helper()
		for _, g := range gateways {
			for beat := 0; ; beat++ {
				detail, ok := g.part("replicas")
				if ok == (want == "") && strings.Contains(detail, want) {
					break
				}
				require.Less(t, beat, 100, "heartbeats, and it still says %q", detail)
				_, err := beats.NextMsg(patience)
				require.NoError(t, err)
			}
		}
	}
	change := func(g *gateway) {
		t.Helper()
		next := *g.cfg
		next.Owners = []string{"telegram:1002"}
		_, err := g.Reload(&next)
		require.NoError(t, err)
	}
	differ("")
	change(gateways[0])
	differ("different configurations: owners")
	require.Equal(t, alert.Warning, gateways[1].trouble("replicas/").Severity)
	change(gateways[1])
	differ("")

	other := &gateway{t: t, state: sqlitetest.Dir(t), log: newOutput()}
	other.cfg = load(t, other.state, "bus: { url: \""+address+"\" }\nowners: [\"telegram:1001\"]\n")
	other.begin()
	t.Cleanup(other.end)
	gateways = append(gateways, other)
	differ("different databases")
	require.Equal(t, alert.Critical, gateways[0].trouble("replicas/").Severity)
}
