// Package balancer is a load balancer in front of several gateways, to which a platform posts.
package balancer

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	// bodyMax bounds a request, and what is read of an answer.
	bodyMax = 1 << 20
	timeout = 30 * time.Second
)

// Balancer sends each request to the next gateway, and to another one if that fails. It is safe for concurrent use.
type Balancer struct {
	client *http.Client

	mu    sync.Mutex
	addrs []string
	next  int
}

// New makes a Balancer without gateways.
func New() *Balancer {
	return &Balancer{client: &http.Client{Timeout: timeout, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
}

// Set replaces the addresses of the gateways.
func (b *Balancer) Set(addrs []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.addrs = addrs
}

// Close closes the connections that are not in use.
func (b *Balancer) Close() { b.client.CloseIdleConnections() }

// order returns the addresses, each time beginning with another one.
func (b *Balancer) order() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.addrs) == 0 {
		return nil
	}
	b.next = (b.next + 1) % len(b.addrs)
	return append(append([]string(nil), b.addrs[b.next:]...), b.addrs[:b.next]...)
}

// ServeHTTP passes a request on, and the status of the answer back.
func (b *Balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, bodyMax))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for _, addr := range b.order() {
		code, err := b.forward(r, addr, body)
		if err == nil {
			w.WriteHeader(code)
			return
		}
	}
	http.Error(w, "no gateway answers", http.StatusBadGateway)
}

func (b *Balancer) forward(r *http.Request, addr string, body []byte) (code int, err error) {
	to, err := http.NewRequestWithContext(r.Context(), r.Method, "http://"+addr+r.URL.Path, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	to.Header = r.Header.Clone()
	resp, err := b.client.Do(to)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, bodyMax))
	return resp.StatusCode, errors.Join(err, resp.Body.Close())
}
