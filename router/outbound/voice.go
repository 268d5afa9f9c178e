package outbound

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sluice/adapters"
	"sluice/internal/spending"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/queue"
	"sluice/sessions"
)

// Speaker turns texts into recordings. It is called from many goroutines.
type Speaker interface {
	// Speaks reports whether this is configured.
	Speaks() bool
	// Speak makes a recording of a Markdown text. An error says why that failed.
	Speak(ctx context.Context, text string, label flow.Label) (NewFile, error)
}

// voiced makes the recording of a delivery of kind voice, which the gate has let pass, and stores it. The delivery then has it as its only
// file, so that a repeated attempt makes no second one.
func (o *Outbox) voiced(ctx context.Context, d *ledger.Delivery, a adapters.Adapter) error {
	if _, ok := a.(adapters.FileSender); !ok {
		return errors.New("this channel does not support files")
	}
	if o.Speaker == nil {
		return errors.New("replies can't be spoken: set media.speech")
	}
	ctx, err := o.paidBy(ctx, d)
	if err != nil {
		return err
	}
	file, err := o.Speaker.Speak(ctx, d.Text, d.Label)
	if err != nil {
		return fmt.Errorf("the reply could not be spoken: %w", err)
	}
	m := o.Composer.NewMedia(file, d.Label)
	if err := o.Store.Commit(ctx, ledger.Change{Media: []ledger.Media{m}}); err != nil {
		return fmt.Errorf("store recording: %w", err)
	}
	d.Files = append(d.Files, m.ID)
	return nil
}

// paidBy returns a context that charges the run that a delivery answers.
func (o *Outbox) paidBy(ctx context.Context, d *ledger.Delivery) (context.Context, error) {
	record, err := o.Store.Session(ctx, d.Session)
	if err != nil && !errors.Is(err, sessions.ErrNotFound) {
		return ctx, fmt.Errorf("read session: %w", err)
	}
	batch, err := o.Composer.Store.Batch(ctx, d.Run)
	if err != nil {
		return ctx, fmt.Errorf("read batch: %w", err)
	}
	run := sessions.Run{ID: d.Run, Session: d.Session}
	if at := slices.IndexFunc(batch, func(r sessions.Run) bool { return r.ID == d.Run }); at >= 0 {
		run = batch[at]
		queue.SetSpeaker(&run, batch)
	}
	origin := ledger.OriginOf(&run, record.Agent)
	origin.Partition, origin.Epoch = 0, 0 // the run has ended
	return spending.With(ctx, origin), nil
}
