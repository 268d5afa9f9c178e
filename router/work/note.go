package work

import (
	"context"
	"fmt"

	"sluice/policy/flow"
	"sluice/sessions"
)

// note stores a sub-agent's report as a message without an answer, and ends its run. A session whose clearance is too
// low for the report ends the run without it.
func (c *claimer) note(ctx context.Context, j *job) error {
	session, run := j.session, j.batch[0]
	from := run.Status
	run.Epoch, run.Started, run.Finished, run.Status = j.lane.Epoch(), c.now(), c.now(), sessions.RunDone
	if err := c.intake.admitText(session, &run, nil); err != nil {
		run.Status, run.Error = sessions.RunFailed, "the report is above the session's clearance"
	} else {
		session.Append(userMessage(noted(run, c.mayRise(j.record, j.record.Route, run.Label)), nil))
	}
	change := session.Pending()
	change.Runs = []sessions.RunMove{{From: from, Run: run}}
	if err := c.store.CommitSession(ctx, change); err != nil {
		return fmt.Errorf("store note: %w", err)
	}
	session.Saved(change)
	return nil
}

// noted is a note as its session reads it: if the session may not rise to the report's level, it reads only that
// there is a report. The run keeps the report and its label.
func noted(run sessions.Run, mayRise bool) sessions.Run {
	if !mayRise {
		level := run.Label.Level()
		run.Label, run.Input.Text = flow.Bottom(), fmt.Sprintf(
			"[A sub-agent has finished. Its report is %s, above the level of this conversation. An owner can send /raise %s and ask for it.]", level, level)
	}
	return run
}
