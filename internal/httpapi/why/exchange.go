package why

import (
	"cmp"
	"strconv"

	"sluice/announce"
	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/denials"
	"sluice/internal/httpapi/view"
	"sluice/router/ledger"
	"sluice/sessions"
)

// exchange explains an exchange between agents by its first run and what was sent because of it.
func (c *chain) exchange(id string) error {
	x, err := c.Rows.Exchange(c.ctx, id)
	if err := c.Visible.Check(c.ctx, err, denials.Object{Kind: "exchange", ID: id, Label: x.Label}, x.Requester.Session, x.Target.Session); err != nil {
		return err
	}
	from := cmp.Or(string(x.Requester.Key), "a person or program")
	c.out.Kind, c.out.Status, c.out.Title = "exchange", string(cmp.Or(x.Outcome, announce.Outcome(x.Phase))), "request of "+from+" to "+string(x.Target.Key)
	s := step{Step: "heard", At: view.Optional(x.Started), State: ok, Text: from + " has asked " + string(x.Target.Key) + ".", Object: &object{"exchange", x.ID}, Label: x.Label.String()}
	if x.Blind {
		s.Facts = append(s.Facts, fact{"no reply", "the requester may not see the target, so it gets no reply"})
	}
	s.Facts = append(s.Facts, fact{"reply turns", strconv.Itoa(x.Turn) + " of " + strconv.Itoa(x.MaxTurns)})
	c.add(s)
	if err := c.ranOf(x.First); err != nil {
		return err
	}
	c.out.Answer = "It is in progress: " + string(x.Phase) + "."
	if x.Phase == announce.Ended {
		c.out.Answer = cmp.Or(x.Detail, "It has ended: "+string(x.Outcome)+".")
		c.add(step{Step: "ended", At: view.Optional(x.Ended), State: ok, Text: c.out.Answer})
	}
	return nil
}

// ranOf adds the steps of a run, as far as it is kept and the caller may know of it.
func (c *chain) ranOf(id sessions.RunID) error {
	if id == "" {
		return nil
	}
	run, err := c.Rows.Run(c.ctx, id)
	if gone(err) {
		c.add(step{Step: "run", State: notRecorded, Text: "The run is no longer kept.", Object: &object{"run", string(id)}})
		return nil
	}
	if err != nil {
		return err
	}
	visible, err := c.seen(run.Label, run.Session)
	if err != nil || !visible {
		return err
	}
	return c.steps(run)
}

// sentOf reads a delivery; false if it is no longer kept or the caller may not know of it.
func (c *chain) sentOf(id ledger.DeliveryID) (ledger.Delivery, bool, error) {
	d, err := c.Rows.Delivery(c.ctx, id)
	if gone(err) {
		return d, false, nil
	}
	if err != nil {
		return d, false, err
	}
	visible, err := c.seen(d.Label, d.Session)
	return d, visible && auth.CallerOf(c.ctx).Sees(d.Label), err
}
