package router

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

// withheldText is what a conversation is told when its answer may not be said there. It says nothing of why.
const withheldText = "I have an answer, but it may not be said in this conversation. My owner can see why with `sluice deliveries list --status blocked`, or begin a new session with /new."

// withheldNotice tells a conversation that its answer is withheld. The notice belongs to the session of the answer and has the
// answer's label, so that only those who may know of both are told over the API. Only where the place carries less than
// the answer does the notice have a label of its own: else nobody would be told.
func (r *Router) withheldNotice(d ledger.Delivery) ledger.Delivery {
	label := d.Label
	if d.Decision.AbovePlace() {
		label = ledger.NoticeLabel()
	}
	notice := r.compose.Delivery(ledger.KindNotice, d.Route, withheldText, label)
	notice.Session, notice.Run = d.Session, d.Run
	return notice
}

// Withheld says that an answer may not be told, by which decision, and what can be done about it.
type Withheld struct {
	Decision policy.Decision
	Delivery ledger.DeliveryID // that the decision is recorded with; empty once it is no longer kept
	Approval ledger.ApprovalID // of an answer that somebody can allow
}

// Message says for people that the answer is withheld, and what its owner can do.
func (w *Withheld) Message() string {
	switch {
	case w.Decision.Action == policy.Hold:
		return "I have an answer, but somebody has to allow it first. My owner can do that with `sluice approvals list`."
	case w.Decision.Unsent():
		return "I have an answer, but sending is off in this conversation. My owner can see why with `sluice deliveries list --status blocked`, or turn it on with /send on."
	}
	return withheldText
}

// Told is what a caller of the API is told of an answer.
type Told struct {
	Text     string    // the answer, without what the gate takes out of it
	Withheld *Withheld // nil: nothing forbids it
}

// Teller asks the gate about something that one run has said. It is for one goroutine.
type Teller func(ctx context.Context, text string) (Told, error)

// Told asks the gate about a run's answer, see [Router.Teller].
func (r *Router) Told(ctx context.Context, run sessions.Run, reader flow.Level) (Told, error) {
	tell, err := r.Teller(ctx, run, reader)
	if err != nil {
		return Told{}, err
	}
	return tell(ctx, run.Reply)
}

// Teller asks the gate about what a run has said for a caller of the API: for who waits for it, who follows the session, and who
// reads it later. The decision is that of the answer's delivery. A valid reader is the level of who reads what was said before with a
// token of their own; else the answer may only be told if the place where it was asked for carries it.
func (r *Router) Teller(ctx context.Context, run sessions.Run, reader flow.Level) (Teller, error) {
	if run.Route.IsZero() { // it answers nobody, so that the gate has nothing to say
		return func(_ context.Context, text string) (Told, error) { return Told{Text: audible(text)}, nil }, nil
	}
	record, err := r.store.Session(ctx, run.Session)
	if err != nil && !errors.Is(err, sessions.ErrNotFound) {
		return nil, fmt.Errorf("read session: %w", err)
	}
	kind, label := ledger.KindReply, run.Label
	if run.Kind == sessions.KindCommand {
		kind, label = ledger.KindCommand, ledger.NoticeLabel()
	}
	leaving, err := r.compose.Egress(ctx, ledger.Delivery{Kind: kind, Route: run.Route, Label: label, Run: run.ID}, record)
	if err != nil {
		return nil, err
	}
	leaving.Reader = reader
	return func(ctx context.Context, text string) (Told, error) {
		if text = audible(text); text == "" {
			return Told{}, nil
		}
		said := leaving
		said.Text, said.Pieces = text, []string{text}
		d := r.gate.Decide(said)
		if !d.Passes() {
			return r.unlessAllowed(ctx, run, text, d)
		}
		return Told{Text: d.Redacted(text)}, nil
	}, nil
}

// audible is a text as it is told: a silent one is empty.
func audible(text string) string {
	if sessions.Silent(text) {
		return ""
	}
	return text
}

// unlessAllowed withholds what a run has said, unless somebody has allowed what the gate holds.
func (r *Router) unlessAllowed(ctx context.Context, run sessions.Run, text string, d policy.Decision) (Told, error) {
	answer, err := r.answerDelivery(ctx, run)
	if errors.Is(err, sessions.ErrNotFound) {
		return Told{Withheld: &Withheld{Decision: d}}, nil
	}
	if err != nil {
		return Told{}, err
	}
	w := &Withheld{Decision: d, Delivery: answer.ID}
	if d.Action != policy.Hold {
		return Told{Withheld: w}, nil
	}
	held := answer
	held.Decision = &d
	p, err := r.approvalOf(ctx, held)
	if err != nil {
		return Told{}, err
	}
	if err := r.allowedBefore(ctx, answer, &w.Decision); err != nil {
		return Told{}, err
	}
	if w.Decision.Passes() {
		return Told{Text: w.Decision.Redacted(text)}, nil
	}
	if w.Decision.Action == policy.Hold {
		w.Approval = p.ID
	}
	return Told{Withheld: w}, nil
}

// answerDelivery is the delivery of a run's answer.
func (r *Router) answerDelivery(ctx context.Context, run sessions.Run) (ledger.Delivery, error) {
	batch, err := r.store.Batch(ctx, cmp.Or(run.Leader, run.ID))
	if err != nil {
		return ledger.Delivery{}, fmt.Errorf("read runs: %w", err)
	}
	waiting, err := r.store.LaneDeliveries(ctx, run.Route.Lane(), laneBatch)
	if err != nil {
		return ledger.Delivery{}, fmt.Errorf("read lane: %w", err)
	}
	for _, b := range batch {
		i := slices.IndexFunc(waiting, func(d ledger.Delivery) bool {
			return d.Run == b.ID && (d.Kind == ledger.KindReply || d.Kind == ledger.KindCommand) && d.Idempotency == ""
		})
		if i >= 0 {
			return waiting[i], nil
		}
		d, err := r.store.WithheldAnswer(ctx, run.Session, b.ID)
		if !errors.Is(err, sessions.ErrNotFound) {
			return d, err
		}
	}
	return ledger.Delivery{}, sessions.ErrNotFound
}
