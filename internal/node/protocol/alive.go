package protocol

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
)

// ErrSilent means that the other side no longer answers.
var ErrSilent = errors.New("the other side no longer answers")

// Alive notices a connection whose other side is gone: it sends pings until ctx ends or one is not answered in time.
// While busy is true this side does not read, so that it could not see an answer; then nothing is asked.
func Alive(ctx context.Context, ws *websocket.Conn, busy *atomic.Bool) error {
	ticker := time.NewTicker(PingEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
		if busy.Load() {
			continue
		}
		asked, cancel := context.WithTimeout(ctx, PongWithin)
		err := ws.Ping(asked)
		cancel()
		if err != nil && !busy.Load() {
			return fmt.Errorf("%w: %w", ErrSilent, err)
		}
	}
}
