package inbound

import (
	"context"
	"errors"
	"fmt"

	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/sessions"
)

// edit is another text for the message of a run.
type edit struct {
	run  sessions.RunID
	text string
}

// editAgain carries out /edit: it takes the command as the platform's edit of the message. The message keeps its files and
// what it quotes.
func (i *Intake) editAgain(ctx context.Context, s *place.Settings, in Admission, owner bool, e edit) (Admitted, error) {
	if len(in.Attachments) > 0 {
		return i.answerEvent(ctx, in, ledger.OutcomeCommand, "I can't add a file to your last message. Please send the file without `/edit`.")
	}
	old, err := i.Store.Run(ctx, e.run)
	switch {
	case errors.Is(err, sessions.ErrNotFound):
		return i.answerEvent(ctx, in, ledger.OutcomeCommand, "That message is too old to edit. Please send it again.")
	case err != nil:
		return Admitted{}, fmt.Errorf("read run: %w", err)
	case old.Input.MessageID == "" || old.Route.Lane() != in.Route.Lane():
		return i.answerEvent(ctx, in, ledger.OutcomeCommand, "The last message was sent in another chat. Edit it there.")
	case old.Input.Text == e.text:
		return i.answerEvent(ctx, in, ledger.OutcomeCommand, "Your last message already says that. To have it answered again, send `/retry`.")
	}
	in.Edited, in.MessageID, in.Text, in.More = true, old.Input.MessageID, e.text, false
	in.Attachments, in.Quotations, in.Unread = old.Input.Attachments, old.Input.Quotations, old.Input.Unread
	in.carries = old.Label
	if in.order = old.Input.Order; old.Status != sessions.RunQueued {
		in.order = &sessions.Order{Do: sessions.OrderEdit, Run: old.ID}
	}
	return i.admitRun(ctx, s, in, owner)
}
