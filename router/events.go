package router

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sluice/adapters"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/router/speech"
	"sluice/sessions"
)

// admitDeletion takes a message back: nobody answers it any more if nobody has
// begun to, and it is no history. What was answered stays; so does what a run has taken over.
func (r *Router) admitDeletion(ctx context.Context, in Admission) (Admitted, error) {
	var change ledger.Change
	run, err := r.runOf(ctx, in)
	if err != nil {
		return Admitted{}, err
	}
	if run != nil && run.Status == sessions.RunQueued {
		taken := *run
		taken.Status, taken.Error, taken.Finished = sessions.RunAborted, "taken back by its writer", r.now()
		change.Runs = []sessions.RunMove{{From: sessions.RunQueued, Run: taken}}
	}
	line, err := r.historyLine(ctx, in)
	if err != nil {
		return Admitted{}, err
	}
	if line != nil {
		change.Unsay = []ledger.Unsaid{{Lane: in.Route.Lane(), Message: in.MessageID}}
	}
	if change.Runs == nil && change.Unsay == nil { // platforms tell of every message that somebody deletes
		return Admitted{Outcome: ledger.OutcomeIgnored}, nil
	}
	return Admitted{Outcome: ledger.OutcomeDeleted}, r.commitEvent(ctx, in, ledger.OutcomeDeleted, change)
}

// reword changes what is kept of a message that was edited and addresses nobody.
func (r *Router) reword(ctx context.Context, in Admission) (Admitted, error) {
	line, err := r.historyLine(ctx, in)
	if err != nil || line == nil || line.Text == in.Text {
		return Admitted{Outcome: ledger.OutcomeIgnored}, err
	}
	change := ledger.Change{Reword: []ledger.Reworded{{Unsaid: ledger.Unsaid{Lane: in.Route.Lane(), Message: in.MessageID}, Text: in.Text}}}
	return Admitted{Outcome: ledger.OutcomeHistory}, r.commitEvent(ctx, in, ledger.OutcomeHistory, change)
}

// historyLine is what is kept of a message for the next run; nil for nothing.
func (r *Router) historyLine(ctx context.Context, in Admission) (*sessions.HistoryLine, error) {
	lines, err := r.store.History(ctx, in.Route.Lane())
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	i := slices.IndexFunc(lines, func(l sessions.HistoryLine) bool { return l.MessageID == in.MessageID })
	if i < 0 || in.MessageID == "" {
		return nil, nil
	}
	return &lines[i], nil
}

// runOf is the run that a message, as it was last edited, has led to; nil if it has led to none.
func (r *Router) runOf(ctx context.Context, in Admission) (*sessions.Run, error) {
	id, err := r.runIDOf(ctx, in)
	if err != nil || id == "" {
		return nil, err
	}
	run, err := r.store.Run(ctx, id)
	if errors.Is(err, sessions.ErrNotFound) {
		return nil, nil // it ended long ago, and is not kept any more
	}
	if err != nil {
		return nil, fmt.Errorf("read run: %w", err)
	}
	return &run, nil
}

func (r *Router) runIDOf(ctx context.Context, in Admission) (sessions.RunID, error) {
	edited, err := r.store.Revision(ctx, in.Route.Lane(), in.MessageID)
	if err == nil {
		return edited.Run, nil
	}
	if !errors.Is(err, sessions.ErrNotFound) {
		return "", fmt.Errorf("read revision: %w", err)
	}
	first := in
	first.Event = string(in.Route.Conversation) + "/" + string(in.MessageID)
	e, err := r.store.Event(ctx, eventKey(first))
	if err != nil && !errors.Is(err, sessions.ErrNotFound) {
		return "", fmt.Errorf("read event: %w", err)
	}
	return e.Run, nil
}

// admitReaction keeps a reaction to one of the bot's own messages for the next
// run of the conversation. It is no reason to answer.
func (r *Router) admitReaction(ctx context.Context, s *place.Settings, in Admission, how place.Admit, owner bool) (Admitted, error) {
	if !in.Reaction.Own || in.Reaction.Removed || in.Sender.Bot || (how != place.AdmitRun && how != place.AdmitHistory) {
		return Admitted{Outcome: ledger.OutcomeIgnored}, nil
	}
	line := sessions.HistoryLine{
		Sender: in.Sender, Text: "reacted with " + in.Reaction.Emoji, At: r.now(), Label: r.places.Label(in.Route, owner),
	}
	text, label, err := r.reactedTo(ctx, in)
	if err != nil {
		return Admitted{}, err
	}
	if text != "" {
		line.Text += " to: " + speech.Quote(text)
		line.Label = line.Label.Join(label)
	}
	return r.remember(ctx, s, in, line)
}

// reactedTo is the text of the bot's own message, as far as it is known.
func (r *Router) reactedTo(ctx context.Context, in Admission) (string, flow.Label, error) {
	d, err := r.store.Posted(ctx, in.Route.Lane(), in.MessageID)
	if errors.Is(err, sessions.ErrNotFound) {
		return "", flow.Bottom(), nil
	}
	if err != nil {
		return "", flow.Bottom(), fmt.Errorf("read posted message: %w", err)
	}
	piece := slices.IndexFunc(d.Receipts, func(receipt adapters.Receipt) bool { return receipt.MessageID == in.MessageID })
	if piece >= 0 && piece < len(d.Chunks) {
		return d.Chunks[piece], d.Label, nil
	}
	return d.Text, d.Label, nil
}
