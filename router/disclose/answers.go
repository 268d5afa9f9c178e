package disclose

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/sessions"
)

// waitingMax is how many waiting deliveries of a conversation are searched for the one of an answer.
const waitingMax = 32

// Withheld says that an answer is withheld, by which decision, and what can be done about it.
type Withheld struct {
	Decision policy.Decision
	Delivery ledger.DeliveryID // the delivery with the decision; empty if it no longer exists
	Approval ledger.ApprovalID // of an answer that somebody can approve
}

// Message tells people that the answer is withheld, and what its owner can do.
func (w *Withheld) Message() string {
	switch {
	case w.Decision.Action == policy.Hold:
		return "I have a reply, but it needs approval first. My owner can approve it with `sluice approvals list`."
	case w.Decision.SendDenied():
		return "I have a reply, but sending is turned off in this conversation. My owner can see why with `sluice deliveries list --status blocked`, or turn it on with /send on."
	}
	return outbound.WithheldText
}

// Told is what a caller of the API sees of an answer.
type Told struct {
	Text     string                // the answer, redacted by the gate
	Calls    []sessions.ClientCall // of the client's functions, likewise
	Withheld *Withheld             // nil if the answer is not withheld
}

// Store is the part of the store that answers over the API need.
type Store interface {
	Session(ctx context.Context, id sessions.ID) (sessions.Record, error)
	Batch(ctx context.Context, id sessions.RunID) ([]sessions.Run, error)
	LaneDeliveries(ctx context.Context, lane sessions.Lane, limit int) ([]ledger.Delivery, error)
	// WithheldAnswer reads the delivery of a run's answer that is held, blocked or expired, or that was held and then
	// allowed; else ErrNotFound.
	WithheldAnswer(ctx context.Context, session sessions.ID, run sessions.RunID) (ledger.Delivery, error)
}

// Answers decides what callers of the API may see. All fields are required.
type Answers struct {
	Store    Store
	Composer *outbound.Composer
	Held     *outbound.HeldDeliveries
}

// Teller asks the gate about a text of one run. Use it from one goroutine.
type Teller func(ctx context.Context, text string) (Told, error)

// Disclose asks the gate about a run's answer, see [Answers.Teller]. An answer with calls is withheld if one of them is.
func (a *Answers) Disclose(ctx context.Context, run sessions.Run, reader flow.Level) (Told, error) {
	decide, err := a.judge(ctx, run, reader)
	if err != nil {
		return Told{}, err
	}
	told, err := decide.text(ctx, run.Reply)
	for _, call := range run.Calls {
		if err != nil || told.Withheld != nil {
			break
		}
		err = decide.call(ctx, call, &told)
	}
	return told, err
}

// Teller asks the gate about the texts of a run for a caller of the API: one that waits for the answer, follows
// the session, or reads it later. The decision is the same as for the answer's delivery. A valid reader is the level
// of a caller that reads history with its own token; otherwise the answer is shown only if the place of the question
// carries it.
func (a *Answers) Teller(ctx context.Context, run sessions.Run, reader flow.Level) (Teller, error) {
	decide, err := a.judge(ctx, run, reader)
	return decide.text, err
}

// judge decides about a text of a run: by a decision that lets it pass, or that withholds it.
type judge func(ctx context.Context, text string) (*policy.Decision, *Withheld, error)

func (a *Answers) judge(ctx context.Context, run sessions.Run, reader flow.Level) (judge, error) {
	if run.Route.IsZero() { // there is no conversation to check
		return func(context.Context, string) (*policy.Decision, *Withheld, error) {
			return &policy.Decision{}, nil, nil
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
	return func(ctx context.Context, text string) (*policy.Decision, *Withheld, error) {
		said := leaving
		said.Text, said.Parts = text, []string{text}
		d := a.Composer.Gate.Decide(said)
		if d.Passes() {
			return &d, nil, nil
		}
		return a.unlessAllowed(ctx, run, d)
	}, nil
}

// text decides about what the agent has said. What it has said to nobody is disclosed as an empty text.
func (decide judge) text(ctx context.Context, text string) (Told, error) {
	if text = unlessSilent(text); text == "" {
		return Told{}, nil
	}
	d, withheld, err := decide(ctx, text)
	if err != nil || withheld != nil {
		return Told{Withheld: withheld}, err
	}
	return Told{Text: d.Redacted(text)}, nil
}

// call adds a call of the client's function to an answer, or withholds all of it. The texts in the arguments are redacted; arguments in
// which that is not enough are withheld.
func (decide judge) call(ctx context.Context, call sessions.ClientCall, told *Told) error {
	d, withheld, err := decide(ctx, call.Name+" "+string(call.Args))
	if err != nil {
		return err
	}
	if withheld == nil {
		call.Args, err = d.RedactedArgs(call.Args)
		if err != nil || d.Redacted(string(call.Args)) != string(call.Args) {
			withheld = &Withheld{Decision: *d}
		}
	}
	if withheld != nil {
		*told = Told{Withheld: withheld}
		return nil
	}
	told.Calls = append(told.Calls, call)
	return nil
}

// unlessSilent is a text as people see it: empty if it is silent.
func unlessSilent(text string) string {
	if sessions.Silent(text) {
		return ""
	}
	return text
}

// unlessAllowed withholds something of a run, unless somebody has allowed the held answer.
func (a *Answers) unlessAllowed(ctx context.Context, run sessions.Run, d policy.Decision) (*policy.Decision, *Withheld, error) {
	answer, err := a.answerDelivery(ctx, run)
	if errors.Is(err, sessions.ErrNotFound) {
		return nil, &Withheld{Decision: d}, nil
	}
	if err != nil {
		return nil, nil, err
	}
	w := &Withheld{Decision: d, Delivery: answer.ID}
	if d.Action != policy.Hold {
		return nil, w, nil
	}
	held := answer
	held.Decision = &d
	p, err := a.Held.ApprovalOf(ctx, held)
	if err != nil {
		return nil, nil, err
	}
	if err := a.Held.AllowedBefore(ctx, answer, &w.Decision); err != nil {
		return nil, nil, err
	}
	if w.Decision.Passes() {
		return &w.Decision, nil, nil
	}
	if w.Decision.Action == policy.Hold {
		w.Approval = p.ID
	}
	return nil, w, nil
}

// answerDelivery is the delivery of a run's answer.
func (a *Answers) answerDelivery(ctx context.Context, run sessions.Run) (ledger.Delivery, error) {
	batch, err := a.Store.Batch(ctx, cmp.Or(run.Leader, run.ID))
	if err != nil {
		return ledger.Delivery{}, fmt.Errorf("read runs: %w", err)
	}
	waiting, err := a.Store.LaneDeliveries(ctx, run.Route.Lane(), waitingMax)
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
