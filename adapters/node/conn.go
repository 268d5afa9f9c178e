package node

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"golang.org/x/time/rate"

	"sluice/adapters"
	"sluice/internal/node/protocol"
	"sluice/internal/pause"
	"sluice/router/ledger"
	"sluice/sessions"
)

const (
	// waitingMax is how many messages and events of a node may wait to be stored. While more come in, nothing is read.
	waitingMax = 32
	// eventsPerSecond and eventsBurst bound what a node may say. Beyond them nothing is read for a while.
	eventsPerSecond = 20
	eventsBurst     = 100
)

var (
	errRevoked  = errors.New("the node was revoked")
	errLevel    = errors.New("the level of the node was changed: connect again")
	errReplaced = errors.New("the node has connected again")
	errStopping = errors.New("the gateway is stopping")
)

// conn is the connection of a node. serve owns its goroutines.
type conn struct {
	*Adapter
	node   ledger.Node
	ws     *websocket.Conn
	life   context.Context
	cancel context.CancelCauseFunc
	in     adapters.Acceptor
	heard  chan protocol.Frame // messages and events that are not stored yet
	busy   atomic.Bool         // nothing is read, because heard is full
	link   *protocol.Link      // of the node's tools; nil if it offers none

	welcomed chan struct{} // closed when the node was welcomed

	mu      sync.Mutex
	waiting map[string][]chan struct{} // deliveries that wait to be confirmed, by id
}

// ServeConnection serves a node that connects. It returns when the connection has ended.
func (a *Adapter) ServeConnection(w http.ResponseWriter, r *http.Request, in adapters.Acceptor) error {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || token == "" {
		return ErrToken
	}
	n, err := a.cfg.Registry.Identify(r.Context(), token)
	switch {
	case errors.Is(err, sessions.ErrNotFound):
		return ErrToken
	case err != nil:
		return err
	case n.Status == ledger.NodePending && n.Expires.After(a.cfg.Now()):
		return ErrPending
	case n.Status != ledger.NodeApproved:
		return ErrRevoked
	}
	a.mu.Lock()
	if a.stopped {
		a.mu.Unlock()
		return errStopping
	}
	a.serving.Add(1)
	a.mu.Unlock()
	defer a.serving.Done()
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return nil // it has answered the request
	}
	ws.SetReadLimit(protocol.FrameMax)
	a.serve(ws, n, in)
	return nil
}

// Errors of ServeConnection before the connection is made.
var (
	// ErrToken: the token belongs to no node.
	ErrToken = errors.New("send the node's token in the header Authorization: Bearer <token>; `sluice node pair` makes one")
	// ErrPending: nobody has approved the node yet.
	ErrPending = errors.New("the node waits for approval")
	// ErrRevoked: the node was revoked, or nobody approved it in time.
	ErrRevoked = errors.New("the node was revoked, or was not approved in time: pair it again")
)

func (a *Adapter) serve(ws *websocket.Conn, n ledger.Node, in adapters.Acceptor) {
	life, cancel := context.WithCancelCause(a.life)
	c := &conn{Adapter: a, node: n, ws: ws, life: life, cancel: cancel, in: in, heard: make(chan protocol.Frame, waitingMax), welcomed: make(chan struct{}), waiting: map[string][]chan struct{}{}}
	var wg sync.WaitGroup
	err := c.greet()
	if err == nil {
		err = a.add(c)
	}
	if err == nil {
		err = c.admitted() // a revocation since the token was read did not find the connection
	}
	if err == nil {
		err = c.welcome()
	}
	if err == nil {
		a.cfg.Log.Info("node is connected", "node", n.ID)
		wg.Go(func() { cancel(protocol.Alive(life, ws, &c.busy)) })
		wg.Go(func() { cancel(c.accept()) })
		if a.cfg.Relay != nil { // another replica may change the node
			wg.Go(func() { cancel(c.recheck()) })
		}
		wg.Go(c.follow)
		wg.Go(func() { // stops reading; a cancelled context would close the connection before the node is told why
			<-life.Done()
			closing(ws, context.Cause(life))
		})
		err = c.read()
	}
	cancel(err)
	a.remove(c)
	if c.link != nil {
		_ = c.link.Close() // never fails
	}
	why := context.Cause(life)
	closing(ws, why)
	wg.Wait()
	a.cfg.Log.Info("node is gone", "node", n.ID, "why", why)
}

// closing tells the node why the connection ends, and waits a few seconds for its answer unless the gateway stops.
func closing(ws *websocket.Conn, why error) {
	if errors.Is(why, context.Canceled) {
		_ = ws.CloseNow() // it may be closed already
		return
	}
	status := websocket.StatusProtocolError
	switch {
	case errors.Is(why, errRevoked):
		status = websocket.StatusPolicyViolation
	case errors.Is(why, errReplaced), errors.Is(why, errLevel), errors.Is(why, errStopping):
		status = websocket.StatusGoingAway
	}
	text := why.Error()
	_ = ws.Close(status, text[:min(len(text), 100)]) // the connection may be gone
	_ = ws.CloseNow()
}

// greet reads the node's first frame.
func (c *conn) greet() error {
	ctx, cancel := context.WithTimeout(c.life, helloWithin)
	defer cancel()
	f, err := c.next(ctx)
	switch {
	case err != nil:
		return err
	case f.Kind != protocol.Hello:
		return fmt.Errorf("the first frame must be hello, not %.20q", f.Kind)
	case f.Version != protocol.Version:
		return fmt.Errorf("the node speaks version %d of the protocol; this gateway speaks version %d", f.Version, protocol.Version)
	}
	if f.Tools {
		c.link = protocol.NewLink(c.send)
	}
	return nil
}

// admitted returns an error if the node is no longer approved, or its level was changed.
func (c *conn) admitted() error {
	n, err := c.cfg.Registry.Current(c.life, c.node.ID)
	if err != nil {
		return err
	}
	return c.still(n)
}

// still returns an error if the node was revoked or its level was changed after it connected.
func (c *conn) still(n ledger.Node) error {
	switch {
	case n.Status != ledger.NodeApproved:
		return errRevoked
	case n.Label.Level() != c.node.Label.Level():
		return errLevel
	}
	return nil
}

// welcome answers the node's first frame. Only then is anything delivered.
func (c *conn) welcome() error {
	defer close(c.welcomed)
	return c.send(c.life, protocol.Frame{Kind: protocol.Welcome, Version: protocol.Version, Node: c.node.ID, Level: c.node.Label.Level().String()})
}

// send writes a frame.
func (c *conn) send(ctx context.Context, f protocol.Frame) error {
	text, err := protocol.Encode(f)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	return c.ws.Write(ctx, websocket.MessageText, text)
}

func (c *conn) next(ctx context.Context) (protocol.Frame, error) {
	kind, text, err := c.ws.Read(ctx)
	if err != nil {
		return protocol.Frame{}, err
	}
	if kind != websocket.MessageText {
		return protocol.Frame{}, errors.New("a frame is not text")
	}
	return protocol.Decode(text)
}

// read takes the node's frames until the connection ends.
func (c *conn) read() error {
	if c.link != nil {
		detach := c.cfg.Tools.Attach(c.node, c.link)
		defer detach()
	}
	reading := context.WithoutCancel(c.life)
	for {
		f, err := c.next(reading)
		if err != nil {
			return err
		}
		switch f.Kind {
		case protocol.Message, protocol.Event:
			c.busy.Store(true)
			select {
			case c.heard <- f:
			case <-c.life.Done():
				return context.Cause(c.life)
			}
			c.busy.Store(false)
		case protocol.Done:
			c.confirmed(f.ID)
		case protocol.MCP:
			if c.link == nil {
				return errors.New("the node has announced no tools")
			}
			c.link.Take(c.life, f.Body)
		default:
			return fmt.Errorf("the frame %.20q is not for the gateway", f.Kind)
		}
	}
}

// accept stores what the node says, in order, and acknowledges it.
func (c *conn) accept() error {
	pace := rate.NewLimiter(eventsPerSecond, eventsBurst)
	for {
		select {
		case <-c.life.Done():
			return context.Cause(c.life)
		case f := <-c.heard:
			if err := pace.Wait(c.life); err != nil {
				return err
			}
			if err := c.store(f); err != nil {
				return err
			}
		}
	}
}

// store stores one message or event. After an error the connection ends, and the node sends it again on the next one.
func (c *conn) store(f protocol.Frame) error {
	if wrong := f.Check(); wrong != nil {
		return c.send(c.life, protocol.Frame{Kind: protocol.Refused, ID: f.ID, Text: wrong.Error()})
	}
	if err := c.in.Accept(c.life, c.inbound(f)); err != nil {
		return fmt.Errorf("store %s: %w", f.Kind, err)
	}
	return c.send(c.life, protocol.Frame{Kind: protocol.Ack, ID: f.ID})
}

// inbound is what the gateway stores. Its key is the node's id with that of the message or event.
func (c *conn) inbound(f protocol.Frame) adapters.Inbound {
	id := sessions.PlatformMessageID(f.ID)
	in := adapters.Inbound{
		Event: c.node.ID + "/" + f.ID, MessageID: id, Text: f.Text, Mentioned: true, SentAt: f.At,
		Route: sessions.Route{
			Channel: c.cfg.Channel, Account: c.cfg.Account, ChatType: sessions.Direct, Conversation: sessions.ConversationID(c.node.ID),
			Title: c.node.Name, ReplyTo: id,
		},
		Sender: sessions.Peer{ID: sessions.UserID(c.node.ID), Name: c.node.Name},
	}
	if f.Kind == protocol.Event {
		in.Text = eventText(f)
	}
	return in
}

// eventText is an event as the agent reads it. It never begins with a slash, so that it is no command.
func eventText(f protocol.Frame) string {
	text := "Event " + f.Name
	if !f.At.IsZero() {
		text += " at " + f.At.UTC().Format(time.RFC3339)
	}
	if f.Text != "" {
		text += ": " + f.Text
	}
	if len(f.Data) > 0 {
		text += "\n" + string(f.Data)
	}
	return text
}

// recheck ends the connection if another replica has revoked the node or changed its level.
func (c *conn) recheck() error {
	for {
		if err := pause.Wait(c.life, recheckEvery); err != nil {
			return err
		}
		switch err := c.admitted(); {
		case errors.Is(err, errRevoked), errors.Is(err, errLevel):
			return err
		case err != nil:
			c.cfg.Log.Debug("could not check whether a node has changed", "node", c.node.ID, "err", err)
		}
	}
}
