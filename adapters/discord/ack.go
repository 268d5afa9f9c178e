package discord

import (
	"context"
	"sync"
)

// acks are the commands whose "thinking…" is being made: an answer may be there before
// it. Safe for concurrent use.
type acks struct {
	mu   sync.Mutex
	open map[string]chan struct{} // by handle; closed when it is made
}

func newAcks() *acks { return &acks{open: map[string]chan struct{}{}} }

// begin notes a command; done says that Discord has its first answer, or will not get one.
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

// wait waits for a command's first answer, as long as ctx lasts.
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
