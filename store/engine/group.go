package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	groupMax    = 256              // writes of one transaction
	queueMax    = 1024             // writes that wait; further callers are held up
	applyWithin = 30 * time.Second // for one transaction; a database that hangs must not hold its callers for ever
)

// errClosed: the store was closed.
var errClosed = errors.New("store is closed")

// group merges the writes that wait into one transaction. Its goroutines are
// its workers; stop waits for them.
type group struct {
	engine Engine
	queue  chan *waiting
	wg     sync.WaitGroup

	mu     sync.RWMutex // read-held by who puts into the queue, so that it is not closed under them
	closed bool
}

// waiting is a write whose caller waits.
type waiting struct {
	ctx   context.Context
	write Write
	trail Trail
	done  chan error // capacity 1
}

func newGroup(engine Engine) *group {
	g := &group{engine: engine, queue: make(chan *waiting, queueMax)}
	for range engine.Workers() {
		g.wg.Go(g.work)
	}
	return g
}

// commit returns when the write is durable or was refused. Where ctx ends while
// the transaction is in progress, nobody knows which.
func (g *group) commit(ctx context.Context, write Write, trail Trail) error {
	if len(write) == 0 && len(trail) == 0 {
		return nil
	}
	w := &waiting{ctx: ctx, write: write, trail: trail, done: make(chan error, 1)}
	if err := g.enqueue(w); err != nil {
		return err
	}
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (g *group) enqueue(w *waiting) error {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if g.closed {
		return errClosed
	}
	select {
	case g.queue <- w:
		return nil
	case <-w.ctx.Done():
		return context.Cause(w.ctx)
	}
}

// stop lets the workers finish what waits and ends them.
func (g *group) stop() {
	g.mu.Lock()
	if !g.closed {
		g.closed = true
		close(g.queue)
	}
	g.mu.Unlock()
	g.wg.Wait()
}

func (g *group) work() {
	for w := range g.queue {
		g.flush(g.gather(w))
	}
}

// gather takes what waits besides the first. Who has given up waiting is left out.
func (g *group) gather(first *waiting) []*waiting {
	batch := make([]*waiting, 0, 16)
	for w := first; ; {
		if err := w.ctx.Err(); err != nil {
			w.done <- context.Cause(w.ctx)
		} else {
			batch = append(batch, w)
		}
		if len(batch) == groupMax {
			return batch
		}
		select {
		case next, ok := <-g.queue:
			if !ok {
				return batch
			}
			w = next
		default:
			return batch
		}
	}
}

// flush brings every write of a batch to its end. A write fails for good only at
// the head of a transaction, where nothing stands before it that could still be
// undone: else a repeat could be refused for the sake of a first that is then lost.
func (g *group) flush(batch []*waiting) {
	for n := len(batch); len(batch) > 0; {
		guilty, err := g.apply(batch[:n])
		switch {
		case err == nil || guilty < 0:
			answer(batch[:n], err)
			batch = batch[n:]
			n = len(batch)
		case guilty == 0:
			answer(batch[:1], err)
			batch = batch[1:]
			n = len(batch)
		default:
			n = guilty // commit the innocent before it; it is then the head
		}
	}
}

func answer(batch []*waiting, err error) {
	for _, w := range batch {
		w.done <- err
	}
}

// apply is not tied to any one caller: a transaction that has begun is finished.
func (g *group) apply(batch []*waiting) (guilty int, err error) {
	defer func() {
		if p := recover(); p != nil {
			guilty, err = -1, fmt.Errorf("apply writes: panic: %v", p)
		}
	}()
	writes := make([]Write, len(batch))
	var trail Trail
	for i, w := range batch {
		writes[i] = w.write
		trail = append(trail, w.trail...)
	}
	ctx, cancel := context.WithTimeout(context.Background(), applyWithin)
	defer cancel()
	return g.engine.Apply(ctx, writes, trail)
}
