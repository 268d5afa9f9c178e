package store

import (
	"context"
	"errors"
	"sync"
)

const (
	groupMost = 256  // writes of one transaction
	queueMost = 1024 // writes that wait; further callers are held up
)

// errClosed: the store was closed.
var errClosed = errors.New("store is closed")

// group merges the writes that wait into one transaction. Its goroutines are
// its workers; stop waits for them.
type group struct {
	engine Engine
	queue  chan *waiting
	closed chan struct{}
	once   sync.Once
	wg     sync.WaitGroup
}

// waiting is a write whose caller waits.
type waiting struct {
	ctx   context.Context
	write Write
	done  chan error // capacity 1
}

func newGroup(engine Engine) *group {
	g := &group{engine: engine, queue: make(chan *waiting, queueMost), closed: make(chan struct{})}
	for range engine.Workers() {
		g.wg.Go(g.work)
	}
	return g
}

// commit returns when the write is durable or was refused. Where ctx ends while
// the transaction is under way, nobody knows which.
func (g *group) commit(ctx context.Context, write Write) error {
	if len(write) == 0 {
		return nil
	}
	w := &waiting{ctx: ctx, write: write, done: make(chan error, 1)}
	select {
	case <-g.closed:
		return errClosed
	default:
	}
	select {
	case g.queue <- w:
	case <-g.closed:
		return errClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// stop lets the workers finish what waits and ends them.
func (g *group) stop() {
	g.once.Do(func() { close(g.closed) })
	g.wg.Wait()
}

func (g *group) work() {
	for {
		select {
		case w := <-g.queue:
			g.flush(g.gather(w))
		case <-g.closed:
			for {
				select {
				case w := <-g.queue:
					g.flush(g.gather(w))
				default:
					return
				}
			}
		}
	}
}

// gather takes what waits besides the first. Who has given up waiting is left out.
func (g *group) gather(first *waiting) []*waiting {
	batch := make([]*waiting, 0, 16)
	add := func(w *waiting) {
		if err := w.ctx.Err(); err != nil {
			w.done <- context.Cause(w.ctx)
			return
		}
		batch = append(batch, w)
	}
	add(first)
	for len(batch) < groupMost {
		select {
		case w := <-g.queue:
			add(w)
		default:
			return batch
		}
	}
	return batch
}

func (g *group) flush(batch []*waiting) {
	if len(batch) == 0 {
		return
	}
	writes := make([]Write, len(batch))
	for i, w := range batch {
		writes[i] = w.write
	}
	err := g.apply(writes)
	if err == nil || len(batch) == 1 || isUnavailable(err) {
		for _, w := range batch {
			w.done <- err
		}
		return
	}
	for _, w := range batch { // one of them is guilty: let it fail alone
		w.done <- g.apply([]Write{w.write})
	}
}

// apply is not tied to any one caller: a transaction that has begun is brought to its end.
func (g *group) apply(writes []Write) error { return g.engine.Apply(context.Background(), writes) }
