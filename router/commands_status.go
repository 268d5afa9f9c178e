package router

import (
	"cmp"
	"context"
	"fmt"

	"sluice/internal/visible"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/router/queue"
	"sluice/sessions"
)

func (r *Router) commandStatus(ctx context.Context, c commandCall) (ledger.Change, string, error) {
	if c.fresh {
		return ledger.Change{}, "There is no session here yet. Say something to begin one.", nil
	}
	waiting, err := r.store.WaitingRuns(ctx, c.session.ID, queue.MaxWaiting)
	if err != nil {
		return ledger.Change{}, "", fmt.Errorf("read queue: %w", err)
	}
	busy := len(waiting) > len(queue.Queued(waiting))
	override, err := sendLine(ctx, r.store, c.session)
	if err != nil {
		return ledger.Change{}, "", err
	}
	levels, err := r.levelLines(ctx, c)
	if err != nil {
		return ledger.Change{}, "", err
	}
	text := fmt.Sprintf("- session `%s` (`%s`)\n- agent %s, model %s\n- %s, %d waiting\n%s\n- send: %s%s%s",
		c.session.Key, c.session.ID, c.session.Agent, r.modelWord(c), busyWord(busy), peopleWaiting(waiting),
		usageLines(c), override, activationLine(c), levels)
	return ledger.Change{}, text, nil
}

// modelWord is the model that answers in a session, as far as the asker may be shown it. One that is hidden looks as if none was set, but for
// an owner in private.
func (r *Router) modelWord(c commandCall) string {
	model, ok := c.quotes.Show(c.session.Model)
	if !ok && c.private() {
		return "not shown here"
	}
	return visible.CodeSpan(cmp.Or(model, r.models.ModelName(c.session.Agent)))
}

// sendLine says what /send has set for a session, and whether that was said in the conversation whose thread it is.
func sendLine(ctx context.Context, store place.KeyReader, record sessions.Record) (string, error) {
	send, err := place.InheritedSend(ctx, store, record)
	if err != nil || send == sessions.SendInherit || record.SendPolicy != sessions.SendInherit {
		return cmp.Or(string(send), "inherit"), err
	}
	return string(send) + ", as in the " + placeWord(record.Route.Channel), nil
}

// activationLine is /status's line about what is answered in a group.
func activationLine(c commandCall) string {
	if c.in.Route.ChatType == sessions.Direct {
		return ""
	}
	return "\n- activation: " + cmp.Or(string(c.session.Activation), "inherit")
}

func busyWord(busy bool) string {
	if busy {
		return "working"
	}
	return "idle"
}

// levelLines are /status's lines about what the session has learnt, and what may be said here. How much a session has learnt is as
// secret as what it has: an owner is told where nobody else reads it, and elsewhere what is said is the same whatever it has learnt.
func (r *Router) levelLines(ctx context.Context, c commandCall) (string, error) {
	if !c.owner {
		return "", nil
	}
	if c.in.Route.ChatType != sessions.Direct {
		return fmt.Sprintf("\n- levels: others would read them here; `sluice sessions show %s` shows them", c.session.Key), nil
	}
	stands, err := r.compose.Standing(ctx, c.session, c.in.Route)
	if err != nil {
		return "", err
	}
	text := fmt.Sprintf("\n- learnt: %s\n- may learn: up to %s\n- may be said here: up to %s", learnt(c.session.Taint), c.session.Clearance, stands.Carries)
	if stands.Held != "" {
		text += fmt.Sprintf("\n\nWhat I answer now is held back: %s.", stands.Held)
	}
	return text, nil
}

// learnt is a session's label in words.
func learnt(taint flow.Label) string {
	if taint.Trust() == flow.Trusted {
		return taint.Level().String() + ", trusted"
	}
	return taint.Level().String() + ", untrusted (strangers' words are in it: an owner is asked before I speak elsewhere)"
}
