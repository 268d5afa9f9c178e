package why

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/denials"
	"sluice/internal/httpapi/view"
	"sluice/internal/httpapi/wire"
	"sluice/router/jobs"
	"sluice/router/ledger"
	"sluice/sessions"
)

// jobPrefix begins the ids of jobs and of their times.
const jobPrefix = "cron/"

// changesMax is how many changes of a job are explained with it.
const changesMax = 20

// job explains a job: who has made and changed it, what its latest time has caused, and when it is due next.
func (c *chain) job(name string) error {
	id, isJob := strings.CutPrefix(name, jobPrefix)
	if !isJob || c.Jobs.Jobs == nil {
		return wire.ErrNotFound
	}
	j, err := c.Jobs.Find(c.ctx, id)
	if err != nil {
		return err
	}
	c.out.Kind, c.out.Status, c.out.Title = "job", string(j.State()), "job "+j.ID
	c.out.Answer, c.out.Change = jobAnswer(&j), jobChanges(&j)
	made := step{Step: "heard", State: ok, Text: "The job is in the configuration: " + j.Place + ".", Facts: []fact{{"when", j.When}}, Object: &object{"job", j.ID}, Label: j.Secrecy().String()}
	if j.Made {
		made.At, made.Text = view.Optional(j.Row.Created), cmp.Or(j.Row.Maker, "Somebody")+" created the job."
	}
	c.add(made)
	if err := c.changed(j.ID); err != nil {
		return err
	}
	latest, err := c.Jobs.Latest(c.ctx, j.ID)
	if err != nil {
		return err
	}
	if visible, err := c.seen(latest.Label, latest.Session); err != nil {
		return err
	} else if latest.Key != "" && visible {
		if err := c.fired(latest); err != nil {
			return err
		}
	}
	now := step{Step: "waited", At: view.Optional(j.Next), Text: c.out.Answer, Object: &object{"job", j.ID}}
	now.State = map[jobs.State]state{jobs.StateActive: waits, jobs.StatePaused: stopped, jobs.StateFaulty: failed, jobs.StateEnded: ok}[j.State()]
	c.add(now)
	return nil
}

// changed adds who has changed a job, as the audit trail has it.
func (c *chain) changed(id string) error {
	entries, err := c.Rows.ListAudit(c.ctx, ledger.AuditQuery{Object: id, MaxLevel: auth.CallerOf(c.ctx).Level, Limit: changesMax})
	for _, e := range slices.Backward(entries) {
		if strings.HasPrefix(e.Action, "cron.") {
			c.add(recorded(&e))
		}
	}
	return err
}

// jobAnswer is why a job is as it is.
func jobAnswer(j *jobs.Job) string {
	switch j.State() {
	case jobs.StatePaused:
		return "It is paused. The last change was made by " + cmp.Or(j.Row.By, "somebody") + "."
	case jobs.StateFaulty:
		return "It is not fired: " + j.Fault
	case jobs.StateEnded:
		return "It has no next time."
	case jobs.StateActive:
	}
	return "It is due next at " + j.Next.UTC().Format(time.RFC3339) + ", because of its schedule."
}

// jobChanges says what would change the state of a job.
func jobChanges(j *jobs.Job) []change {
	switch j.State() {
	case jobs.StatePaused:
		return []change{{Text: "End the pause.", Command: "sluice cron resume " + j.ID}, {Text: "Fire it once now.", Command: "sluice cron run " + j.ID}}
	case jobs.StateActive:
		return []change{{Text: "Pause it.", Command: "sluice cron pause " + j.ID}, {Text: "Fire it once now.", Command: "sluice cron run " + j.ID}}
	case jobs.StateFaulty, jobs.StateEnded:
	}
	return []change{}
}

// trigger explains a job's time or a request to a hook.
func (c *chain) trigger(key string) error {
	found, err := c.Rows.TriggersOf(c.ctx, []string{key})
	if err != nil {
		return err
	}
	var t ledger.Trigger
	err = sessions.ErrNotFound
	if len(found) > 0 {
		t, err = found[0], nil
	}
	if err := c.see(err, denials.Object{Kind: "trigger", ID: key, Label: t.Label}, t.Session); err != nil {
		return err
	}
	if t.Source == ledger.TriggerCron && !c.Jobs.ChannelsSeen(c.ctx, &t.Deliver) {
		return wire.ErrNotFound
	}
	c.out.Kind, c.out.Status, c.out.Title = "trigger", string(t.Status), string(t.Source)+" "+t.Subject
	c.out.Answer = triggerAnswer(t)
	return c.fired(t)
}

// fired explains what a trigger has caused.
func (c *chain) fired(t ledger.Trigger) error {
	c.add(causeOf(t))
	if err := c.ranOf(t.Run); err != nil {
		return err
	}
	return c.triggerSends(t)
}

// triggerAnswer is why a trigger is as it is.
func triggerAnswer(t ledger.Trigger) string {
	return cmp.Or(t.Why, "Its status is "+string(t.Status)+".")
}

// causeOf says why there is a trigger.
func causeOf(t ledger.Trigger) step {
	s := step{Step: "heard", At: view.Optional(t.Created), State: ok, Text: "The hook " + t.Subject + " received a request."}
	switch {
	case t.By != "":
		s.Text = "It was fired by hand, by " + t.By + "."
	case t.Source == ledger.TriggerCron:
		s.Text = "It was due by the schedule of the job " + t.Subject + "."
		s.Facts = []fact{{"time", t.Instant.Format(time.RFC3339)}}
	}
	return s
}

// triggerSends explains what was sent because of a trigger.
func (c *chain) triggerSends(t ledger.Trigger) error {
	for _, send := range t.Sends {
		if send.Delivery == "" {
			c.add(step{Step: "sent", At: view.Optional(send.At), State: failed, Text: "Nothing could be sent to " + send.Target + ": " + send.Error})
			continue
		}
		d, err := c.Rows.Delivery(c.ctx, send.Delivery)
		if gone(err) {
			c.add(step{Step: "sent", At: view.Optional(send.At), State: notRecorded, Text: "The delivery to " + send.Target + " is no longer kept."})
			continue
		}
		if err != nil {
			return err
		}
		if visible, err := c.seen(d.Label, d.Session); err != nil {
			return err
		} else if visible {
			c.gate(d)
			c.sends(d)
		}
	}
	end := step{Step: "ended", At: view.Optional(t.Ended), State: ok, Text: triggerAnswer(t)}
	switch {
	case t.Status.Open():
		end.State = waits
	case t.Status.Bad():
		end.State = failed
	case t.Status != ledger.TriggerOK:
		end.State = stopped
	}
	c.add(end)
	return nil
}
