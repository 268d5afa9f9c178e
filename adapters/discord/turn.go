package discord

import (
	"context"
	"sync"

	"sluice/sessions"
)

// turns passes the events of one conversation to the acceptor one after the other. A channel and its threads have
// separate lanes, because the adapter may have to ask which channel a thread belongs to. It is safe for concurrent
// use.
type turns struct {
	mu   sync.Mutex
	held map[sessions.ConversationID]*turn
}

// turn is the lock of one conversation. It exists while somebody has it or waits for it.
type turn struct {
	token chan struct{} // capacity 1: full while somebody has the turn
	users int
}

func newTurns() *turns { return &turns{held: map[sessions.ConversationID]*turn{}} }

// take waits for a conversation's turn. The caller passes it on with done. It fails only if ctx ends.
func (t *turns) take(ctx context.Context, id sessions.ConversationID) (done func(), err error) {
	mine := t.join(id)
	select {
	case mine.token <- struct{}{}:
		return func() {
			<-mine.token
			t.leave(id, mine)
		}, nil
	case <-ctx.Done():
		t.leave(id, mine)
		return nil, context.Cause(ctx)
	}
}

func (t *turns) join(id sessions.ConversationID) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held[id] == nil {
		t.held[id] = &turn{token: make(chan struct{}, 1)}
	}
	t.held[id].users++
	return t.held[id]
}

func (t *turns) leave(id sessions.ConversationID, mine *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if mine.users--; mine.users == 0 {
		delete(t.held, id)
	}
}
