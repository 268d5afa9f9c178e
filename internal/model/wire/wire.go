// Package wire is the common part of the clients of model providers: a streaming request with its time-outs,
// server-sent events, and the classification of failures.
package wire

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"sluice/sessions"
)

// The default time-outs: until the first byte of an answer, and between two bytes. A provider that is working on an
// answer sends pings in between.
const (
	DefaultFirstByte = 120 * time.Second
	DefaultIdle      = 60 * time.Second
)

// Config has the dependencies of a Client.
type Config struct {
	Transport http.RoundTripper // from [NewTransport]; shared by a provider's models
	Model     string            // "<provider>/<model>", for errors
	Secret    string            // removed from the text of every error

	FirstByte, Idle time.Duration // 0: the default
	Total           time.Duration // 0: no limit
}

// Client sends streaming requests for one model. It never retries and starts no goroutine. It is safe for concurrent
// use.
type Client struct {
	cfg Config
}

// NewClient creates a client.
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

// NoProxy in place of a proxy's address: requests take no proxy, whatever the environment says.
const NoProxy = "none"

// Transport creates the transport to the provider.
func (c *ProviderConfig) Transport() *http.Transport {
	t := NewTransport()
	if c.Connect > 0 {
		t.DialContext = (&net.Dialer{Timeout: c.Connect, KeepAlive: keepAlive}).DialContext
		t.TLSHandshakeTimeout = c.Connect
	}
	switch address, err := url.Parse(c.Proxy); {
	case c.Proxy == NoProxy:
		t.Proxy = nil
	case c.Proxy != "" && err == nil:
		t.Proxy = http.ProxyURL(address)
	}
	return t
}

// keepAlive is how often an idle connection is probed.
const keepAlive = 30 * time.Second

// NewTransport creates the transport to a provider. Its buffers are small because thousands of requests may wait at
// once, each on its own connection.
func NewTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it is one, see net/http
	t.MaxIdleConnsPerHost, t.MaxIdleConns = 256, 0
	t.ReadBufferSize, t.WriteBufferSize = 1<<10, writeBuffer
	t.ForceAttemptHTTP2 = false
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP1(true)
	return t
}

// Answer assembles an answer from the events of a stream.
type Answer interface {
	// Event takes one event. end reports that it was the end marker.
	Event(name string, data []byte) (end bool, err error)
	// Whole reports whether the answer is complete even if no end marker follows.
	Whole() bool
}

// The causes of requests that ended because the provider was silent, or wrote, for too long.
var (
	errStalled = errors.New("the provider sent nothing for too long")
	errTooSlow = errors.New("the reply took longer than timeouts.total")
)

// Stream posts a body and passes the events of the response to an answer. It returns nil only if the answer is whole.
// An error is a *[sessions.ModelError]; [errors.Is] finds the end of the caller's context in it.
func (c *Client) Stream(ctx context.Context, url string, header http.Header, body Body, a Answer) error {
	o, err := c.begin(ctx, url, header, body)
	if err != nil {
		return err
	}
	return c.finish(o, a)
}

// ongoing is a prepared request. Its own context ends when the provider is silent for too long.
type ongoing struct {
	caller context.Context
	ctx    context.Context
	cancel context.CancelCauseFunc
	req    *http.Request
}

// begin prepares a request; finish must be called.
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

// finish sends a request and reads the answer. Thousands of goroutines wait here at once, so it must use little
// stack.
func (c *Client) finish(o *ongoing, a Answer) error {
	defer o.cancel(nil)
	watch := time.AfterFunc(c.cfg.FirstByte, func() { o.cancel(errStalled) })
	defer watch.Stop()
	if c.cfg.Total > 0 {
		defer time.AfterFunc(c.cfg.Total, func() { o.cancel(errTooSlow) }).Stop()
	}
	// Not through an http.Client: it would follow redirects, which carry the key to another host, and its frames
	// would double the stack of a waiting request.
	resp, err := c.cfg.Transport.RoundTrip(o.req)
	if err != nil {
		return c.broken(o, sessions.ModelUnavailable, err)
	}
	return c.read(o, resp, watch, a)
}

// read passes the events of a response to an answer.
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

// broken reports the end of the caller's context or the provider's silence instead of the broken connection.
func (c *Client) broken(o *ongoing, kind sessions.ModelErrorKind, err error) error {
	switch {
	case o.caller.Err() != nil:
		return c.Fail(sessions.ModelUnavailable, Ended(o.caller))
	case o.ctx.Err() != nil:
		return c.Fail(sessions.ModelUnavailable, context.Cause(o.ctx))
	}
	return c.Fail(kind, err)
}

// Ended returns the error of a context that ended, which contains its cause as well.
func Ended(ctx context.Context) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, ctx.Err()) {
		return cause
	}
	return fmt.Errorf("%w: %w", ctx.Err(), cause)
}

// newRequest creates the request.
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
	if user := req.URL.User; user != nil { // as an http.Client does
		password, _ := user.Password()
		req.SetBasicAuth(user.Username(), password)
	}
	maps.Copy(req.Header, header)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	return req, nil
}

// isJSON recognises a server that returns one document instead of a stream.
func isJSON(h http.Header) bool {
	kind, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	return err == nil && strings.EqualFold(kind, "application/json")
}
