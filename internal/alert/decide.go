package alert

import (
	"maps"
	"slices"
	"time"
)

// Arrival is what is known of a message.
type Arrival int

// The arrivals.
const (
	Pending Arrival = iota // it may still arrive
	Arrived                // the platform has confirmed it
	Lost                   // it did not arrive
)

// Scene is everything that a decision about a group depends on.
type Scene struct {
	Plan     *Plan
	Route    *Route    // nil: the configuration no longer has it
	Receiver *Receiver // nil: as Route
	Group    Group
	Alerts   []Alert                           // of the group
	Hushed   func(a *Alert, at time.Time) bool // silenced or inhibited
	// HushChange returns the next time at which a silence of the group's alerts begins or ends, for [Next]; zero: no silence will.
	// It is nil for a decision about now: the group's next check is then one group interval later, whatever its silences do.
	HushChange func(after time.Time) time.Time
	Arrival    func(delivery string) Arrival
	Now        time.Time
}

// Send is a notification that the group makes.
type Send struct {
	Target string
	Reason Reason
	Step   int  // from 1
	Edit   bool // of the message that was posted before; a new one if that can't be edited
	Wait   bool // quiet hours hold it back
}

// Decision is what a group does now.
type Decision struct {
	Group   Group
	Sends   []Send
	Expired []Alert  // open alerts that were not repeated in time
	Leave   []string // keys of alerts that leave the group
	Failed  string   // why an escalation step did not count; empty if all counted
}

const (
	firstLook = 2 * time.Second // after a step, for receipts
	lastLook  = time.Minute
	// stepWithin is when a step without a receipt counts as failed.
	stepWithin = 2 * time.Minute
	farAway    = 30 * 24 * time.Hour
	shownFor   = 24 * time.Hour // how long a group that stays open shows an alert that is over
)

// OwnerTarget is the target of the first owner's direct chat, which is always known.
const OwnerTarget = "owner"

// Decide decides what a group does at a time. It has no effects.
func Decide(s Scene) Decision {
	d := &deciding{Scene: s, next: s.Now.Add(farAway)}
	d.Decision.Group = s.Group
	d.told = maps.Clone(s.Group.Told.Alerts)
	if d.told == nil {
		d.told = map[string]Status{}
	}
	d.leave()
	d.expire()
	if s.Route == nil || s.Receiver == nil {
		d.close() // its alerts were routed by another configuration
		return d.Decision
	}
	if s.Now.Before(s.Group.Earliest) {
		d.at(s.Group.Earliest)
		d.climb()
	} else {
		d.flush()
	}
	if len(d.Sends) == 0 {
		d.catchUp()
	}
	d.rest()
	return d.Decision
}

// deciding is a decision in the making.
type deciding struct {
	Scene
	Decision
	told  map[string]Status
	next  time.Time
	loud  []*Alert // open and not hushed
	fresh []*Alert // of those: firing and not told
	over  []*Alert // told as open and over now
	held  bool     // some open alerts are hushed, so they are looked at again
}

func (d *deciding) at(t time.Time) {
	if t.Before(d.next) {
		d.next = t
	}
}

// leaving reports whether an alert leaves the group: it is open and now reported in other groups, or it has been over for
// long and that was told, so that a group that is always open does not grow.
func (d *deciding) leaving(a *Alert) bool {
	if a.Status.Open() {
		return len(a.Groups) > 0 && !slices.Contains(a.Groups, d.Scene.Group.Key)
	}
	return !d.told[a.Key].Open() && d.Now.Sub(a.Ended) > shownFor
}

// leave takes the alerts that leave the group out of it.
func (d *deciding) leave() {
	d.Alerts = slices.DeleteFunc(slices.Clone(d.Alerts), func(a Alert) bool {
		if !d.leaving(&a) {
			return false
		}
		d.Leave = append(d.Leave, a.Key)
		delete(d.told, a.Key)
		return true
	})
	if len(d.Leave) > 0 {
		d.Decision.Group.Told.Alerts = maps.Clone(d.told)
	}
}

// expire ends alerts that were not repeated in time, and sorts the others.
func (d *deciding) expire() {
	muted := d.Route != nil && d.Route.Quiet(d.Now)
	for i := range d.Alerts {
		a := &d.Alerts[i]
		if a.Status.Open() && a.Over(d.Now) {
			a.Status, a.Ended, a.Updated = Expired, a.Ends, d.Now
			a.Revision++
			d.Expired = append(d.Expired, *a)
		}
		was, known := d.told[a.Key]
		switch {
		case !a.Status.Open():
			if known && was.Open() {
				d.over = append(d.over, a)
			}
		case muted || d.Hushed(a, d.Now):
			d.held = true
		default:
			d.loud = append(d.loud, a)
			if a.Status == Firing && (!known || !was.Open()) {
				d.fresh = append(d.fresh, a)
			}
		}
		if a.Status.Open() && !a.Ends.IsZero() {
			d.at(a.Ends)
		}
	}
}

// unanswered reports whether somebody still has to answer for an alert that is not hushed.
func (d *deciding) unanswered() bool {
	return slices.ContainsFunc(d.loud, func(a *Alert) bool { return a.Status == Firing })
}

// open reports whether an alert of the group is open, hushed or not.
func (d *deciding) open() bool {
	return slices.ContainsFunc(d.Alerts, func(a Alert) bool { return a.Status.Open() })
}

// quiet reports whether quiet hours hold the group back.
func (d *deciding) quiet() bool {
	critical := slices.ContainsFunc(d.loud, func(a *Alert) bool { return a.Severity == Critical }) ||
		slices.ContainsFunc(d.over, func(a *Alert) bool { return a.Severity == Critical })
	return !critical && d.Plan.Quiet.Contain(d.Now)
}

// reason is why the receiver is told something now; false if there is nothing new.
func (d *deciding) reason() (Reason, bool) {
	g := &d.Decision.Group
	switch {
	case len(d.fresh) > 0 && g.Told.At.IsZero():
		return First, true
	case len(d.fresh) > 0:
		return NewInGroup, true
	case len(d.over) > 0 && !d.open():
		return AllResolved, true
	case len(d.over) > 0:
		return SomeResolved, true
	case !g.Told.At.IsZero() && d.unanswered() && !d.Now.Before(g.Told.At.Add(d.Route.RepeatInterval)):
		return Repeat, true
	}
	changed := slices.ContainsFunc(d.loud, func(a *Alert) bool { was, known := d.told[a.Key]; return known && was != a.Status })
	return "", changed
}

// flush tells what is new.
func (d *deciding) flush() {
	reason, news := d.reason()
	g := &d.Decision.Group
	if !news {
		d.climb()
		return
	}
	quiet := d.quiet()
	stopped := !slices.ContainsFunc(slices.Collect(maps.Values(d.told)), func(s Status) bool { return s == Firing })
	switch {
	case reason == First, reason == NewInGroup && stopped: // nobody is being called at present
		g.Step = StepState{}
		d.step(0, reason, quiet)
	default:
		d.edit(reason, quiet)
		if reason == Repeat {
			g.Told.At = d.Now
		}
		d.climb()
	}
	if reason != "" {
		g.Told.Flushed = d.Now
		if reason != Repeat && reason != SomeResolved {
			g.Told.At = d.Now
		}
		g.Earliest = d.Now.Add(d.Route.GroupInterval)
	}
	g.Told.Held = quiet && (reason == First || g.Told.Held)
	d.know()
}

// know notes what the receiver knows.
func (d *deciding) know() {
	for _, a := range d.loud {
		if _, known := d.told[a.Key]; known || a.Status == Firing {
			d.told[a.Key] = a.Status
		}
	}
	for _, a := range d.over {
		d.told[a.Key] = a.Status
	}
	d.Decision.Group.Told.Alerts, d.over = d.told, nil
}

// step notifies the targets of a step.
func (d *deciding) step(index int, reason Reason, quiet bool) {
	step := d.Receiver.Steps[index]
	for _, target := range step.Notify {
		d.Sends = append(d.Sends, Send{Target: target, Reason: reason, Step: index + 1, Wait: quiet})
	}
	g := &d.Decision.Group
	repeats := g.Step.Repeats
	if index == g.Step.Next-1 {
		repeats++
	}
	g.Step = StepState{Next: index + 1, Repeats: repeats, At: d.Now}
	d.at(d.Now.Add(firstLook))
}

// edit changes the messages of the group, or posts them again to repeat them. News and repetitions also go to the targets of the
// present step that have no message yet, because they were held back or could not be reached.
func (d *deciding) edit(reason Reason, quiet bool) {
	g := &d.Decision.Group
	for _, target := range slices.Sorted(maps.Keys(g.Posts)) {
		d.Sends = append(d.Sends, Send{Target: target, Reason: reason, Edit: reason != Repeat, Wait: quiet && reason == Repeat})
	}
	if reason != NewInGroup && reason != Repeat || g.Step.Next == 0 || g.Step.Next > len(d.Receiver.Steps) {
		return
	}
	for _, target := range d.Receiver.Steps[g.Step.Next-1].Notify {
		if _, posted := g.Posts[target]; !posted {
			d.Sends = append(d.Sends, Send{Target: target, Reason: reason, Step: g.Step.Next, Wait: quiet})
		}
	}
}

// catchUp edits messages that had not arrived when there was something to change in them.
func (d *deciding) catchUp() {
	posts := d.Decision.Group.Posts
	for _, target := range slices.Sorted(maps.Keys(posts)) {
		switch post := posts[target]; {
		case !post.Stale:
		case d.Arrival(post.Delivery) == Pending:
			d.at(d.Now.Add(lastLook))
		default:
			d.Sends = append(d.Sends, Send{Target: target, Edit: true})
		}
	}
}

// climb goes on with the escalation.
func (d *deciding) climb() {
	g := &d.Decision.Group
	if g.Step.Next == 0 || !d.unanswered() {
		return
	}
	if d.quiet() {
		d.at(d.Plan.Quiet.End(d.Now))
		return
	}
	if g.Told.Held {
		g.Told.Held, g.Step.Counted = false, d.Now // the digest after the quiet hours was this step
	}
	if g.Step.Counted.IsZero() && !d.count() {
		return
	}
	index, ok := d.following()
	if !ok {
		if d.Failed != "" {
			d.fallBack()
		}
		return
	}
	due := g.Step.Counted.Add(d.Receiver.Steps[index].Wait)
	if d.Failed != "" {
		due = d.Now
	}
	if d.Now.Before(due) {
		d.at(due)
		return
	}
	d.step(index, Escalation, false)
}

// fallBack tells the owner if the last step reached nobody.
func (d *deciding) fallBack() {
	s := &d.Decision.Group.Step
	if last := d.Receiver.Steps[len(d.Receiver.Steps)-1]; !s.FellBack && !slices.Contains(last.Notify, OwnerTarget) {
		s.FellBack = true
		d.Sends = append(d.Sends, Send{Target: OwnerTarget, Reason: Escalation, Step: s.Next + 1})
	}
}

// following is the next step: the one after the present one, or the last one again.
func (d *deciding) following() (int, bool) {
	s, last := d.Decision.Group.Step, len(d.Receiver.Steps)-1
	switch {
	case s.Next <= last:
		return s.Next, true
	case s.Next == last+1 && s.Repeats < d.Receiver.Steps[last].Repeat:
		return last, true
	}
	return 0, false
}

// count looks for a receipt of the present step. It reports whether the step has ended: with a receipt, or with none left
// to come, which is why the next step does not wait.
func (d *deciding) count() bool {
	s := &d.Decision.Group.Step
	pending := false
	for _, delivery := range s.Notes {
		switch d.Arrival(delivery) {
		case Arrived:
			s.Counted = d.Now
			return true
		case Pending:
			pending = true
		}
	}
	if pending && d.Now.Sub(s.At) < stepWithin {
		d.at(d.Now.Add(min(max(d.Now.Sub(s.At), firstLook), lastLook)))
		return false
	}
	s.Counted, d.Failed = d.Now, "no target of the step has a receipt"
	return true
}

// skip moves the next check of the group to the first one after a change of its silences.
func (d *deciding) skip(again time.Time) time.Time {
	interval, end := max(d.Route.GroupInterval, time.Second), d.HushChange(d.Now)
	if end.IsZero() {
		end = d.Now.Add(farAway)
	}
	if wait := end.Sub(again); wait > 0 {
		wait += interval - 1
		again = again.Add(wait - wait%interval)
	}
	return again
}

// rest sets when the group is looked at next, or closes it.
func (d *deciding) rest() {
	g := &d.Decision.Group
	if !d.open() {
		d.close()
		return
	}
	if !g.Told.At.IsZero() && d.unanswered() {
		d.at(g.Told.At.Add(d.Route.RepeatInterval))
	}
	if d.held || len(d.over) > 0 && d.Now.Before(g.Earliest) {
		again := d.Now.Add(max(d.Route.GroupInterval, time.Second))
		if d.Now.Before(g.Earliest) {
			again = g.Earliest
		}
		if d.HushChange != nil && !d.Route.Quiet(d.Now) { // the end of a muted time is not known in advance
			again = d.skip(again)
		}
		d.at(again)
	}
	if !d.next.After(d.Now) {
		d.next = d.Now.Add(time.Second)
	}
	g.Open, g.Due = true, d.next
}

// close ends a group without open alerts. It stays open for what it has yet to tell.
func (d *deciding) close() {
	g := &d.Decision.Group
	if d.Route != nil && d.Receiver != nil && len(d.over) > 0 && d.Now.Before(g.Earliest) {
		g.Open, g.Due = true, g.Earliest
		return
	}
	for i := range d.Alerts {
		d.Leave = append(d.Leave, d.Alerts[i].Key)
	}
	g.Open, g.Due, g.Earliest = false, d.Now, d.Now
	g.Told, g.Step, g.Posts = Told{}, StepState{}, nil
}
