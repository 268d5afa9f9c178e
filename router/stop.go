package router

import (
	"context"
	"errors"
	"fmt"

	"sluice/announce"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

// stopIn is the change that stops all that works and waits in a session, the
// exchanges that wait for it, and the sub-agents that it has started.
func (r *Router) stopIn(ctx context.Context, id sessions.ID) (change ledger.Change, err error) {
	now := r.now()
	change.Abort = []sessions.Abort{{Session: id, At: now}}
	for _, q := range []ledger.ExchangeQuery{{MaxLevel: flow.Restricted, Requester: id, Open: true, Limit: mostPage}, {MaxLevel: flow.Restricted, Target: id, Open: true, Limit: mostPage}} {
		open, err := r.store.ListExchanges(ctx, q)
		if err != nil {
			return change, fmt.Errorf("list exchanges: %w", err)
		}
		for _, x := range open {
			child := x.Kind == announce.Spawn && x.Requester.Session == id
			if !child && x.Speaker().Session != id {
				continue // the other side is at work, and not stopped
			}
			if child {
				change.Abort = append(change.Abort, sessions.Abort{Session: x.Target.Session, At: now})
			}
			x.Exchange = announce.Stop(x.Exchange, "a person stopped it", now)
			x.Revision++
			change.Exchanges = append(change.Exchanges, x)
		}
	}
	return change, nil
}

// stopped is the entry of the audit trail about who has stopped what a session works on.
func (r *Router) stopped(id sessions.ID, actor string) sessions.AuditEntry {
	return sessions.AuditEntry{At: r.now(), Actor: actor, Action: "session.stop", Object: string(id), Session: id, Label: ledger.NoticeLabel()}
}

// mostPage is how many rows a query gives at most.
const mostPage = 200

// commitStop stores what stops a session. An exchange may take its next step meanwhile: then it is looked at again.
func (r *Router) commitStop(ctx context.Context, id sessions.ID, add func(*ledger.Change)) error {
	var err error
	for range admitTries {
		var change ledger.Change
		if change, err = r.stopIn(ctx, id); err != nil {
			return err
		}
		add(&change)
		if err = r.lanes.Commit(ctx, change); !errors.Is(err, sessions.ErrConflict) {
			return err
		}
	}
	return err
}
