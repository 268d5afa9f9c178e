package node_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"sluice/adapters"
	adapter "sluice/adapters/node"
	"sluice/internal/node"
	"sluice/internal/node/protocol"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// gateway is a gateway with one node, as far as nodes see it. It stores each event once.
type gateway struct {
	t       *testing.T
	adapter *adapter.Adapter
	server  *httptest.Server
	shows   chan node.Received
	notes   chan string
	heard   chan adapters.Inbound // what was stored for the first time

	mu     sync.Mutex
	status ledger.NodeStatus
	level  flow.Level
	known  map[string]bool
	failed int // how many times accept still fails, after it has stored the event
	tools  sdk.Transport
	gone   chan struct{} // closed when the tools are detached
}

func newGateway(t *testing.T) *gateway {
	g := &gateway{
		t: t, status: ledger.NodeApproved, level: flow.Internal, known: map[string]bool{}, heard: make(chan adapters.Inbound, 100), shows: make(chan node.Received, 100), notes: make(chan string, 100),
		gone: make(chan struct{}),
	}
	g.adapter = adapter.New(adapter.Config{
		Channel: "node", Account: "default", Registry: g, Tools: g, Now: time.Now, Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	})
	g.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := g.adapter.ServeConnection(w, r, g); err != nil {
			code := map[error]string{adapter.ErrPending: "node_pending", adapter.ErrRevoked: "node_revoked"}[err]
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`{"error":"` + code + `","message":"no"}`))
		}
	}))
	t.Cleanup(func() {
		g.adapter.Stop()
		g.server.Close()
	})
	return g
}

// Identify implements [adapter.Registry].
func (g *gateway) Identify(_ context.Context, token string) (ledger.Node, error) {
	if token != "secret" {
		return ledger.Node{}, sessions.ErrNotFound
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return ledger.Node{ID: "n1", Status: g.status, Label: flow.NewLabel(g.level, flow.Untrusted), NodeDetail: ledger.NodeDetail{Name: "n"}}, nil
}

// Current implements [adapter.Registry].
func (g *gateway) Current(_ context.Context, id string) (ledger.Node, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return ledger.Node{ID: id, Status: g.status, Label: flow.NewLabel(g.level, flow.Untrusted)}, nil
}

// Attach implements [adapter.Tools].
func (g *gateway) Attach(_ ledger.Node, t sdk.Transport) func() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.tools = t
	return func() { close(g.gone) }
}

// Accept implements [adapters.Acceptor].
func (g *gateway) Accept(_ context.Context, in adapters.Inbound) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.known[in.Event] {
		g.known[in.Event] = true
		g.heard <- in
	}
	if g.failed > 0 {
		g.failed--
		return errors.New("the answer of the database was lost")
	}
	return nil
}

func (g *gateway) disk() *node.Disk {
	d, err := node.Create(g.t.TempDir(), node.State{Gateway: g.server.URL, ID: "n1", Token: "secret"})
	require.NoError(g.t, err)
	return d
}

// run runs a node until stop is called or it ends.
func (g *gateway) run(d *node.Disk, tools node.Tools) (n *node.Node, stop func() error) {
	ctx, cancel := context.WithCancel(g.t.Context())
	n = node.New(d, func(r node.Received) error {
		g.shows <- r
		return nil
	}, func(text string) { g.notes <- text }, tools)
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	return n, func() error {
		cancel()
		return <-ended
	}
}

func (g *gateway) noted(part string) {
	for text := range g.notes {
		if strings.Contains(text, part) {
			return
		}
	}
}

func (g *gateway) send(id, text string) error {
	_, err := g.adapter.Send(g.t.Context(), adapters.Outbound{DeliveryID: id, Text: text, Route: sessions.Route{Conversation: "n1"}})
	return err
}

func said(id string) protocol.Frame {
	return protocol.Frame{Kind: protocol.Message, ID: id, Text: "hello " + id}
}

func TestMessagesGoBothWays(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	d := g.disk()
	n, stop := g.run(d, node.Tools{})
	g.noted("connected as n1, level INTERNAL")
	require.NoError(t, n.Say(said("m1")))
	in := <-g.heard
	require.Equal(t, "n1/m1", in.Event)
	require.Equal(t, sessions.UserID("n1"), in.Sender.ID)
	require.Equal(t, "hello m1", in.Text)
	require.NoError(t, n.Say(protocol.Frame{Kind: protocol.Event, ID: "e1", Name: "/stop", Data: []byte(`{"a":1}`)}))
	require.Equal(t, "Event /stop\n{\"a\":1}", (<-g.heard).Text, "an event is no command")
	require.NoError(t, g.send("d1", "dinner"))
	require.Equal(t, "dinner", (<-g.shows).Text)
	require.NoError(t, g.send("d1", "dinner"), "a repetition is confirmed")
	require.NoError(t, g.send("d2", "bed"))
	require.Equal(t, "bed", (<-g.shows).Text, "and not shown")
	require.NoError(t, stop())
	err := g.send("d3", "x")
	f := adapters.AsFailure(err)
	require.Equal(t, adapters.Transient, f.Kind)
	require.True(t, f.Certain)
	require.ErrorContains(t, err, "node n1")
}

// The node repeats what was not acknowledged, on a new connection and after a crash; the gateway has it once.
func TestNothingIsLostOrSaidTwice(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	g.failed = 1
	d := g.disk()
	require.NoError(t, d.Say(said("m1")))
	require.NoError(t, d.Say(said("m2")))
	_, err := d.Take(node.Received{ID: "d1.0", Text: "stored before a crash"})
	require.NoError(t, err)
	_, stop := g.run(d, node.Tools{})
	require.Equal(t, "stored before a crash", (<-g.shows).Text)
	require.Equal(t, "hello m1", (<-g.heard).Text)
	require.Equal(t, "hello m2", (<-g.heard).Text, "after a new connection")
	g.noted("connected")
	require.NoError(t, g.send("d1", "stored before a crash"))
	require.NoError(t, stop())
	require.Empty(t, g.shows)
	require.Empty(t, g.heard)
	require.Len(t, d.State().Seen, 1)
}

func TestARevokedNodeIsCut(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	n := node.New(g.disk(), func(node.Received) error { return nil }, func(text string) { g.notes <- text }, node.Tools{})
	ended := make(chan error, 1)
	go func() { ended <- n.Run(t.Context()) }()
	g.noted("connected as")
	g.mu.Lock()
	g.status = ledger.NodeRevoked
	g.mu.Unlock()
	g.adapter.Changed(ledger.Node{ID: "n1", Status: ledger.NodeRevoked})
	require.ErrorIs(t, <-ended, node.ErrRejected)
}

// The gateway reads the token, the owner revokes the node, and only then is the connection made.
func TestANodeThatIsRevokedWhileItConnectsIsCut(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	ws := g.dial() // the token was accepted
	g.mu.Lock()
	g.status = ledger.NodeRevoked
	g.mu.Unlock()
	g.adapter.Changed(ledger.Node{ID: "n1", Status: ledger.NodeRevoked})
	require.NoError(t, ws.Write(t.Context(), websocket.MessageText, []byte(`{"kind":"hello","version":1}`)))
	_, _, err := ws.Read(t.Context())
	require.Equal(t, websocket.StatusPolicyViolation, websocket.CloseStatus(err))
}

func TestToolsOfANode(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	_, stop := g.run(g.disk(), node.Tools{Commands: [][]string{{"echo", "hi"}}})
	g.noted("connected as")
	require.NoError(t, g.send("d1", "the connection is in use")) // so that its tools are attached
	g.mu.Lock()
	link := g.tools
	g.mu.Unlock()
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test"}, nil).Connect(t.Context(), link, nil)
	require.NoError(t, err)
	for want, words := range map[string][]string{"hi\n": {"echo", "hi"}, "this command is not allowed; allowed are: echo hi": {"echo", "hi", "there"}} {
		got, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "run", Arguments: map[string]any{"words": words}})
		require.NoError(t, err)
		require.Equal(t, []sdk.Content{&sdk.TextContent{Text: want}}, got.Content)
	}
	require.NoError(t, stop())
	<-g.gone
	_, err = session.CallTool(t.Context(), &sdk.CallToolParams{Name: "run"})
	require.Error(t, err, "the node is away")
	_ = session.Close() // it has ended
}

// A node whose level has changed connects again, and then knows its level. A revoked one does not.
func TestALevelThatChangesEndsTheConnection(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	_, stop := g.run(g.disk(), node.Tools{})
	g.noted("INTERNAL")
	g.adapter.Changed(ledger.Node{ID: "n1", Status: ledger.NodeApproved, Label: flow.NewLabel(flow.Internal, flow.Untrusted)})
	require.True(t, g.adapter.Connected("n1"), "nothing has changed")
	g.mu.Lock()
	g.level = flow.Public
	g.mu.Unlock()
	g.adapter.Changed(ledger.Node{ID: "n1", Status: ledger.NodeApproved, Label: flow.NewLabel(flow.Public, flow.Untrusted)})
	g.noted("the level of the node was changed")
	g.noted("PUBLIC")
	require.NoError(t, stop())
}

// dial connects as a program that does what it likes.
func (g *gateway) dial() *websocket.Conn {
	ws, _, err := websocket.Dial(g.t.Context(), g.server.URL, &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer secret"}}})
	require.NoError(g.t, err)
	g.t.Cleanup(func() { _ = ws.CloseNow() })
	return ws
}

func TestMisbehavingNodesAreCutOff(t *testing.T) {
	t.Parallel()
	hello := `{"kind":"hello","version":1}`
	for name, frames := range map[string][]string{
		"no hello":     {`{"kind":"message","id":"a","text":"x"}`},
		"version":      {`{"kind":"hello","version":2}`},
		"no JSON":      {hello, `{`},
		"wrong kind":   {hello, `{"kind":"ack","id":"a"}`},
		"hello twice":  {hello, hello},
		"tools unsaid": {hello, `{"kind":"mcp","body":{}}`},
		"too large":    {hello, `{"kind":"message","text":"` + strings.Repeat("x", protocol.FrameMax) + `"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGateway(t)
			ws := g.dial()
			for _, f := range frames {
				_ = ws.Write(t.Context(), websocket.MessageText, []byte(f)) // the gateway may have hung up
			}
			for err := error(nil); err == nil; {
				_, _, err = ws.Read(t.Context())
			}
			require.Empty(t, g.heard)
		})
	}
}

func TestBadMessagesAreRefusedForGood(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	ws := g.dial()
	for _, f := range []string{`{"kind":"hello","version":1}`, `{"kind":"message","id":"a/b","text":"x"}`, `{"kind":"message","id":"good","text":"x"}`} {
		require.NoError(t, ws.Write(t.Context(), websocket.MessageText, []byte(f)))
	}
	var kinds []protocol.Kind
	for range 3 {
		_, text, err := ws.Read(t.Context())
		require.NoError(t, err)
		f, err := protocol.Decode(text)
		require.NoError(t, err)
		kinds = append(kinds, f.Kind)
	}
	require.Equal(t, []protocol.Kind{protocol.Welcome, protocol.Refused, protocol.Ack}, kinds)
	_ = ws.CloseNow()
}

func TestStrangersAreNotConnected(t *testing.T) {
	t.Parallel()
	g := newGateway(t)
	for _, token := range []string{"", "Bearer ", "Bearer wrong", "Basic secret"} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.Header.Set("Authorization", token)
		require.ErrorIs(t, g.adapter.ServeConnection(httptest.NewRecorder(), r, g), adapter.ErrToken)
	}
}
