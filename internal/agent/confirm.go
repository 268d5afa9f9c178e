package agent

import (
	"context"
	"slices"

	"sluice/sessions"
)

// confirm replaces confirmations by people's decisions. The approver also decides after a crash, because it knows
// which calls may have started.
func (w *work) confirm(ctx context.Context, asked []sessions.CallToConfirm, confirmations []sessions.Confirmation) error {
	if len(asked) == 0 {
		return nil
	}
	if w.approver == nil {
		for _, p := range asked {
			replace(confirmations, sessions.Confirmation{CallID: p.CallID, Reason: "its approval can't be requested"})
		}
		return nil
	}
	if err := w.session.Persist(ctx); err != nil { // the run may be suspended here and continue on another replica
		return err
	}
	decided, err := w.approver.Decide(ctx, w.asking(), asked)
	replace(confirmations, decided...)
	return err
}

// applyDenials refuses calls that somebody has denied, even if they no longer need an approval.
func (w *work) applyDenials(ctx context.Context, calls []sessions.Part, confirmations []sessions.Confirmation) error {
	if w.approver == nil {
		return nil
	}
	denied, err := w.approver.Denied(ctx, w.asking(), calls)
	replace(confirmations, denied...)
	return err
}

// replace replaces the confirmations of decided calls.
func replace(confirmations []sessions.Confirmation, decided ...sessions.Confirmation) {
	for _, d := range decided {
		if i := slices.IndexFunc(confirmations, func(c sessions.Confirmation) bool { return c.CallID == d.CallID }); i >= 0 {
			confirmations[i] = d
		}
	}
}

// asking is the id of the answer with the open calls.
func (w *work) asking() sessions.MessageID {
	last := w.session.Last()
	if last.Role == sessions.RoleToolResult {
		return last.Parent
	}
	return last.ID
}
