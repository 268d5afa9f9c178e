package router

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"sluice/adapters"
	"sluice/router/ledger"
	"sluice/sessions"
)

const (
	retireBatch = 100 // questions of one look
	// retiredPrefix begins the idempotency key of the order to take the buttons off a question: there is one for each.
	retiredPrefix = "retired/"
)

// retireStore is what the retirer needs of the store.
type retireStore interface {
	questionStore
	// DecidedQuestions reads deliveries that are done with and whose question is not open any more, the oldest first, at most limit.
	DecidedQuestions(ctx context.Context, now time.Time, limit int) ([]ledger.Delivery, error)
	Commit(ctx context.Context, change ledger.Change) error
}

// decidingStore tells of each commit that may have decided about a question.
type decidingStore struct {
	ledger.Store
	decided func()
}

// Commit implements [Store].
func (s decidingStore) Commit(ctx context.Context, change ledger.Change) error {
	err := s.Store.Commit(ctx, change)
	if err == nil && len(change.Approvals)+len(change.Unask)+len(change.Pairings) > 0 {
		s.decided()
	}
	return err
}

// retirer takes the buttons off questions that are decided, wherever they were asked and whoever has decided: it goes by the rows.
// It looks at them when it is told that something was decided, and now and then for what time alone has decided. Its goroutine
// runs between start and stop.
type retirer struct {
	store   retireStore
	adapter adapters.Finder
	order   func(question ledger.Delivery, text string) ledger.Delivery // to change the message of the question
	wake    func(ledger.Change)
	now     func() time.Time
	log     *slog.Logger
	every   time.Duration
	due     chan struct{} // capacity 1

	cancel context.CancelFunc // nil before start
	wg     sync.WaitGroup
}

// look asks for a look soon. It never waits.
func (t *retirer) look() {
	select {
	case t.due <- struct{}{}:
	default: // one is due already
	}
}

func (t *retirer) start() {
	ctx, cancel := context.WithCancel(context.Background())
	t.cancel = cancel
	t.wg.Go(func() {
		ticker := time.NewTicker(t.every)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-t.due:
			case <-ticker.C:
			}
			if err := t.retireAll(ctx); err != nil && ctx.Err() == nil {
				t.log.Error("buttons of decided questions not taken off; they are tried again", "err", err)
			}
		}
	})
}

func (t *retirer) stop() {
	if t.cancel != nil {
		t.cancel()
	}
	t.wg.Wait()
}

// retireAll orders for each decided question that its buttons go.
func (t *retirer) retireAll(ctx context.Context) error {
	for {
		questions, err := t.store.DecidedQuestions(ctx, t.now(), retireBatch)
		if err != nil {
			return fmt.Errorf("read decided questions: %w", err)
		}
		retired := 0
		for _, q := range questions {
			change, err := t.safeChange(ctx, q)
			if err != nil {
				return err
			}
			err = t.store.Commit(ctx, change)
			switch {
			case errors.Is(err, sessions.ErrConflict), errors.Is(err, sessions.ErrDuplicate): // another replica was first
			case err != nil:
				return fmt.Errorf("store that a question is decided: %w", err)
			default:
				retired++
				t.wake(change)
			}
		}
		if len(questions) < retireBatch || retired == 0 {
			return nil
		}
	}
}

// safeChange is change for a question whose text an adapter may stumble over: such a fault stops no other question. The buttons stay,
// and a press of one is told that it comes too late.
func (t *retirer) safeChange(ctx context.Context, q ledger.Delivery) (change ledger.Change, err error) {
	defer func() {
		if p := recover(); p != nil {
			t.log.Error("buttons of a decided question stay", "delivery", string(q.ID), "err", fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
			change, err = ledger.Change{Retire: []ledger.DeliveryID{q.ID}}, nil
		}
	}()
	return t.change(ctx, q)
}

// change is what is left to do about a decided question. Where its message can't be changed nothing is: a press is told that it comes too late.
func (t *retirer) change(ctx context.Context, q ledger.Delivery) (ledger.Change, error) {
	change := ledger.Change{Retire: []ledger.DeliveryID{q.ID}}
	id, piece, shown := q.LastText()
	a, _ := t.adapter(q.Route.Channel, q.Route.Account)
	if !shown || q.Route.Handle != "" || !revises(a) {
		return change, nil
	}
	decided, err := outcomeOf(ctx, t.store, q.Asks, t.now())
	if err != nil {
		return ledger.Change{}, err
	}
	text := decided.text
	if decided.label.Valid() && !decided.label.FlowsTo(q.Label.Level()) || text == "" {
		text = ledger.DecidedText // what was asked could not be said there, and so can't the answer
	}
	if _, ok := a.(adapters.Editor); ok {
		text = besides(a, piece, text)
	}
	d := t.order(q, text)
	d.Session, d.Run, d.Revises, d.PreviewID, d.Idempotency = q.Session, q.Run, q.ID, id, retiredPrefix+string(q.ID)
	change.Deliver = []ledger.Delivery{d}
	return change, nil
}

// revises reports whether an adapter can take the buttons off a message.
func revises(a adapters.Adapter) bool {
	switch a.(type) {
	case adapters.Editor, adapters.Retirer:
		return true
	}
	return false
}

// besides adds a line to the text of a message, which it takes the place of where both are too long.
func besides(a adapters.Adapter, text, line string) string {
	if both := text + "\n\n" + line; len(split(a, both)) == 1 {
		return both
	}
	return line
}

// revise carries out an order to change a message that was sent. Making the call twice does no harm.
func (w *outboxWorker) revise(ctx context.Context, from ledger.DeliveryStatus, d ledger.Delivery, a adapters.Adapter, judged []sessions.AuditEntry) (time.Duration, error) {
	if err := w.intend(ctx, from, &d, judged...); err != nil {
		return 0, err
	}
	call, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	err := change(call, a, d.PreviewID, outboundOf(d, part{text: d.Text}))
	if err == nil {
		d.Receipts = []adapters.Receipt{{MessageID: d.PreviewID, At: w.now()}}
		return 0, w.sent(ctx, d)
	}
	f := *adapters.AsFailure(err)
	f.Certain = true
	switch f.Kind {
	case adapters.Permanent, adapters.Unsupported, adapters.TooLarge:
		return 0, w.discard(ctx, d.Status, d, "the message of the question could not be changed: "+f.Error())
	}
	return w.failed(ctx, a, d, &f)
}

// change makes an adapter change a message.
func change(ctx context.Context, a adapters.Adapter, id sessions.PlatformMessageID, out adapters.Outbound) error {
	switch able := a.(type) {
	case adapters.Editor:
		return able.Edit(ctx, id, out)
	case adapters.Retirer:
		return able.Retire(ctx, id, out)
	}
	return &adapters.Failure{Kind: adapters.Unsupported, Certain: true, Err: errors.New("this channel can't change messages")}
}

// tooLateToAsk reports whether a delivery asks what is decided by now.
func (w *outboxWorker) tooLateToAsk(ctx context.Context, d ledger.Delivery) (bool, error) {
	if len(d.Controls) == 0 {
		return false, nil
	}
	decided, err := outcomeOf(ctx, w.store, d.Asks, w.now())
	return decided.text != "", err
}
