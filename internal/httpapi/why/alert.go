package why

import (
	"cmp"
	"context"
	"strconv"

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
	Show(ctx context.Context, key string, most flow.Level) (router.Listed, []alert.Note, error)
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
	x, notes, err := c.Alerts.Show(c.ctx, found.Key, auth.CallerOf(c.ctx).Level)
	if err != nil {
		return err
	}
	c.out.Kind, c.out.Status, c.out.Title = "alert", string(x.Status), string(x.Severity)+": "+cmp.Or(x.Title, x.Key)
	c.out.Answer, c.out.Change = alertAnswer(&x), alertChanges(&x)
	c.add(step{
		Step: "heard", At: view.Optional(x.Started), State: ok, Text: "It was reported by " + x.Source + ".", Label: x.Label.String(),
		Facts: []fact{{"key", x.Key}, {"short name", alert.Ref(x.Key)}, {"occurrences", strconv.Itoa(x.Occurrences)}},
	})
	for _, id := range x.SilencedBy {
		c.add(step{Step: "gate", State: stopped, Text: "A silence mutes it.", Facts: []fact{{"silence", id}}})
	}
	for _, key := range x.InhibitedBy {
		c.add(step{Step: "gate", State: stopped, Text: "Another alert mutes it.", Facts: []fact{{"alert", key}}})
	}
	told := false
	for i := len(notes) - 1; i >= 0; i-- {
		n := &notes[i]
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
	s := step{Step: "sent", At: view.Optional(n.Created), Text: n.Target + " was notified: " + cmp.Or(string(n.Reason), "its message was changed") + ".", State: ok, Label: n.Label.String()}
	if n.Step > 0 {
		s.Facts = append(s.Facts, fact{"step", strconv.Itoa(n.Step)})
	}
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
	case len(x.SilencedBy) > 0:
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
	for _, id := range x.SilencedBy {
		all = append(all, change{Text: "End the silence.", Command: "sluice alerts silences expire " + id})
	}
	return all
}
