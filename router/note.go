package router

import (
	"context"
	"fmt"

	"sluice/policy/flow"
	"sluice/sessions"
)

// note stores a note as a message that nobody answers, and ends its run with it.
// A session that may never learn so much ends the run without it.
func (w *sessionWorker) note(ctx context.Context, record sessions.Record, session *sessions.Session, run sessions.Run) error {
	from := run.Status
	run.Epoch, run.Started, run.Finished, run.Status = w.lane.Epoch(), w.now(), w.now(), sessions.RunDone
	if err := w.admitText(session, &run, nil); err != nil {
		run.Status, run.Error = sessions.RunFailed, "the session may not learn so much"
		change := session.Pending()
		change.Runs = []sessions.RunMove{{From: from, Run: run}}
		err := w.store.CommitSession(ctx, change)
		if err == nil {
			session.Saved(change)
		}
		return err
	}
	said := run // the run itself keeps its label, as it keeps the report
	if !w.monitor.MayRise(record, record.Route, run.Label) {
		said.Label, said.Input.Text = flow.Bottom(), fmt.Sprintf(
			"[A sub-agent has ended. What it reports is %s, above what this conversation carries; an owner can say /raise %s and ask for it.]", run.Label.Level(), run.Label.Level())
	}
	session.Append(userMessage(said, nil))
	change := session.Pending()
	change.Runs = []sessions.RunMove{{From: from, Run: run}}
	if err := w.store.CommitSession(ctx, change); err != nil {
		return fmt.Errorf("store note: %w", err)
	}
	session.Saved(change)
	return nil
}
