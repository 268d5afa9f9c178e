package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sluice/adapters"
)

// openHTTP prepares the transport to a server over streamable HTTP.
func (v *server) openHTTP(c *connection) transport {
	way := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it is one, see net/http
	life, cut := context.WithCancel(context.WithoutCancel(c.life))
	client := &http.Client{Transport: &requester{way: way, headers: v.Headers, life: life}, CheckRedirect: refuseRedirect}
	var farewell *time.Timer
	return transport{
		// The library retries little: the connection is made again, with a growing pause.
		Transport:  &sdk.StreamableClientTransport{Endpoint: v.URL.Reveal(), HTTPClient: client, MaxRetries: 1, MaxEventSize: messageMax},
		why:        func(err error) error { return err },
		startClose: func() { farewell = time.AfterFunc(v.cfg.Pace.Farewell, cut) },
		end: func() {
			farewell.Stop()
			cut()
			way.CloseIdleConnections()
		},
	}
}

// refuseRedirect rejects redirects: the target would get the secrets in the headers.
func refuseRedirect(next *http.Request, _ []*http.Request) error {
	return fmt.Errorf("it redirects to another address at %s: set url to it if it is correct", next.URL.Host)
}

// requester sends requests with the configured headers until the connection ends, and limits the responses.
type requester struct {
	way     http.RoundTripper
	headers map[string]adapters.Secret
	life    context.Context
}

// RoundTrip implements [http.RoundTripper].
func (r *requester) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	stop := context.AfterFunc(r.life, cancel)
	done := func() {
		stop()
		cancel()
	}
	req = req.Clone(ctx)
	for name, value := range r.headers {
		req.Header.Set(name, value.Reveal())
	}
	resp, err := r.way.RoundTrip(req)
	if err != nil {
		done()
		return nil, err
	}
	body := &boundedBody{ReadCloser: resp.Body, left: messageMax, done: done}
	if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind == "text/event-stream" {
		body.left = -1 // the library limits each event
	}
	resp.Body = body
	return resp, nil
}

var errTooLarge = errors.New("the server's answer is too large")

// boundedBody is a body that fails beyond its limit.
type boundedBody struct {
	io.ReadCloser
	left int // bytes left; negative: no limit
	done func()
}

// Read implements [io.Reader].
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left < 0 {
		return n, err
	}
	if n > b.left {
		return 0, errTooLarge
	}
	b.left -= n
	return n, err
}

// Close implements [io.Closer].
func (b *boundedBody) Close() error {
	b.done()
	return b.ReadCloser.Close()
}
