// Package wire is what the clients of model providers share: one streaming
// request with its time-outs, server-sent events, and the meaning of failures.
package wire

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"strings"
	"time"

	"sluice/sessions"
)

// The default time-outs: until the first byte of an answer, and between two
// bytes of it. A provider that works on an answer sends pings in between.
const (
	DefaultFirstByte = 120 * time.Second
	DefaultIdle      = 60 * time.Second
)

// Config is what a client needs.
type Config struct {
	Transport http.RoundTripper // from [NewTransport]; shared by a provider's models
	Model     string            // "<provider>/<model>", for errors
	Secret    string            // taken out of every error's text

	FirstByte, Idle time.Duration // 0 for the defaults
}

// Client makes streaming requests for one model. It never repeats one and
// starts no goroutine. It is safe for concurrent use.
type Client struct {
	cfg Config
}

// NewClient makes a client.
func NewClient(cfg Config) *Client {
	if cfg.FirstByte == 0 {
		cfg.FirstByte = DefaultFirstByte
	}
	if cfg.Idle == 0 {
		cfg.Idle = DefaultIdle
	}
	return &Client{cfg: cfg}
}

// writeBuffer is the size of a connection's buffer.
const writeBuffer = 1 << 10

// NewTransport makes the way to a provider. Its buffers are small because
// thousands of requests may wait at once, each on a connection of its own.
func NewTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it is one, see net/http
	t.MaxIdleConnsPerHost, t.MaxIdleConns = 256, 0
	t.ReadBufferSize, t.WriteBufferSize = 1<<10, writeBuffer
	t.ForceAttemptHTTP2 = false
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP1(true)
	return t
}

// Answer is put together from the events of one stream.
type Answer interface {
	// Event takes one event. end says that it was the stream's end marker.
	Event(name string, data []byte) (end bool, err error)
	// Whole reports whether the answer is complete even if no end marker follows.
	Whole() bool
}

// errStalled is why a request ended whose provider was silent for too long.
var errStalled = errors.New("the provider sent nothing for too long")

// Stream posts a body and gives the events of the response to an answer.
// It returns nil only if the answer is whole. An error is a *[sessions.ModelError];
// that the caller's context ended is found in it by [errors.Is].
func (c *Client) Stream(ctx context.Context, url string, header http.Header, body Body, a Answer) error {
	o, err := c.begin(ctx, url, header, body)
	if err != nil {
		return err
	}
	return c.finish(o, a)
}

// ongoing is a request that is ready to be sent. Its own context ends when the provider is silent for too long.
type ongoing struct {
	caller context.Context
	ctx    context.Context
	cancel context.CancelCauseFunc
	req    *http.Request
}

// begin makes a request, which must be finished.
func (c *Client) begin(ctx context.Context, url string, header http.Header, body Body) (*ongoing, error) {
	o := &ongoing{caller: ctx}
	o.ctx, o.cancel = context.WithCancelCause(ctx)
	var err error
	if o.req, err = newRequest(o.ctx, url, header, body); err != nil {
		o.cancel(nil)
		return nil, c.Fail(sessions.ModelRefused, err)
	}
	return o, nil
}

// finish sends a request and reads the answer. Thousands of them wait at once: what it needs of the stack is little.
func (c *Client) finish(o *ongoing, a Answer) error {
	defer o.cancel(nil)
	watch := time.AfterFunc(c.cfg.FirstByte, func() { o.cancel(errStalled) })
	defer watch.Stop()
	// Not through an http.Client: it would follow redirects, which carry the key to
	// another host, and its frames would double the stack of a request that waits.
	resp, err := c.cfg.Transport.RoundTrip(o.req)
	if err != nil {
		return c.broken(o, sessions.ModelUnavailable, err)
	}
	return c.read(o, resp, watch, a)
}

// read gives the events of a response to an answer.
func (c *Client) read(o *ongoing, resp *http.Response, watch *time.Timer, a Answer) error {
	defer resp.Body.Close() //nolint:errcheck // nothing follows from it
	if resp.StatusCode != http.StatusOK || isJSON(resp.Header) {
		return c.refused(resp)
	}
	s := &stream{body: resp.Body, watch: watch, idle: c.cfg.Idle}
	end, err := s.events(a)
	var failed *sessions.ModelError
	switch {
	case errors.As(err, &failed):
		return failed
	case end:
		s.drain()
		return nil
	case a.Whole() && o.caller.Err() == nil:
		return nil
	case errors.Is(err, errTooLarge):
		return c.Fail(sessions.ModelRefused, err)
	}
	return c.broken(o, sessions.ModelCut, fmt.Errorf("the stream ended before its end marker: %w", err))
}

// broken names the caller's own end or the provider's silence instead of the broken connection.
func (c *Client) broken(o *ongoing, kind sessions.ModelErrorKind, err error) error {
	switch {
	case o.caller.Err() != nil:
		return c.Fail(sessions.ModelUnavailable, Ended(o.caller))
	case o.ctx.Err() != nil:
		return c.Fail(sessions.ModelUnavailable, context.Cause(o.ctx))
	}
	return c.Fail(kind, err)
}

// Ended says why a context ended, so that both its error and its cause are found.
func Ended(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, ctx.Err()) {
		return cause
	}
	return fmt.Errorf("%w: %w", ctx.Err(), cause)
}

// newRequest makes the request.
func newRequest(ctx context.Context, url string, header http.Header, body Body) (*http.Request, error) {
	pieces, err := body.encode()
	if err != nil {
		return nil, err
	}
	text := newOutgoing(pieces)
	once, err := text.again()
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, once)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	req.ContentLength, req.GetBody = text.size, text.again
	if user := req.URL.User; user != nil { // what an http.Client would have done
		password, _ := user.Password()
		req.SetBasicAuth(user.Username(), password)
	}
	maps.Copy(req.Header, header)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	return req, nil
}

// isJSON recognizes a server that gives one document where a stream was asked for.
func isJSON(h http.Header) bool {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && strings.EqualFold(kind, "application/json")
}
