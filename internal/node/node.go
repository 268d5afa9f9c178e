package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"sluice/internal/node/protocol"
	"sluice/internal/pause"
)

const (
	dialTimeout  = 30 * time.Second
	writeWithin  = 10 * time.Second
	firstBackoff = time.Second
	backoffMax   = time.Minute
	pendingPause = 3 * time.Second
)

// Node is a running node. All fields are required.
type Node struct {
	Disk *Disk
	// Show shows a message to the person at the node.
	Show func(r Received) error
	// Note tells the person about the connection.
	Note  func(text string)
	Tools Tools

	said chan struct{} // something waits in the outbox
}

// New makes a node.
func New(d *Disk, show func(Received) error, note func(string), tools Tools) *Node {
	return &Node{Disk: d, Show: show, Note: note, Tools: tools, said: make(chan struct{}, 1)}
}

// Say stores a message or event, which is sent as soon as there is a connection.
func (n *Node) Say(f protocol.Frame) error {
	if err := n.Disk.Say(f); err != nil {
		return err
	}
	select {
	case n.said <- struct{}{}:
	default:
	}
	return nil
}

// Errors that end [Node.Run].
var (
	// ErrRejected: the gateway no longer knows the token.
	ErrRejected = errors.New("the gateway no longer accepts this node: remove its folder and pair it again")
	errPending  = errors.New("it waits for approval")
)

// Run stays connected until ctx ends or the gateway rejects the node.
func (n *Node) Run(ctx context.Context) error {
	for _, r := range n.Disk.State().Inbox { // stored before a crash
		if err := n.show(r); err != nil {
			return err
		}
	}
	pauses := pause.Doubling(firstBackoff, backoffMax, 0)
	told := ""
	for ctx.Err() == nil {
		welcomed, err := n.connect(ctx)
		if errors.Is(err, ErrRejected) || errors.Is(err, errShow) {
			return err
		}
		if welcomed {
			pauses.Reset()
		}
		wait := pauses.NextBackOff()
		if errors.Is(err, errPending) {
			wait = pendingPause
		}
		if text := "not connected: " + err.Error(); ctx.Err() == nil && (text != told || welcomed) {
			n.Note(text)
			told = text
		}
		_ = pause.Wait(ctx, wait) // the loop looks at ctx
	}
	return nil
}

// connect makes one connection and uses it until it ends.
func (n *Node) connect(ctx context.Context) (welcomed bool, err error) {
	s := n.Disk.State()
	base, err := address(s.Gateway)
	if err != nil {
		return false, err
	}
	dialing, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	//nolint:bodyclose // the library gives a copy of the body, which needs no Close
	ws, resp, err := websocket.Dial(dialing, base.JoinPath(protocol.Path).String(), &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + s.Token}}})
	if err != nil {
		return false, rejection(resp, err)
	}
	ws.SetReadLimit(protocol.FrameMax)
	life, end := context.WithCancelCause(ctx)
	c := &connection{Node: n, ws: ws, life: life}
	var wg sync.WaitGroup
	err = c.send(life, protocol.Frame{Kind: protocol.Hello, Version: protocol.Version, Platform: n.Tools.Platform, Tools: !n.Tools.None()})
	if err == nil {
		wg.Go(func() { end(protocol.Alive(life, ws, &c.busy)) })
		err = c.read(&wg, end)
	}
	end(err)
	_ = ws.CloseNow() // it has ended
	wg.Wait()
	return c.welcomed, context.Cause(life)
}

// rejection says why the gateway refused a connection.
func rejection(resp *http.Response, err error) error {
	if resp == nil || resp.Body == nil {
		return err
	}
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, answerMax)) // the status is enough
	r := refusal(resp.Status, answer)
	switch {
	case r.Code == "node_pending":
		return errPending
	case resp.StatusCode == http.StatusUnauthorized, r.Code == "node_revoked":
		return fmt.Errorf("%w (%s)", ErrRejected, r.Message)
	}
	return errors.New(r.Message)
}

// connection is one connection to the gateway.
type connection struct {
	*Node
	ws       *websocket.Conn
	life     context.Context
	busy     atomic.Bool
	welcomed bool
	link     *protocol.Link
}

func (c *connection) send(ctx context.Context, f protocol.Frame) error {
	text, err := protocol.Encode(f)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	return c.ws.Write(ctx, websocket.MessageText, text)
}

// read takes the gateway's frames until the connection ends.
func (c *connection) read(wg *sync.WaitGroup, end func(error)) error {
	defer func() {
		if c.link != nil {
			_ = c.link.Close() // never fails
		}
	}()
	for {
		kind, text, err := c.ws.Read(c.life)
		if err != nil {
			return err
		}
		if kind != websocket.MessageText {
			return errors.New("the gateway sent a frame that is not text")
		}
		f, err := protocol.Decode(text)
		if err != nil {
			return err
		}
		if f.Kind == protocol.Welcome && !c.welcomed {
			c.begin(f, wg, end)
			continue
		}
		c.busy.Store(true)
		err = c.take(f)
		c.busy.Store(false)
		if err != nil {
			return err
		}
	}
}

// begin starts the work on a connection.
func (c *connection) begin(f protocol.Frame, wg *sync.WaitGroup, end func(error)) {
	c.welcomed = true
	c.Note(fmt.Sprintf("connected as %s, level %s", f.Node, f.Level))
	wg.Go(func() { end(c.drain()) })
	if !c.Tools.None() {
		c.link = protocol.NewLink(c.send)
		wg.Go(func() { c.Tools.serve(c.life, c.link) })
	}
}

// take handles one frame.
func (c *connection) take(f protocol.Frame) error {
	switch f.Kind {
	case protocol.Ack:
		return c.Disk.Acknowledged(f.ID)
	case protocol.Refused:
		c.Note("the gateway refused a message or event: " + f.Text)
		return c.Disk.Acknowledged(f.ID)
	case protocol.Deliver:
		return c.deliver(f)
	case protocol.MCP:
		if c.link != nil {
			c.link.Take(c.life, f.Body)
		}
	}
	return nil // frames of later versions are ignored
}

var errShow = errors.New("show message")

// deliver stores a message, confirms it and shows it, unless it was shown before.
func (c *connection) deliver(f protocol.Frame) error {
	r := Received{ID: f.ID, Text: f.Text, At: f.At, Silent: f.Silent}
	fresh, err := c.Disk.Take(r)
	if err != nil {
		return err
	}
	sent := c.send(c.life, protocol.Frame{Kind: protocol.Done, ID: f.ID})
	if fresh {
		if err := c.show(r); err != nil {
			return err
		}
	}
	return sent
}

// show shows a message, and notes that. A crash in between shows it once more.
func (n *Node) show(r Received) error {
	if err := n.Show(r); err != nil {
		return fmt.Errorf("%w: %w", errShow, err)
	}
	return n.Disk.Shown(r.ID)
}

// drain sends what is in the outbox, each once on this connection, and then what comes.
func (c *connection) drain() error {
	sent := map[string]bool{}
	for {
		waiting := map[string]bool{}
		for _, f := range c.Disk.State().Outbox {
			waiting[f.ID] = true
			if sent[f.ID] {
				continue
			}
			if err := c.send(c.life, f); err != nil {
				return err
			}
			sent[f.ID] = true
		}
		for id := range sent {
			if !waiting[id] {
				delete(sent, id)
			}
		}
		select {
		case <-c.life.Done():
			return c.life.Err()
		case <-c.said:
		}
	}
}
