package app_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/internal/alert"
	"sluice/internal/app"
	"sluice/internal/bus"
	"sluice/internal/config/hooks"
	"sluice/internal/httpapi/operator"
	"sluice/policy/flow"
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
			require.True(g.t, got.Ready, "the gateway stays ready when other replicas differ")
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
	next := *gateways[1].cfg
	next.Owners = []string{"telegram:1002"}
	next.Hooks = hooks.Hooks{"first": {Secrets: []adapters.Secret{"the-secret-of-a-first-hook"}}}
	_, err = gateways[1].Reload(&next)
	require.NoError(t, err)
	differ("different configurations: hooks")

	other := &gateway{t: t, state: sqlitetest.Dir(t), log: newOutput()}
	other.cfg = load(t, other.state, "bus: { url: \""+address+"\" }\nowners: [\"telegram:1001\"]\n")
	other.begin()
	t.Cleanup(other.end)
	gateways = append(gateways, other)
	differ("different databases")
	require.Equal(t, alert.Critical, gateways[0].trouble("replicas/database").Severity)
}

// The gateway stays ready when its bus lacks only live events or steps.
func TestThePartialBus(t *testing.T) {
	t.Parallel()
	require.Equal(t, operator.Health{Name: "bus", OK: true}, app.BusPart(nil))
	gone := app.BusPart(errors.New("gone"))
	require.False(t, gone.OK || gone.Optional)
	full := app.BusPart(fmt.Errorf("incomplete: %w", bus.ErrPartial))
	require.False(t, full.OK)
	require.True(t, full.Optional)
}

// An account that does not work on the replica that serves it is a part that does not work on the others too. They stay ready, and
// leave the alert to the one that serves it.
func TestAnAccountInStandby(t *testing.T) {
	t.Parallel()
	s := adapters.State{Channel: "telegram", Account: "main", Status: adapters.Standby, Detail: "another replica serves the account"}
	p := app.AccountPart(&s, flow.Internal)
	require.True(t, p.OK && p.Optional)
	s.Elsewhere = "failed: the token is revoked"
	p = app.AccountPart(&s, flow.Internal)
	require.False(t, p.OK)
	require.True(t, p.Optional)
	require.Empty(t, app.ComponentTroubles([]operator.Health{p}))

	s = adapters.State{Channel: "telegram", Account: "main", Status: adapters.Failed}
	p = app.AccountPart(&s, flow.Internal)
	require.False(t, p.OK || p.Optional)
	require.Equal(t, "failed", p.Detail)
	found := app.ComponentTroubles([]operator.Health{p, {Name: "disk"}, app.BusPart(bus.ErrPartial), {Name: "store", OK: true}})
	require.Len(t, found, 2)
	require.Equal(t, []any{"telegram/main", alert.Error, "telegram", flow.Internal}, []any{found[0].Name, found[0].Severity, found[0].Avoid, found[0].Level})
	require.Equal(t, []any{"bus", alert.Warning}, []any{found[1].Name, found[1].Severity})
}
