package agent

import (
	"context"
	"slices"

	"sluice/sessions"
)

// confirm puts into confirmations what people have decided about the calls that need it.
// The approver's word counts even after a crash: it knows which of them may have begun.
func (w *work) confirm(ctx context.Context, asked []sessions.CallToConfirm, confirmations []sessions.Confirmation) error {
	if len(asked) == 0 {
		return nil
	}
	if w.approver == nil {
		for _, p := range asked {
			replace(confirmations, sessions.Confirmation{CallID: p.CallID, Reason: "its approval can't be asked for"})
		}
		return nil
	}
	if err := w.session.Persist(ctx); err != nil { // the run may be laid aside here, and gone on with elsewhere
		return err
	}
	decided, err := w.approver.Decide(ctx, w.asking(), asked)
	replace(confirmations, decided...)
	return err
}

// applyDenials takes the approval from calls that somebody has denied, though nobody would have to be asked about them any more.
func (w *work) applyDenials(ctx context.Context, calls []sessions.Part, confirmations []sessions.Confirmation) error {
	if w.approver == nil {
		return nil
	}
	denied, err := w.approver.Denied(ctx, w.asking(), calls)
	replace(confirmations, denied...)
	return err
}

// replace puts what was decided about calls in the place of their confirmations.
func replace(confirmations []sessions.Confirmation, decided ...sessions.Confirmation) {
	for _, d := range decided {
		if i := slices.IndexFunc(confirmations, func(c sessions.Confirmation) bool { return c.CallID == d.CallID }); i >= 0 {
			confirmations[i] = d
		}
	}
}

// asking is the answer whose calls are open.
func (w *work) asking() sessions.MessageID {
	last := w.session.Last()
	if last.Role == sessions.RoleToolResult {
		return last.Parent
	}
	return last.ID
}
