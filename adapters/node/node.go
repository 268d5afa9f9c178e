// Package node is the channel of nodes: programs and devices that dial in over WebSocket (docs/nodes.md). A node is a
// conversation, and its id is also the person who speaks there.
package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/prometheus/client_golang/prometheus"

	"sluice/adapters"
	"sluice/internal/node/protocol"
	"sluice/router/ledger"
	"sluice/sessions"
)

const (
	// connectionsMax is how many nodes may be connected to one process.
	connectionsMax = 256
	// confirmWithin is how long a node may take to confirm a message.
	confirmWithin = 20 * time.Second
	// writeWithin is how long a node may leave a frame unread.
	writeWithin = 10 * time.Second
	// helloWithin is how long a node may take for its first frame.
	helloWithin = 10 * time.Second
	// recheckEvery is how often the channel checks whether another replica has revoked connected nodes or changed their levels.
	recheckEvery = 5 * time.Second
)

// Registry knows the nodes.
type Registry interface {
	// Identify returns the node of a token, or [sessions.ErrNotFound].
	Identify(ctx context.Context, token string) (ledger.Node, error)
	// Current reads a node. One that does not exist counts as revoked.
	Current(ctx context.Context, id string) (ledger.Node, error)
}

// Relay carries events between the replicas.
type Relay interface {
	Emit(event sessions.Event)
	Follow(ctx context.Context, id sessions.ID, after uint64) (<-chan sessions.Event, error)
}

// Tools offers the tools of connected nodes to agents.
type Tools interface {
	// Attach offers the tools at the other end of a transport until detach is called.
	Attach(n ledger.Node, t sdk.Transport) (detach func())
}

// Config has the dependencies of an Adapter. All fields are required, except that without a Relay only the connections of
// this process are served.
type Config struct {
	Channel    string
	Account    string
	Registry   Registry
	Relay      Relay
	Tools      Tools
	Now        func() time.Time
	Log        *slog.Logger
	Registerer prometheus.Registerer
}

// Adapter is the adapter of all nodes. Its goroutines are those of its connections; Stop waits for them.
type Adapter struct {
	cfg       Config
	life      context.Context
	end       context.CancelFunc
	connected prometheus.Gauge
	serving   sync.WaitGroup

	mu      sync.Mutex
	stopped bool
	conns   map[string]*conn // by node
}

var (
	_ adapters.Adapter           = (*Adapter)(nil)
	_ adapters.ConversationTyper = (*Adapter)(nil)
	_ adapters.Stater            = (*Adapter)(nil)
)

// New makes an adapter without connections.
func New(cfg Config) *Adapter {
	life, end := context.WithCancel(context.Background())
	connected := prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "sluice", Name: "nodes_connected", Help: "Nodes that are connected to this process."})
	cfg.Registerer.MustRegister(connected)
	return &Adapter{cfg: cfg, life: life, end: end, connected: connected, conns: map[string]*conn{}}
}

// Channel implements [adapters.Adapter].
func (a *Adapter) Channel() string { return a.cfg.Channel }

// Account implements [adapters.Adapter].
func (a *Adapter) Account() string { return a.cfg.Account }

// Run waits until ctx ends: nodes dial in.
func (*Adapter) Run(ctx context.Context, _ adapters.Acceptor) error {
	<-ctx.Done()
	return nil
}

// State always returns connected: the gateway waits for nodes.
func (*Adapter) State() adapters.State { return adapters.State{Status: adapters.Connected} }

// ConversationType is always a direct chat.
func (*Adapter) ConversationType(sessions.ConversationID) sessions.ChatType { return sessions.Direct }

// Send hands a message to a node, on whichever replica it is connected, and returns when the node has stored it. A node
// that gets the same message again confirms it without showing it, so that every failure here may be repeated.
func (a *Adapter) Send(ctx context.Context, out adapters.Outbound) (adapters.Receipt, error) {
	id := out.DeliveryID + "." + strconv.Itoa(out.Part)
	f := protocol.Frame{Kind: protocol.Deliver, ID: id, Text: out.Text, Silent: out.Silent, At: a.cfg.Now().UTC()}
	if _, err := protocol.Encode(f); err != nil {
		return adapters.Receipt{}, &adapters.Failure{Kind: adapters.TooLarge, Certain: true, Err: err}
	}
	ctx, cancel := context.WithTimeout(ctx, confirmWithin)
	defer cancel()
	node := string(out.Route.Conversation)
	var err error
	if c := a.connection(node); c != nil {
		err = c.deliver(ctx, f)
	} else {
		err = a.relay(ctx, node, f)
	}
	if err != nil {
		return adapters.Receipt{}, &adapters.Failure{Kind: adapters.Transient, Certain: true, Err: err}
	}
	return adapters.Receipt{MessageID: sessions.PlatformMessageID(id), At: a.cfg.Now()}, nil
}

var errAway = errors.New("it is not connected")

// connection returns the open connection of a node to this process, or nil.
func (a *Adapter) connection(node string) *conn {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.conns[node]
}

// Connected reports whether a node is connected to this process.
func (a *Adapter) Connected(node string) bool { return a.connection(node) != nil }

// Changed ends the connection of a node to this process if the node was revoked or has another level now. Other processes notice
// within [recheckEvery].
func (a *Adapter) Changed(n ledger.Node) {
	if c := a.connection(n.ID); c != nil {
		if err := c.still(n); err != nil {
			c.cancel(err)
		}
	}
}

// add makes a connection the node's only one.
func (a *Adapter) add(c *conn) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	old := a.conns[c.node.ID]
	if a.stopped {
		return errStopping
	}
	if old == nil && len(a.conns) >= connectionsMax {
		return fmt.Errorf("%d nodes are connected already", connectionsMax)
	}
	if old != nil {
		old.cancel(errReplaced)
	}
	a.conns[c.node.ID] = c
	a.connected.Set(float64(len(a.conns)))
	return nil
}

func (a *Adapter) remove(c *conn) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.conns[c.node.ID] == c {
		delete(a.conns, c.node.ID)
	}
	a.connected.Set(float64(len(a.conns)))
}

// Stop ends all connections and waits for them.
func (a *Adapter) Stop() {
	a.mu.Lock()
	a.stopped = true
	a.mu.Unlock()
	a.end()
	a.serving.Wait()
}
