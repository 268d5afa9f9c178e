package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// messageMax bounds one message of a server, in bytes.
	messageMax = 8 << 20
	// legacyVersion is the newest protocol version that starts with the request initialize.
	legacyVersion = "2025-11-25"
)

// connection is one connection to a server.
type connection struct {
	session *sdk.ClientSession
	life    context.Context // ends with the connection, together with all calls
	cancel  context.CancelCauseFunc
	made    transport
	ended   chan struct{} // closed when the session is over
	changed chan struct{} // the server reported that its tools have changed
}

// transport has the dependencies of a connection.
type transport struct {
	sdk.Transport
	why        func(error) error // returns a more specific reason for the end than the session's own error, if known
	startClose func()            // starts the shutdown before the session is closed
	end        func()            // finishes the shutdown after the session is closed, and waits for it
}

// connect establishes a connection within its time limit.
func (v *server) connect(ctx context.Context) (*connection, error) {
	life, cancel := context.WithCancelCause(ctx)
	c := &connection{life: life, cancel: cancel, ended: make(chan struct{}), changed: make(chan struct{}, 1)}
	t, err := v.open(c)
	if err != nil {
		cancel(err)
		return nil, err
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "sluice", Version: v.cfg.Version}, &sdk.ClientOptions{
		Logger: slog.New(slog.DiscardHandler), // a server could fill the log
		// The gateway offers the server nothing: no files, no model, no questions to people.
		Capabilities:           &sdk.ClientCapabilities{},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { c.change() },
	})
	options := &sdk.ClientSessionOptions{}
	if v.legacy {
		options.ProtocolVersion = legacyVersion
	}
	limited, stop := context.WithTimeout(life, v.cfg.Pace.Connect)
	defer stop()
	if c.session, err = client.Connect(limited, t, options); err != nil {
		err = fmt.Errorf("connect: %w", err)
		if _, refused := refusal(err); !refused && limited.Err() == nil {
			err = t.why(err) // the end of a program says more than the end of its output, which is often seen first
		}
		err = c.explain(limited, err)
		cancel(err)
		t.startClose()
		t.end()
		return nil, err
	}
	c.made = t
	go func() { // ends with the session, which close closes and waits for
		defer close(c.ended)
		cancel(t.why(fmt.Errorf("the connection ended: %w", orEnded(c.session.Wait()))))
	}()
	return c, nil
}

func (v *server) open(c *connection) (transport, error) {
	if v.Link != nil {
		return transport{Transport: v.Link, why: func(err error) error { return err }, startClose: func() {}, end: func() {}}, nil
	}
	if len(v.Command) > 0 {
		return v.openProgram(c)
	}
	return v.openHTTP(c), nil
}

var errEnded = errors.New("the server closed it")

func orEnded(err error) error {
	if err == nil {
		return errEnded
	}
	return err
}

// explain prefers what is known about the end of the connection to the library's error.
func (c *connection) explain(limited context.Context, err error) error {
	switch {
	case c.life.Err() != nil:
		return context.Cause(c.life)
	case errors.Is(limited.Err(), context.DeadlineExceeded):
		return errors.New("it did not answer in time")
	}
	if r, ok := refusal(err); ok {
		return fmt.Errorf("it refused with the error %d", r.Code) // the text is from outside, and everybody may see the server's state
	}
	if at, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("%s: %w", at.Op, at.Err) // without the address, which may contain a key
	}
	return err
}

// change reports that the tools have changed; once is enough.
func (c *connection) change() {
	select {
	case c.changed <- struct{}{}:
	default:
	}
}

// close ends the connection and waits for it.
func (c *connection) close() {
	c.cancel(context.Canceled)
	c.made.startClose()
	_ = c.session.Close() // its error is no longer needed
	<-c.ended
	c.made.end()
}

// during returns a context that also ends with the connection.
func (c *connection) during(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(c.life, func() { cancel(context.Cause(c.life)) })
	return ctx, func() {
		stop()
		cancel(context.Canceled)
	}
}

// answers reports whether the server answers at all; an error about an unknown request counts as an answer.
func (c *connection) answers(ctx context.Context, within time.Duration) bool {
	ctx, done := c.during(ctx)
	defer done()
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err := c.session.Ping(ctx, nil)
	_, refused := refusal(err)
	return err == nil || refused
}

// notSent is the library's code for a request that did not reach the server.
const notSent = -32005

// refusal returns the error with which the server has answered.
func refusal(err error) (*jsonrpc.Error, bool) {
	r, ok := errors.AsType[*jsonrpc.Error](err)
	return r, ok && r.Code != notSent
}
