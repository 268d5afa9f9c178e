package discord

import (
	"context"
	"sync"

	"sluice/sessions"
)

// turns lets the events of one conversation go to the acceptor one after the other: its channel and its
// threads have lanes of their own, because which thread belongs where may have to be asked. Safe for concurrent use.
type turns struct {
	mu   sync.Mutex
	held map[sessions.ConversationID]*turn
}

// turn is one conversation's; it is there while somebody has it or waits for it.
type turn struct {
	token chan struct{} // capacity 1: held by the one whose turn it is
	users int
}

func newTurns() *turns { return &turns{held: map[sessions.ConversationID]*turn{}} }

// take waits for a conversation's turn. done gives it on. An error is the end of ctx.
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
