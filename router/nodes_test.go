package router_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/nodes"
	"sluice/sessions"
)

// asksToBeANode is a program that asks; its token is its name.
func (b *bundle) asksToBeANode(name string) ledger.Node {
	b.t.Helper()
	n, err := b.nodes.Ask(b.t.Context(), nodes.Asked{Name: name, Platform: "linux", Token: nodes.Hash(name)})
	require.NoError(b.t, err)
	synctest.Wait()
	return n
}

// isNode returns the row of a node.
func (b *bundle) isNode(id string) ledger.Node {
	b.t.Helper()
	n, err := b.store.Node(b.t.Context(), id)
	require.NoError(b.t, err)
	return n
}

// Each owner is asked about a program, one decides, and all buttons go.
func TestOwnersDecideAboutNodesByButtons(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		decide func(b *bundle, n ledger.Node, q ledger.Delivery)
		status ledger.NodeStatus
		want   string
	}{
		"approve": {func(b *bundle, _ ledger.Node, q ledger.Delivery) { b.hear(b.press(q, 0, "second")) }, ledger.NodeApproved, "Approved."},
		"deny":    {func(b *bundle, _ ledger.Node, q ledger.Delivery) { b.hear(b.press(q, 1, "second")) }, ledger.NodeRevoked, "Refused."},
		"over the API": {func(b *bundle, n ledger.Node, _ ledger.Delivery) {
			_, err := b.nodes.Approve(b.t.Context(), n.Code, flow.Internal, "owner")
			require.NoError(b.t, err)
		}, ledger.NodeApproved, "Approved."},
		"nobody": {func(*bundle, ledger.Node, ledger.Delivery) { time.Sleep(3 * time.Hour) }, ledger.NodePending, "The code has expired."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var k *keyed
				b := newBundle(t, func(b *bundle) {
					k = withKeys(b)
					b.settings.Owners = []string{"test:owner", "test:second"}
				})
				n := b.asksToBeANode("laptop")
				require.Equal(t, 2, k.open())
				q := b.deliveries(ledger.DeliverySent)[1]
				c.decide(b, n, q)
				synctest.Wait()
				require.Zero(t, k.open())
				for _, owner := range []string{"owner", "second"} {
					require.Contains(t, b.chat.texts(owner)[0], c.want)
				}
				require.Equal(t, c.status, b.isNode(n.ID).Status)
				require.Equal(t, "This has already been decided.", b.hear(b.press(q, 0, "second")).Notice)
				require.Equal(t, c.status, b.isNode(n.ID).Status)
			})
		})
	}
}

// Anybody who reaches the gateway can ask, so that owners are asked about few programs.
func TestOwnersAreAskedAboutFewNodes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		for _, name := range []string{"a", "b", "c", "d"} {
			b.asksToBeANode(name)
		}
		require.Len(t, b.chat.texts("owner"), 3)
		require.Contains(t, b.chat.texts("owner")[0], "Send `/nodes approve ", "this chat has no buttons")
	})
}

func TestOwnersChangeNodesInAChat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		b.gate.sinks = func(route sessions.Route) flow.Level {
			if route.ChatType == sessions.Direct {
				return flow.Restricted
			}
			return flow.Public
		}
		require.Contains(t, b.tell("owner", "/nodes"), "There are no nodes here.")
		n := b.asksToBeANode("laptop")
		require.Contains(t, b.tell("owner", "/nodes"), "waits: `/nodes approve "+n.Code)
		require.Contains(t, b.tell("guest", "/nodes approve "+n.Code), "Only an owner")
		require.Contains(t, b.tell("owner", "/nodes approve WRONG"), "No node waits with this code")
		require.Contains(t, b.tell("owner", "/nodes approve "+n.Code+" secret"), "Usage:")
		require.Equal(t, ledger.NodePending, b.isNode(n.ID).Status)
		require.Contains(t, b.tell("owner", "/nodes approve "+n.Code+" internal"), "nothing above INTERNAL")
		require.Equal(t, flow.Internal, b.isNode(n.ID).Label.Level())
		require.Equal(t, flow.Internal, b.nodes.Level(n.ID))

		require.Contains(t, b.tell("owner", "/nodes level "+n.ID+" confidential"), "has the level CONFIDENTIAL now")
		require.Equal(t, flow.Confidential, b.nodes.Level(n.ID), "at once on this replica")
		require.Contains(t, b.tell("owner", "/nodes list"), "`"+n.ID+"` (linux), level CONFIDENTIAL")
		require.Equal(t, 1, b.audited("node.level"))

		group := func(text string) string {
			b.commands++
			m := in("owner", "group-"+string(rune('a'+b.commands)), text)
			m.Route.ChatType, m.Route.Conversation, m.Mentioned = sessions.Group, "team", true
			return b.hear(m).Notice
		}
		require.Contains(t, group("/nodes"), "There are no nodes here.", "the group may not know it")
		require.Contains(t, group("/nodes level "+n.ID+" public"), "There is no such node here.")
		require.Contains(t, group("/nodes revoke "+n.ID), "There is no such node here.")
		require.Equal(t, flow.Confidential, b.isNode(n.ID).Label.Level())

		require.Contains(t, b.tell("owner", "/nodes revoke "+n.ID), "no longer has access")
		require.Equal(t, ledger.NodeRevoked, b.isNode(n.ID).Status)
		require.Contains(t, b.tell("owner", "/nodes level "+n.ID+" public"), "There is no such node here.")
	})
}
