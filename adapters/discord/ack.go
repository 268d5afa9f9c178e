package discord

import (
	"context"
	"sync"
)

// acks has the commands that are being acknowledged with "thinking…". The answer may be ready before that. It is safe for
// concurrent use.
type acks struct {
	mu   sync.Mutex
	open map[string]chan struct{} // by handle; closed when it is made
}

func newAcks() *acks { return &acks{open: map[string]chan struct{}{}} }

// begin notes a command. The caller calls done when Discord has the acknowledgement, or will not get it.
func (k *acks) begin(handle string) (done func()) {
	made := make(chan struct{})
	k.mu.Lock()
	defer k.mu.Unlock()
	k.open[handle] = made
	return func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		delete(k.open, handle)
		close(made)
	}
}

// wait waits for a command's acknowledgement, or the end of ctx.
func (k *acks) wait(ctx context.Context, handle string) {
	k.mu.Lock()
	made := k.open[handle]
	k.mu.Unlock()
	if made == nil {
		return
	}
	select {
	case <-made:
	case <-ctx.Done():
	}
}
