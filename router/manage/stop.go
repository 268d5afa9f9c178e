package manage

import (
	"context"
	"errors"
	"fmt"

	"sluice/announce"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/queue"
	"sluice/sessions"
)

// Stop is the change that stops a session's current run, its queued runs, the exchanges that wait for it, and its
// sub-agents. The caller stores it.
func (k *Sessions) Stop(ctx context.Context, id sessions.ID) (change ledger.Change, err error) {
	now := k.Now()
	change.Abort = []sessions.Abort{{Session: id, At: now}}
	for _, q := range []ledger.ExchangeQuery{{MaxLevel: flow.Restricted, Requester: id, Open: true, Limit: ledger.MaxPage}, {MaxLevel: flow.Restricted, Target: id, Open: true, Limit: ledger.MaxPage}} {
		open, err := k.Store.ListExchanges(ctx, q)
		if err != nil {
			return change, fmt.Errorf("list exchanges: %w", err)
		}
		for _, x := range open {
			child := x.Kind == announce.Spawn && x.Requester.Session == id
			if !child && x.Speaker().Session != id {
				continue // the other side is working, and is not stopped
			}
			if child {
				change.Abort = append(change.Abort, sessions.Abort{Session: x.Target.Session, At: now})
			}
			x.Exchange = announce.Stop(x.Exchange, "a person stopped it", now)
			x.Revision++
			change.Exchanges = append(change.Exchanges, x)
		}
	}
	for i := range change.Abort {
		if change.Abort[i].Triggers, err = k.waitingTriggers(ctx, change.Abort[i].Session); err != nil {
			return change, err
		}
	}
	return change, nil
}

// waitingTriggers are the triggers whose runs are queued in a session.
func (k *Sessions) waitingTriggers(ctx context.Context, id sessions.ID) (keys []string, err error) {
	waiting, err := k.Store.WaitingRuns(ctx, id, queue.MaxWaiting)
	if err != nil {
		return nil, fmt.Errorf("read queue: %w", err)
	}
	for _, run := range waiting {
		if run.Kind == sessions.KindTrigger && run.Status == sessions.RunQueued {
			keys = append(keys, ledger.TriggerOfRun(run.EventKey))
		}
	}
	return keys, nil
}

// Stopped is the audit entry that says who stopped a session.
func (k *Sessions) Stopped(id sessions.ID, actor string) sessions.AuditEntry {
	return sessions.AuditEntry{At: k.Now(), Actor: actor, Action: "session.stop", Object: string(id), Session: id, Label: ledger.NoticeLabel()}
}

// commitStop stores the stop of a session. It retries if one of the session's exchanges advances in the meantime.
func (k *Sessions) commitStop(ctx context.Context, id sessions.ID, add func(*ledger.Change)) error {
	var err error
	for range tries {
		var change ledger.Change
		if change, err = k.Stop(ctx, id); err != nil {
			return err
		}
		add(&change)
		if err = k.Lanes.Commit(ctx, change); !errors.Is(err, sessions.ErrConflict) {
			return err
		}
	}
	return err
}
