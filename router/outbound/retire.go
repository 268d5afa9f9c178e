package outbound

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
	// DecidedQuestions reads deliveries that are ended and whose question is no longer open, the oldest first, at most limit.
	DecidedQuestions(ctx context.Context, now time.Time, limit int) ([]ledger.Delivery, error)
	Commit(ctx context.Context, change ledger.Change) error
}

// Signal asks a goroutine to look soon. Several signals before it looks are one.
type Signal chan struct{}

// NewSignal makes a Signal.
func NewSignal() Signal { return make(Signal, 1) }

// Raise gives the signal. It never waits.
func (s Signal) Raise() {
	select {
	case s <- struct{}{}:
	default: // it was given already
	}
}

// DecidingStore is a store that raises a signal after each commit that may have decided about a question.
func DecidingStore(s *ledger.Store, decided Signal) *ledger.Store {
	deciding := *s
	deciding.Committer = decidingCommitter{s.Committer, decided}
	return &deciding
}

type decidingCommitter struct {
	ledger.Committer
	decided Signal
}

// Commit implements [ledger.Committer].
func (c decidingCommitter) Commit(ctx context.Context, change ledger.Change) error {
	err := c.Committer.Commit(ctx, change)
	if err == nil && len(change.Approvals)+len(change.DenyPending)+len(change.Pairings) > 0 {
		c.decided.Raise()
	}
	return err
}

// Retirer takes the buttons off questions that are decided, wherever they were asked and whoever has decided: it goes by the rows.
// It looks at them when it is told that something was decided, and now and then for what time alone has decided. Its goroutine
// runs between Start and Stop.
type Retirer struct {
	Store    retireStore
	Adapter  adapters.Finder
	Composer *Composer
	Lanes    Waker
	Now      func() time.Time
	Log      *slog.Logger
	Every    time.Duration // between two looks
	Decided  Signal        // asks for a look soon

	cancel context.CancelFunc // nil before Start
	wg     sync.WaitGroup
}

// Start begins to look.
func (t *Retirer) Start() {
	ctx, cancel := context.WithCancel(context.Background())
	t.cancel = cancel
	t.wg.Go(func() {
		ticker := time.NewTicker(t.Every)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-t.Decided:
			case <-ticker.C:
			}
			if err := t.retireAll(ctx); err != nil && ctx.Err() == nil {
				t.Log.Error("buttons of decided questions not removed; trying again later", "err", err)
			}
		}
	})
}

// Stop ends the looking and waits for it.
func (t *Retirer) Stop() {
	if t.cancel != nil {
		t.cancel()
	}
	t.wg.Wait()
}

// retireAll orders for each decided question that its buttons go.
func (t *Retirer) retireAll(ctx context.Context) error {
	for {
		questions, err := t.Store.DecidedQuestions(ctx, t.Now(), retireBatch)
		if err != nil {
			return fmt.Errorf("read decided questions: %w", err)
		}
		retired := 0
		for _, q := range questions {
			change, err := t.safeChange(ctx, q)
			if err != nil {
				return err
			}
			err = t.Store.Commit(ctx, change)
			switch {
			case errors.Is(err, sessions.ErrConflict), errors.Is(err, sessions.ErrDuplicate): // another replica was first
			case err != nil:
				return fmt.Errorf("store that a question is decided: %w", err)
			default:
				retired++
				t.Lanes.WakeFor(change)
			}
		}
		if len(questions) < retireBatch || retired == 0 {
			return nil
		}
	}
}

// safeChange is change for a question whose text an adapter may stumble over: such a fault stops no other question. The buttons stay,
// and a press of one is told that it comes too late.
func (t *Retirer) safeChange(ctx context.Context, q ledger.Delivery) (change ledger.Change, err error) {
	defer func() {
		if p := recover(); p != nil {
			t.Log.Error("buttons of a decided question not removed", "delivery", string(q.ID), "err", fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
			change, err = ledger.Change{Retire: []ledger.DeliveryID{q.ID}}, nil
		}
	}()
	return t.change(ctx, q)
}

// change is what is left to do about a decided question. Where its message can't be changed nothing is: a press is told that it comes too late.
func (t *Retirer) change(ctx context.Context, q ledger.Delivery) (ledger.Change, error) {
	change := ledger.Change{Retire: []ledger.DeliveryID{q.ID}}
	id, piece, shown := q.LastText()
	a, _ := t.Adapter(q.Route.Channel, q.Route.Account)
	if !shown || q.Route.Handle != "" || !revises(a) {
		return change, nil
	}
	decided, err := OutcomeOf(ctx, t.Store, q.Asks, t.Now())
	if err != nil {
		return ledger.Change{}, err
	}
	text := decided.Text
	if decided.Label.Valid() && !decided.Label.FlowsTo(q.Label.Level()) || text == "" {
		text = ledger.DecidedText // what was asked could not be said there, and so can't the answer
	}
	if _, ok := a.(adapters.Editor); ok {
		text = besides(a, piece, text)
	}
	d := t.Composer.Delivery(ledger.KindNotice, q.Route, text, q.Label)
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
func (w *worker) revise(ctx context.Context, from ledger.DeliveryStatus, d ledger.Delivery, a adapters.Adapter, judged []sessions.AuditEntry) (time.Duration, error) {
	if err := w.intend(ctx, from, &d, judged...); err != nil {
		return 0, err
	}
	call, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	err := change(call, a, d.PreviewID, outboundOf(d, part{text: d.Text}))
	if err == nil {
		d.Receipts = []adapters.Receipt{{MessageID: d.PreviewID, At: w.out.Now()}}
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
func (w *worker) tooLateToAsk(ctx context.Context, d ledger.Delivery) (bool, error) {
	if len(d.Controls) == 0 {
		return false, nil
	}
	decided, err := OutcomeOf(ctx, w.out.Store, d.Asks, w.out.Now())
	return decided.Text != "", err
}
