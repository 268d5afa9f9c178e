package why

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"sluice/internal/alert"
	"sluice/internal/httpapi/alerts"
	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/view"
	"sluice/internal/httpapi/wire"
	"sluice/policy/flow"
	router "sluice/router/alert"
	"sluice/router/ledger"
)

// Alerts reads alerts, see [router.Alerts].
type Alerts interface {
	Plan() *alert.Plan
	alerts.Finder
	Show(ctx context.Context, key string, most flow.Level) (router.Listed, error)
}

// Notes reads the notifications of alerts.
type Notes interface {
	// NoteOf reads the notification that a delivery is the message of, or returns ErrNotFound.
	NoteOf(ctx context.Context, delivery string, created time.Time) (alert.Note, error)
	AlertGroup(ctx context.Context, key string) (alert.Group, error)
}

// alert explains who was notified of an alert, and why. The name is its key or short name.
func (c *chain) alert(name string) error {
	if c.Alerts == nil {
		return wire.ErrNotFound
	}
	found, err := alerts.Find(c.ctx, c.Visible, c.Alerts, name)
	if err != nil {
		return err
	}
	x, err := c.Alerts.Show(c.ctx, found.Key, auth.CallerOf(c.ctx).Level)
	if err != nil {
		return err
	}
	c.out.Kind, c.out.Status, c.out.Title = "alert", string(x.Status), string(x.Severity)+": "+cmp.Or(x.Title, x.Key)
	c.out.Answer, c.out.Change = alertAnswer(&x), alertChanges(&x)
	c.add(step{
		Step: "heard", At: view.Optional(x.Started), State: ok, Text: "It was reported by " + x.Source + ".", Label: x.Label.String(),
		Facts: []fact{{"key", x.Key}, {"short name", alert.Ref(x.Key)}, {"occurrences", strconv.Itoa(x.Occurrences)}},
	})
	for _, id := range x.SilencedBy() {
		c.add(step{Step: "gate", State: stopped, Text: "A silence mutes it.", Facts: []fact{{"silence", id}}})
	}
	for _, key := range x.InhibitedBy {
		c.add(step{Step: "gate", State: stopped, Text: "Another alert mutes it.", Facts: []fact{{"alert", key}}})
	}
	told := false
	for i := len(x.Notes) - 1; i >= 0; i-- {
		n := &x.Notes[i]
		if !alerts.TargetSeen(c.ctx, c.Visible, c.Alerts.Plan(), n.Target) {
			continue
		}
		told = true
		if err := c.note(n); err != nil {
			return err
		}
	}
	if !told {
		c.add(step{Step: "sent", State: waits, Text: "Nobody has been notified yet."})
	}
	if !x.Status.Open() {
		c.add(step{Step: "ended", At: view.Optional(x.Ended), State: ok, Text: c.out.Answer})
	}
	return nil
}

// note explains one notification.
func (c *chain) note(n *alert.Note) error {
	s := step{Step: "sent", At: view.Optional(n.Created), Text: notified(n), State: ok, Label: n.Label.String(), Facts: stepOf(n)}
	if n.Withheld {
		s.Facts = append(s.Facts, fact{"withheld", "the place may not know it"})
	}
	if n.Why != "" {
		s.Facts = append(s.Facts, fact{"why", n.Why})
	}
	switch n.Status {
	case alert.NoteWaiting:
		s.State, s.Text = waits, "It waits for the next digest of "+n.Target+"."
	case alert.NoteFailed:
		s.State, s.Text = failed, n.Target+" was not notified."
	case alert.NoteSummed:
		s.Text = "It was in a digest of " + n.Target + "."
	case alert.NoteQueued:
	}
	if n.Delivery == "" {
		c.add(s)
		return nil
	}
	s.Object = &object{"delivery", n.Delivery}
	c.add(s)
	d, visible, err := c.sentOf(ledger.DeliveryID(n.Delivery))
	if err == nil && visible {
		c.sends(d)
	}
	return err
}

// reasons are why people are notified of alerts.
var reasons = map[alert.Reason]string{
	alert.First:        "it is the first message about the alert or its group",
	alert.NewInGroup:   "another alert has joined the group",
	alert.SomeResolved: "some alerts of the group are over",
	alert.AllResolved:  "all alerts of the group are over",
	alert.Repeat:       "it is a reminder, because an alert is still open",
	alert.Escalation:   "nobody has acknowledged the alert in time, so it was escalated",
}

// notified says who was notified, and why.
func notified(n *alert.Note) string {
	reason := "quiet hours or the target's limit of messages had held it back until then"
	if n.Edits {
		reason = "what the message shows has changed"
	}
	return n.Target + " was notified: " + cmp.Or(reasons[n.Reason], reason) + "."
}

// stepOf is the step of an escalation that a notification belongs to.
func stepOf(n *alert.Note) []fact {
	if n.Step == 0 {
		return nil
	}
	return []fact{{"step", strconv.Itoa(n.Step)}}
}

// toldMax is how many alerts of a message are explained with it.
const toldMax = 10

// told explains a delivery by the alerts that it tells of. It reports whether it is the message of a notification. of: the
// delivery of the notification.
func (c *chain) told(d *ledger.Delivery, of ledger.DeliveryID) (bool, error) {
	if c.Alerts == nil || d.Kind != ledger.KindMessage {
		return false, nil
	}
	edit, over := alert.IsOver(d.Idempotency)
	n, err := c.Notes.NoteOf(c.ctx, cmp.Or(edit, string(of)), d.Created)
	if gone(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !auth.CallerOf(c.ctx).Sees(n.Label) || !alerts.TargetSeen(c.ctx, c.Visible, c.Alerts.Plan(), n.Target) {
		c.add(step{Step: "heard", At: view.Optional(n.Created), State: ok, Text: "It is about an alert that you may not see."})
		return true, nil
	}
	for _, key := range n.Alerts[:min(len(n.Alerts), toldMax)] {
		if err := c.about(key); err != nil {
			return true, err
		}
	}
	s := step{Step: "heard", At: view.Optional(n.Created), State: ok, Text: notified(&n), Label: n.Label.String()}
	if over {
		s.Text = n.Target + " was notified below the message: " + reasons[alert.AllResolved] + "."
	}
	group, err := c.Notes.AlertGroup(c.ctx, n.Group)
	switch {
	case err == nil && group.Receiver != "":
		s.Facts = append(s.Facts, fact{"receiver", group.Receiver})
	case err != nil && !gone(err):
		return true, err
	}
	s.Facts = append(s.Facts, stepOf(&n)...)
	if more := len(n.Alerts) - toldMax; more > 0 {
		s.Facts = append(s.Facts, fact{"more alerts", strconv.Itoa(more)})
	}
	c.add(s)
	return true, nil
}

// about adds an alert that a message tells of. One that is no longer kept, or above the caller by now, has only its key, which the
// message had, too.
func (c *chain) about(key string) error {
	s := step{Step: "heard", State: notRecorded, Text: "The alert can't be shown any more.", Facts: []fact{{"key", key}}}
	x, err := c.Alerts.Find(c.ctx, key, auth.CallerOf(c.ctx).Level)
	switch {
	case err == nil:
		s.At, s.State, s.Label, s.Object = view.Optional(x.Started), ok, x.Label.String(), &object{"alert", x.Key}
		s.Text = "The alert \"" + cmp.Or(x.Title, x.Key) + "\" (" + string(x.Severity) + ") was reported by " + x.Source + "."
		s.Facts = append(s.Facts, fact{"short name", alert.Ref(x.Key)})
	case !gone(err):
		return err
	}
	c.add(s)
	return nil
}

// alertAnswer says the state of an alert in one sentence.
func alertAnswer(x *router.Listed) string {
	switch {
	case x.Status == alert.Acknowledged:
		return "It was acknowledged by " + cmp.Or(x.By, "somebody") + ", so nobody else is notified."
	case x.Status == alert.Resolved && x.By != "":
		return "It was resolved by " + x.By + "."
	case x.Status == alert.Resolved:
		return "Its source has reported that it is over."
	case x.Status == alert.Expired:
		return "It was not reported again in time, so it counts as resolved."
	case len(x.Silences) > 0:
		return "It is open, and a silence mutes it."
	case len(x.InhibitedBy) > 0:
		return "It is open, and another alert mutes it."
	}
	return "It is open, and nobody has acknowledged it."
}

// alertChanges says what would change an alert.
func alertChanges(x *router.Listed) []change {
	if !x.Status.Open() {
		return []change{}
	}
	ref := alert.Ref(x.Key)
	all := []change{{Text: "See who would be notified now.", Command: "sluice alerts test " + ref}, {Text: "Resolve it.", Command: "sluice alerts resolve " + ref}}
	if x.Status == alert.Firing {
		all = append(all, change{Text: "Acknowledge it.", Command: "sluice alerts ack " + ref})
	}
	for _, id := range x.SilencedBy() {
		all = append(all, change{Text: "End the silence.", Command: "sluice alerts silences expire " + id})
	}
	return all
}
