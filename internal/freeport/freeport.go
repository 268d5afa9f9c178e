// Package freeport finds addresses for servers that tests and measurements stop and start again.
package freeport

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync/atomic"
)

// The ports are below those that systems assign when a program asks for any port (on Linux from 32768 on). One of those
// could be taken by another server or connection before the test's server listens, or while it is stopped.
const first, count = 20000, 12000

// next counts the ports that this process has tried, from a random one on.
var next = func() *atomic.Uint32 {
	var n atomic.Uint32
	n.Store(rand.Uint32N(count))
	return &n
}()

var errNone = errors.New("no port is free for a test's server")

// Addr returns a loopback address that nobody listens on. It returns each address only once.
func Addr() (string, error) {
	for range count {
		address := fmt.Sprintf("127.0.0.1:%d", first+next.Add(1)%count)
		if ln, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", address); err == nil {
			return address, ln.Close()
		}
	}
	return "", errNone
}
