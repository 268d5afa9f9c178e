package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	groupMax     = 256              // writes in one transaction
	queueMax     = 1024             // waiting writes; further callers block
	applyTimeout = 30 * time.Second // for one transaction, so that a database that hangs does not block its callers forever
)

// errClosed means that the store was closed.
var errClosed = errors.New("store is closed")

// group merges waiting writes into one transaction. Its goroutines are its workers; stop waits for them.
type group struct {
	engine Engine
	queue  chan *waiting
	wg     sync.WaitGroup

	mu     sync.RWMutex // read-held by callers that write to the queue, so that it is not closed at the same time
	closed bool
}

// waiting is a write whose caller waits.
type waiting struct {
	ctx   context.Context
	write Write
	trail Trail
	ended []Ended
	done  chan error  // capacity 1
	taken atomic.Bool // by a worker, or by its caller, who has given up
}

// take reports whether the one who asks decides how the write ends. Only the first one does.
func (w *waiting) take() bool { return w.taken.CompareAndSwap(false, true) }

// Ended receives the outcome of a write: nil, or why nothing was written. It is called once, before the write's caller
// returns. It must be quick.
type Ended func(err error)

// end tells everybody how the write ended.
func (w *waiting) end(err error) {
	for _, ended := range w.ended {
		ended(err)
	}
	w.done <- err
}

func newGroup(engine Engine) *group {
	g := &group{engine: engine, queue: make(chan *waiting, queueMax)}
	for range engine.Workers() {
		g.wg.Go(g.work)
	}
	return g
}

// commit returns when the write is durable or was refused. When ctx ends, a write that waits is taken back. One whose
// transaction has begun is waited for, at most applyTimeout: its caller acts on what is stored, and nobody else knows of it.
func (g *group) commit(ctx context.Context, write Write, trail Trail, ended ...Ended) error {
	w := &waiting{ctx: ctx, write: write, trail: trail, ended: ended, done: make(chan error, 1)}
	if len(write) == 0 && len(trail) == 0 {
		w.end(nil)
		return nil
	}
	if err := g.enqueue(w); err != nil {
		w.end(err)
		return err
	}
	select {
	case err := <-w.done:
		return err
	case <-ctx.Done():
		if w.take() {
			w.end(context.Cause(ctx))
		}
		return <-w.done
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

// stop lets the workers finish the waiting writes and ends them.
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
		g.flush(ordered(g.gather(w)))
	}
}

// gather takes the writes that wait behind the first. It skips those whose caller has given up.
func (g *group) gather(first *waiting) []*waiting {
	batch := make([]*waiting, 0, 16)
	for w := first; ; {
		if w.take() {
			if w.ctx.Err() != nil {
				w.end(context.Cause(w.ctx))
			} else {
				batch = append(batch, w)
			}
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

// ordered is a batch with the writes at its end that come last.
func ordered(batch []*waiting) []*waiting {
	slices.SortStableFunc(batch, func(a, b *waiting) int { return cmp.Compare(a.rank(), b.rank()) })
	return batch
}

// rank is the place of a write in a transaction: 0, or 1 if it comes last.
func (w *waiting) rank() int {
	if slices.ContainsFunc(w.write, func(s Statement) bool { return s.Last }) {
		return 1
	}
	return 0
}

// flush settles every write of a batch. A write fails for good only at the head of a transaction: otherwise a repeat
// could be refused because of an original that is then rolled back.
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
			n = guilty // commit the writes before it; it is then the head
		}
	}
}

func answer(batch []*waiting, err error) {
	for _, w := range batch {
		w.end(err)
	}
}

// apply is not bound to the context of one caller: a transaction that has begun is finished.
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
	ctx, cancel := context.WithTimeout(context.Background(), applyTimeout)
	defer cancel()
	return g.engine.Apply(ctx, writes, trail)
}
