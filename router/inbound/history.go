package inbound

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sluice/adapters"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/router/usertext"
	"sluice/sessions"
)

// admitMigration stores that a conversation has a new id.
func (i *Intake) admitMigration(ctx context.Context, in Admission) (Admitted, error) {
	err := i.commitEvent(ctx, in, ledger.OutcomeMoved, ledger.Change{Aliases: []ledger.Alias{{
		Channel: in.Route.Channel, Account: in.Route.Account, From: in.Migrated.From, To: in.Migrated.To,
	}}})
	return Admitted{Outcome: ledger.OutcomeMoved}, err
}

// admitHistory keeps a group message that is not for the agent.
func (i *Intake) admitHistory(ctx context.Context, s *place.Settings, in Admission, owner bool) (Admitted, error) {
	if in.Text == "" && !usertext.IsForward(in.Inbound) {
		return ignored(), nil
	}
	if in.Edited {
		return i.reword(ctx, in)
	}
	return i.remember(ctx, s, in, sessions.HistoryLine{
		Sender: in.Sender, Text: in.Text, Quotations: in.Quotations, At: i.Now(), Label: i.messageLabel(in, owner), MessageID: in.MessageID,
	})
}

// remember stores a history line for the next run in the conversation.
func (i *Intake) remember(ctx context.Context, s *place.Settings, in Admission, line sessions.HistoryLine) (Admitted, error) {
	err := i.commitEvent(ctx, in, ledger.OutcomeHistory, ledger.Change{AppendHistory: []ledger.HistoryAppend{{Lane: in.Route.Lane(), Line: line, Keep: s.HistoryKeep}}})
	return Admitted{Outcome: ledger.OutcomeHistory}, err
}

// admitDeletion removes a deleted message from the queue and the history. A message that a run is working on, or has
// answered, stays.
func (i *Intake) admitDeletion(ctx context.Context, in Admission) (Admitted, error) {
	var change ledger.Change
	run, err := runOf(ctx, i.Store, in)
	if err != nil {
		return Admitted{}, err
	}
	if run != nil && run.Status == sessions.RunQueued {
		change.Runs = []sessions.RunMove{i.unqueued(*run, sessions.RunAborted, "deleted by its sender")}
	}
	line, err := historyLine(ctx, i.Store, in)
	if err != nil {
		return Admitted{}, err
	}
	if line != nil {
		change.DeleteHistory = []ledger.HistoryMessage{{Lane: in.Route.Lane(), Message: in.MessageID}}
	}
	if change.Runs == nil && change.DeleteHistory == nil { // platforms report every deleted message
		return ignored(), nil
	}
	return Admitted{Outcome: ledger.OutcomeDeleted}, i.commitEvent(ctx, in, ledger.OutcomeDeleted, change)
}

// reword updates the history line of an edited message that is not for the agent.
func (i *Intake) reword(ctx context.Context, in Admission) (Admitted, error) {
	line, err := historyLine(ctx, i.Store, in)
	if err != nil || line == nil || line.Text == in.Text {
		return ignored(), err
	}
	change := ledger.Change{EditHistory: []ledger.HistoryEdit{{HistoryMessage: ledger.HistoryMessage{Lane: in.Route.Lane(), Message: in.MessageID}, Text: in.Text}}}
	return Admitted{Outcome: ledger.OutcomeHistory}, i.commitEvent(ctx, in, ledger.OutcomeHistory, change)
}

// admitReaction keeps a reaction to one of the bot's own messages for the next
// run of the conversation. It starts no run.
func (i *Intake) admitReaction(ctx context.Context, s *place.Settings, in Admission, how place.Admit, owner bool) (Admitted, error) {
	if !keepsReaction(in, how) {
		return ignored(), nil
	}
	line := sessions.HistoryLine{
		Sender: in.Sender, Text: "reacted with " + in.Reaction.Emoji, At: i.Now(), Label: i.Places.Label(in.Route, owner),
	}
	text, label, err := reactedTo(ctx, i.Store, in)
	if err != nil {
		return Admitted{}, err
	}
	if text != "" {
		line.Text += " to: " + usertext.Quote(text)
		line.Label = line.Label.Join(label)
	}
	return i.remember(ctx, s, in, line)
}

// keepsReaction reports whether the agent will read a reaction: an admitted person has reacted to one of its
// messages.
func keepsReaction(in Admission, how place.Admit) bool {
	return in.Reaction.Own && !in.Reaction.Removed && !in.Sender.Bot && (how == place.AdmitRun || how == place.AdmitHistory)
}

// historyLine is the history line of a message, or nil.
func historyLine(ctx context.Context, store earlierStore, in Admission) (*sessions.HistoryLine, error) {
	lines, err := store.History(ctx, in.Route.Lane())
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	i := slices.IndexFunc(lines, func(l sessions.HistoryLine) bool { return l.MessageID == in.MessageID })
	if i < 0 || in.MessageID == "" {
		return nil, nil
	}
	return &lines[i], nil
}

// runOf is the run of the newest version of a message, or nil.
func runOf(ctx context.Context, store earlierStore, in Admission) (*sessions.Run, error) {
	id, err := runIDOf(ctx, store, in)
	if err != nil || id == "" {
		return nil, err
	}
	run, err := store.Run(ctx, id)
	if errors.Is(err, sessions.ErrNotFound) {
		return nil, nil // retention has removed it since
	}
	if err != nil {
		return nil, fmt.Errorf("read run: %w", err)
	}
	return &run, nil
}

// runIDOf is the id of the run that [runOf] reads, or empty.
func runIDOf(ctx context.Context, store earlierStore, in Admission) (sessions.RunID, error) {
	edited, err := store.Revision(ctx, in.Route.Lane(), in.MessageID)
	if err == nil {
		return edited.Run, nil
	}
	if !errors.Is(err, sessions.ErrNotFound) {
		return "", fmt.Errorf("read revision: %w", err)
	}
	first := in
	first.Event = string(in.Route.Conversation) + "/" + string(in.MessageID)
	e, err := store.Event(ctx, eventKey(first))
	if err != nil && !errors.Is(err, sessions.ErrNotFound) {
		return "", fmt.Errorf("read event: %w", err)
	}
	return e.Run, nil
}

// reactedTo is the text of the bot's message below a reaction, and its label. The text is empty if the store no
// longer has the message.
func reactedTo(ctx context.Context, store earlierStore, in Admission) (string, flow.Label, error) {
	d, err := store.Posted(ctx, in.Route.Lane(), in.MessageID)
	if errors.Is(err, sessions.ErrNotFound) {
		return "", flow.Bottom(), nil
	}
	if err != nil {
		return "", flow.Bottom(), fmt.Errorf("read posted message: %w", err)
	}
	chunk := slices.IndexFunc(d.Receipts, func(receipt adapters.Receipt) bool { return receipt.MessageID == in.MessageID })
	if chunk >= 0 && chunk < len(d.Parts) {
		return d.Parts[chunk], d.Label, nil
	}
	return d.Text, d.Label, nil
}
