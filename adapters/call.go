package adapters

import (
	"context"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"
)

// NewTransport creates the transport of an account that calls one host. It keeps as many connections as there are
// calls at once.
func NewTransport(calls int) *http.Transport {
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		TLSHandshakeTimeout:   10 * time.Second,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          calls,
		MaxIdleConnsPerHost:   calls,
		IdleConnTimeout:       90 * time.Second,
		ExpectContinueTimeout: time.Second,
	}
}

// Request sends a request and returns the response as soon as it begins. If it fails, sent reports whether there was a
// connection, so that the platform may have received the request.
func Request(c *http.Client, r *http.Request) (resp *http.Response, sent bool, err error) {
	var connected atomic.Bool
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }}
	resp, err = c.Do(r.WithContext(httptrace.WithClientTrace(r.Context(), trace)))
	return resp, connected.Load(), err
}

// Asked is what a platform is asked for once, such as the bot's own profile. Its zero value is ready. It is safe for
// concurrent use.
type Asked[T any] struct {
	ask   sync.Mutex // one question at a time
	known atomic.Pointer[T]
}

// Get returns what is known, or asks for it. After an error, the next caller asks again.
func (a *Asked[T]) Get(ctx context.Context, ask func(context.Context) (*T, error)) (*T, error) {
	if v := a.known.Load(); v != nil {
		return v, nil
	}
	a.ask.Lock()
	defer a.ask.Unlock()
	if v := a.known.Load(); v != nil {
		return v, nil
	}
	v, err := ask(ctx)
	if err != nil {
		return nil, err
	}
	a.known.Store(v)
	return v, nil
}

// Known returns what is known; nil if it is not.
func (a *Asked[T]) Known() *T { return a.known.Load() }

// Set replaces what is known.
func (a *Asked[T]) Set(v *T) { a.known.Store(v) }
