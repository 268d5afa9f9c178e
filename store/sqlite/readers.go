package sqlite

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// readersMax is the number of connections for reads. In SQLite, readers do not wait for the writer.
	readersMax = 4
	// readerWait is how long a read waits for an open connection before it opens another one. Opening takes longer
	// than most reads, and each connection has its own cache, schema and prepared statements.
	readerWait = 2 * time.Millisecond
)

// readers is the pool of connections for reads. The most recently used one is used first. It is safe for concurrent
// use.
type readers struct {
	open     func() (*statements, error)
	ready    chan struct{} // one per idle connection
	unopened chan struct{} // one per connection that may still be opened

	mu   sync.Mutex
	rest []*statements
}

// newReaders opens the first connection.
func newReaders(open func() (*statements, error)) (*readers, error) {
	first, err := open()
	if err != nil {
		return nil, err
	}
	r := &readers{open: open, ready: make(chan struct{}, readersMax), unopened: make(chan struct{}, readersMax)}
	for range readersMax - 1 {
		r.unopened <- struct{}{}
	}
	r.giveBack(first)
	return r, nil
}

// take returns a connection, which the caller must give back. It waits while all are in use.
func (r *readers) take(ctx context.Context) (*statements, error) {
	select {
	case _, ok := <-r.ready:
		return r.pop(ok)
	default:
	}
	timer := time.NewTimer(readerWait)
	defer timer.Stop()
	select {
	case _, ok := <-r.ready:
		return r.pop(ok)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-timer.C:
	}
	select {
	case _, ok := <-r.ready:
		return r.pop(ok)
	case _, ok := <-r.unopened:
		return r.another(ok)
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// pop returns the most recently used connection; ok is false after close.
func (r *readers) pop(ok bool) (*statements, error) {
	if !ok {
		return nil, errClosed
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	last := len(r.rest) - 1
	reader := r.rest[last]
	r.rest = r.rest[:last]
	return reader, nil
}

// another opens one more connection; ok is false after close.
func (r *readers) another(ok bool) (*statements, error) {
	if !ok {
		return nil, errClosed
	}
	reader, err := r.open()
	if err != nil {
		r.unopened <- struct{}{}
	}
	return reader, err
}

func (r *readers) giveBack(reader *statements) {
	r.mu.Lock()
	r.rest = append(r.rest, reader)
	r.mu.Unlock()
	r.ready <- struct{}{}
}

// close waits for reads in progress and closes all connections. No read begins after it.
func (r *readers) close() error {
	var errs []error
	for range readersMax {
		select {
		case <-r.ready:
			reader, _ := r.pop(true)
			errs = append(errs, reader.close())
		case <-r.unopened:
		}
	}
	close(r.ready)
	close(r.unopened)
	return errors.Join(errs...)
}
