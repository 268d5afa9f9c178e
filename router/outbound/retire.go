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
	"sluice/internal/pause"
	"sluice/router/ledger"
	"sluice/sessions"
)

const (
	retireBatch = 100 // questions per round
	// retiredPrefix is the prefix of the idempotency key of the order to remove a question's buttons: one order per
	// question.
	retiredPrefix = "retired/"
)

// retireStore is the part of the store that the retirer needs.
type retireStore interface {
	questionStore
	// DecidedQuestions reads ended deliveries whose question is no longer open, oldest first, at most limit.
	DecidedQuestions(ctx context.Context, now time.Time, limit int) ([]ledger.Delivery, error)
	Commit(ctx context.Context, change ledger.Change) error
}

// DecidingStore is a store that raises a signal after each commit that may have decided about a question. It passes nodes that were
// stored to a function, which may be nil.
func DecidingStore(s *ledger.Store, decided pause.Signal, nodes func([]ledger.Node)) *ledger.Store {
	deciding := *s
	deciding.Committer = decidingCommitter{s.Committer, decided, nodes}
	return &deciding
}

type decidingCommitter struct {
	ledger.Committer
	decided pause.Signal
	nodes   func([]ledger.Node)
}

// Commit implements [ledger.Committer].
func (c decidingCommitter) Commit(ctx context.Context, change ledger.Change) error {
	err := c.Committer.Commit(ctx, change)
	if err == nil && len(change.Approvals)+len(change.DenyPending)+len(change.Pairings)+len(change.Nodes) > 0 {
		c.decided.Raise()
	}
	if err == nil && len(change.Nodes) > 0 && c.nodes != nil {
		c.nodes(change.Nodes)
	}
	return err
}

// Retirer removes the buttons of decided questions. It reads the rows, so it finds the questions of all places and deciders.
// It runs when it is told about a decision, and regularly for questions that have expired. Its goroutine runs between
// Start and Stop.
type Retirer struct {
	Store    retireStore
	Adapter  adapters.Finder
	Composer *Composer
	Lanes    Waker
	Now      func() time.Time
	Log      *slog.Logger
	Every    time.Duration // between two rounds
	Decided  pause.Signal  // asks for a round soon

	cancel context.CancelFunc // nil before Start
	wg     sync.WaitGroup
}

// Start starts the rounds.
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

// Stop ends the rounds and waits for the current one.
func (t *Retirer) Stop() {
	if t.cancel != nil {
		t.cancel()
	}
	t.wg.Wait()
}

// retireAll queues the removal of the buttons of each decided question.
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
			case errors.Is(err, sessions.ErrConflict), errors.Is(err, sessions.ErrDuplicate): // another replica has done it
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

// safeChange is change, protected against a panic of the adapter, so that one question does not stop the others. The
// buttons then stay, and a press is answered with the decision.
func (t *Retirer) safeChange(ctx context.Context, q ledger.Delivery) (change ledger.Change, err error) {
	defer func() {
		if p := recover(); p != nil {
			t.Log.Error("buttons of a decided question not removed", "delivery", string(q.ID), "err", fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
			change, err = ledger.Change{Retire: []ledger.DeliveryID{q.ID}}, nil
		}
	}()
	return t.change(ctx, q)
}

// change is the remaining work for a decided question: none if its message can't be changed. Then a press is answered
// with the decision.
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
		text = ledger.DecidedText // the conversation was not shown the question, so it is not shown the answer
	}
	if _, ok := a.(adapters.Editor); ok {
		text = besides(a, piece, text)
	}
	d := t.Composer.Delivery(ledger.KindNotice, q.Route, text, q.Label)
	d.Session, d.Run, d.Revises, d.PreviewID, d.Idempotency = q.Session, q.Run, q.ID, id, retiredPrefix+string(q.ID)
	change.Deliver = []ledger.Delivery{d}
	return change, nil
}

// revises reports whether an adapter can remove the buttons of a message.
func revises(a adapters.Adapter) bool {
	switch a.(type) {
	case adapters.Editor, adapters.Retirer:
		return true
	}
	return false
}

// besides adds a line to the text of a message; if both together are too long, the line replaces the text.
func besides(a adapters.Adapter, text, line string) string {
	if both := text + "\n\n" + line; len(split(a, both)) == 1 {
		return both
	}
	return line
}

// revise changes a message that was sent. Repeating the call is harmless.
func (w *worker) revise(ctx context.Context, from ledger.DeliveryStatus, d ledger.Delivery, a adapters.Adapter, judged []sessions.AuditEntry) (time.Duration, error) {
	if err := w.intend(ctx, from, &d, judged...); err != nil {
		return 0, err
	}
	call, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	err := change(call, a, d.PreviewID, outboundOf(d, part{text: d.Text, buttons: shownButtons(d.ShownButtons(), a)}))
	if err == nil {
		d.Receipts = []adapters.Receipt{{MessageID: d.PreviewID, At: w.out.Now()}}
		return 0, w.out.Journal.Sent(ctx, d)
	}
	f := *adapters.AsFailure(err)
	f.Certain = true
	if f.Final() {
		return 0, w.out.Journal.Discard(ctx, d.Status, d, "the message of the question could not be changed: "+f.Error())
	}
	return w.failed(ctx, a, d, &f)
}

// change edits a message through its adapter.
func change(ctx context.Context, a adapters.Adapter, id sessions.PlatformMessageID, out adapters.Outbound) error {
	switch able := a.(type) {
	case adapters.Editor:
		return able.Edit(ctx, id, out)
	case adapters.Retirer:
		return able.Retire(ctx, id, out)
	}
	return &adapters.Failure{Kind: adapters.Unsupported, Certain: true, Err: errors.New("this channel can't edit messages")}
}

// tooLateToAsk reports whether a delivery asks a question that is already decided.
func (w *worker) tooLateToAsk(ctx context.Context, d ledger.Delivery) (bool, error) {
	if len(d.Controls) == 0 || d.Controls[0].Standing {
		return false, nil
	}
	decided, err := OutcomeOf(ctx, w.out.Store, d.Asks, w.out.Now())
	return decided.Text != "", err
}
