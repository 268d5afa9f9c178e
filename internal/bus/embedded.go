package bus

import (
	"context"
	"errors"
)

// embed starts the embedded server and connects to it, unless that is done. A gateway needs the server only for live
// events with a follower; until then it costs neither memory nor timers. After an error nothing is left running, and
// the next call tries again.
func (b *Bus) embed() error {
	b.embedding.Lock()
	defer b.embedding.Unlock()
	if b.ctx.Err() != nil {
		return errClosed
	}
	if b.conn != nil {
		return nil
	}
	err := b.open(b.ctx)
	if err != nil {
		b.shut()
		b.conn, b.server = nil, nil
		return err
	}
	b.gather.opened()
	return nil
}

// open connects to the server, and with an empty URL starts it first.
func (b *Bus) open(ctx context.Context) error {
	if b.solo() {
		if err := b.startServer(); err != nil {
			return err
		}
	}
	if err := b.connect(); err != nil {
		return err
	}
	if err := b.ensure(ctx); errors.Is(err, ErrPartial) {
		b.lacks.Store(&err)
		b.damaged() // the repairer completes it
	} else if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ctx.Err() != nil {
		return errClosed
	}
	b.wg.Go(b.repairer)
	return nil
}

// shut closes the connection and stops the embedded server.
func (b *Bus) shut() {
	if b.conn != nil {
		b.conn.Close()
	}
	if b.server != nil {
		b.server.Shutdown()
		b.server.WaitForShutdown()
	}
}
