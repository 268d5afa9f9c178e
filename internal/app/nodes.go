package app

import (
	"context"
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sluice/adapters"
	"sluice/adapters/node"
	"sluice/internal/config/automation"
	"sluice/internal/mcp"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/nodes"
	"sluice/sessions"
)

// nodeParts are the registry of nodes and their channel.
type nodeParts struct {
	*nodes.Registry
	*node.Adapter
	rows nodes.Store
	in   func() adapters.Acceptor
}

// toolTimeout bounds a call of a node's tool.
const toolTimeout = 2 * time.Minute

func newNodes(a *App) *nodeParts {
	registry := nodes.New(a.store, a.now, a.cfg.Nodes.Pairing != automation.PairingDisabled)
	cfg := node.Config{
		Channel: nodes.Channel, Account: nodes.Account, Registry: registry, Tools: nodeTools{a.mcp}, Now: a.now, Log: a.log, Registerer: a.registry,
	}
	if a.cfg.Bus.URL.Reveal() != "" { // other replicas may have a node's connection
		cfg.Relay = a.bus
	}
	return &nodeParts{Registry: registry, Adapter: node.New(cfg), rows: a.store, in: func() adapters.Acceptor { return a.supervisor.Acceptor(nodes.Channel, nodes.Account) }}
}

// Changed implements the router's port: it ends connections of nodes that were revoked or have another level.
func (p *nodeParts) Changed(all []ledger.Node) {
	p.Registry.Changed(all)
	for _, n := range all {
		p.Adapter.Changed(n)
	}
}

// Node implements the API's port.
func (p *nodeParts) Node(ctx context.Context, id string) (ledger.Node, error) {
	return p.rows.Node(ctx, id)
}

// Connect implements the API's port.
func (p *nodeParts) Connect(w http.ResponseWriter, r *http.Request) error {
	return p.ServeConnection(w, r, p.in())
}

// level is the level of a node, for the gate.
func (p *nodeParts) level(id sessions.ConversationID) flow.Level {
	if id == "" {
		return flow.Public // the channel as a whole
	}
	return p.Level(string(id))
}

// nodeTools offers the tools of nodes as those of MCP servers.
type nodeTools struct{ servers *mcp.Servers }

// Attach implements [node.Tools].
func (t nodeTools) Attach(n ledger.Node, link sdk.Transport) (detach func()) {
	return t.servers.Attach(mcp.Server{Name: nodes.Channel + "-" + n.ID, Link: link, Classification: n.Label.Level(), Timeout: toolTimeout})
}
