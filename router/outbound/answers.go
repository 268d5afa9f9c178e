package outbound

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
const withheldText = "I have an answer, but I am not allowed to give it in this conversation. My owner can see why with `sluice deliveries list --status blocked`, or start a new session with /new."

// WithheldNotice tells a conversation that its answer is withheld. The notice belongs to the session of the answer and has the
// answer's label, so that only those who may know of both are told over the API. Only where the place carries less than
// the answer does the notice have a label of its own: else nobody would be told.
func (c *Composer) WithheldNotice(d ledger.Delivery) ledger.Delivery {
	label := d.Label
	if d.Decision.AbovePlace() {
		label = ledger.NoticeLabel()
	}
	notice := c.Delivery(ledger.KindNotice, d.Route, withheldText, label)
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
		return "I have an answer, but it needs approval first. My owner can approve it with `sluice approvals list`."
	case w.Decision.SendDenied():
		return "I have an answer, but sending is turned off in this conversation. My owner can see why with `sluice deliveries list --status blocked`, or turn it on with /send on."
	}
	return withheldText
}

// Disclosure is what a caller of the API is told of an answer.
type Disclosure struct {
	Text     string    // the answer, without what the gate takes out of it
	Withheld *Withheld // nil: nothing forbids it
}

// AnswerStore is what answers over the API need of the store.
type AnswerStore interface {
	Session(ctx context.Context, id sessions.ID) (sessions.Record, error)
	Batch(ctx context.Context, id sessions.RunID) ([]sessions.Run, error)
	LaneDeliveries(ctx context.Context, lane sessions.Lane, limit int) ([]ledger.Delivery, error)
	// WithheldAnswer reads the delivery of a run's answer that is held, blocked or expired, or that was held and is allowed since; else ErrNotFound.
	WithheldAnswer(ctx context.Context, session sessions.ID, run sessions.RunID) (ledger.Delivery, error)
}

// Answers says what callers of the API may be told. All fields are required.
type Answers struct {
	Store    AnswerStore
	Composer *Composer
	Holds    *Holds
}

// Discloser asks the gate about something that one run has said. It is for one goroutine.
type Discloser func(ctx context.Context, text string) (Disclosure, error)

// Disclose asks the gate about a run's answer, see [Answers.Discloser].
func (a *Answers) Disclose(ctx context.Context, run sessions.Run, reader flow.Level) (Disclosure, error) {
	tell, err := a.Discloser(ctx, run, reader)
	if err != nil {
		return Disclosure{}, err
	}
	return tell(ctx, run.Reply)
}

// Discloser asks the gate about what a run has said for a caller of the API: for who waits for it, who follows the session, and who
// reads it later. The decision is that of the answer's delivery. A valid reader is the level of who reads what was said before with a
// token of their own; else the answer may only be told if the place where it was asked for carries it.
func (a *Answers) Discloser(ctx context.Context, run sessions.Run, reader flow.Level) (Discloser, error) {
	if run.Route.IsZero() { // it answers nobody, so that the gate has nothing to say
		return func(_ context.Context, text string) (Disclosure, error) {
			return Disclosure{Text: visibleText(text)}, nil
		}, nil
	}
	record, err := a.Store.Session(ctx, run.Session)
	if err != nil && !errors.Is(err, sessions.ErrNotFound) {
		return nil, fmt.Errorf("read session: %w", err)
	}
	kind, label := ledger.KindReply, run.Label
	if run.Kind == sessions.KindCommand {
		kind, label = ledger.KindCommand, ledger.NoticeLabel()
	}
	leaving, err := a.Composer.Egress(ctx, ledger.Delivery{Kind: kind, Route: run.Route, Label: label, Run: run.ID}, record)
	if err != nil {
		return nil, err
	}
	leaving.Reader = reader
	return func(ctx context.Context, text string) (Disclosure, error) {
		if text = visibleText(text); text == "" {
			return Disclosure{}, nil
		}
		said := leaving
		said.Text, said.Parts = text, []string{text}
		d := a.Composer.Gate.Decide(said)
		if !d.Passes() {
			return a.unlessAllowed(ctx, run, text, d)
		}
		return Disclosure{Text: d.Redacted(text)}, nil
	}, nil
}

// visibleText is a text as it is told: a silent one is empty.
func visibleText(text string) string {
	if sessions.Silent(text) {
		return ""
	}
	return text
}

// unlessAllowed withholds what a run has said, unless somebody has allowed what the gate holds.
func (a *Answers) unlessAllowed(ctx context.Context, run sessions.Run, text string, d policy.Decision) (Disclosure, error) {
	answer, err := a.answerDelivery(ctx, run)
	if errors.Is(err, sessions.ErrNotFound) {
		return Disclosure{Withheld: &Withheld{Decision: d}}, nil
	}
	if err != nil {
		return Disclosure{}, err
	}
	w := &Withheld{Decision: d, Delivery: answer.ID}
	if d.Action != policy.Hold {
		return Disclosure{Withheld: w}, nil
	}
	held := answer
	held.Decision = &d
	p, err := a.Holds.ApprovalOf(ctx, held)
	if err != nil {
		return Disclosure{}, err
	}
	if err := a.Holds.allowedBefore(ctx, answer, &w.Decision); err != nil {
		return Disclosure{}, err
	}
	if w.Decision.Passes() {
		return Disclosure{Text: w.Decision.Redacted(text)}, nil
	}
	if w.Decision.Action == policy.Hold {
		w.Approval = p.ID
	}
	return Disclosure{Withheld: w}, nil
}

// answerDelivery is the delivery of a run's answer.
func (a *Answers) answerDelivery(ctx context.Context, run sessions.Run) (ledger.Delivery, error) {
	batch, err := a.Store.Batch(ctx, cmp.Or(run.Leader, run.ID))
	if err != nil {
		return ledger.Delivery{}, fmt.Errorf("read runs: %w", err)
	}
	waiting, err := a.Store.LaneDeliveries(ctx, run.Route.Lane(), laneBatch)
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
		d, err := a.Store.WithheldAnswer(ctx, run.Session, b.ID)
		if !errors.Is(err, sessions.ErrNotFound) {
			return d, err
		}
	}
	return ledger.Delivery{}, sessions.ErrNotFound
}
