package alert

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/adapters"
	"sluice/internal/alert"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/sessions"
)

// notifying turns the decision of a group into a change.
type notifying struct {
	*worker
	plan     *alert.Plan
	was      alert.Group
	members  []alert.Alert
	decision alert.Decision

	shown  []alert.Alert
	next   alert.Group
	change ledger.Change
	steps  []string // deliveries that count for the present step
	waits  bool     // the step is in a digest
	later  bool     // a message that is to be edited has not arrived yet
}

// commit stores what the group does.
func (n *notifying) commit(ctx context.Context) error {
	d := &n.decision
	n.next = d.Group
	n.next.Revision, n.next.Epoch = n.was.Revision+1, n.lane.Epoch()
	n.next.Posts = maps.Clone(n.was.Posts)
	if n.next.Posts == nil {
		n.next.Posts = map[string]alert.Post{}
	}
	told := d.Group
	if len(told.Told.Alerts) == 0 {
		told.Told.Alerts = allOf(n.was.Told.Alerts, n.members)
	}
	n.shown = alert.Shown(n.members, told)
	for _, s := range d.Sends {
		if err := n.send(ctx, s); err != nil {
			return err
		}
		if n.later {
			return n.postpone(ctx, n.was, editAgain)
		}
	}
	n.finish()
	if err := n.all.Lanes.Commit(ctx, n.change); err != nil {
		return fmt.Errorf("store notifications: %w", err)
	}
	for _, note := range n.change.AlertNotes {
		n.all.Metrics.Notifications.WithLabelValues(cmp.Or(string(note.Reason), "edit")).Inc()
	}
	if d.Failed != "" {
		n.all.Log.Warn("a step of an alert's escalation reached nobody", "group", n.was.Key, "step", n.was.Step.Next, "why", d.Failed)
	}
	return nil
}

// allOf are the statuses of alerts that a group has told before, as far as they are still in it.
func allOf(told map[string]alert.Status, members []alert.Alert) map[string]alert.Status {
	all := map[string]alert.Status{}
	for i := range members {
		if _, ok := told[members[i].Key]; ok {
			all[members[i].Key] = members[i].Status
		}
	}
	return all
}

// finish completes the change.
func (n *notifying) finish() {
	d := &n.decision
	if n.next.Step.Counted.IsZero() { // a new step has none yet
		n.next.Step.Notes = slices.Concat(n.next.Step.Notes, n.steps)
	} else if len(n.steps) > 0 {
		n.next.Step.Notes = n.steps
	}
	if n.waits && len(n.steps) == 0 && !n.next.Told.Held {
		n.next.Step.Counted = n.all.Now()
	}
	if !n.next.Open {
		n.next.Posts = nil
	}
	n.next.Label = n.was.Label.Join(alert.Label(n.members)) // what it has told stays as secret as it was
	n.change.Alerts = d.Expired
	n.change.AlertGroups = append(n.change.AlertGroups, n.next)
	for _, key := range d.Leave {
		n.change.AlertLeaves = append(n.change.AlertLeaves, alert.Member{Group: n.was.Key, Alert: key})
	}
}

// send adds a notification to the change.
func (n *notifying) send(ctx context.Context, s alert.Send) error {
	note := alert.Note{
		Group: n.was.Key, Target: s.Target, Reason: s.Reason, Status: alert.NoteQueued, Label: alert.Label(n.shown), Created: n.all.Now(),
		NoteDetail: alert.NoteDetail{Alerts: keys(n.shown), Step: s.Step},
	}
	n.next.Sequence++
	note.Sequence = n.next.Sequence
	note.Key = strings.Join([]string{"alert", n.was.Key, s.Target, strconv.Itoa(note.Sequence)}, "/")
	route, err := n.all.route(ctx, n.plan, s.Target)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	switch {
	case err != nil:
		note.Status, note.Why = alert.NoteFailed, err.Error()
		n.all.Log.Warn("an alert's target can't be reached", "target", s.Target, "group", n.was.Key, "err", err)
	case s.Edit:
		edited, err := n.edit(ctx, s, &note)
		if err != nil || n.later {
			return err
		}
		if !edited {
			if s.Reason == "" {
				n.next.Sequence--
				return nil // the platform can't show it
			}
			if err := n.post(ctx, s, route, &note); err != nil {
				return err
			}
		}
	default:
		if err := n.post(ctx, s, route, &note); err != nil {
			return err
		}
	}
	n.change.AlertNotes = append(n.change.AlertNotes, note)
	return nil
}

func keys(all []alert.Alert) []string {
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].Key
	}
	return names
}

// post adds a new message, or lets it wait for the target's digest.
func (n *notifying) post(ctx context.Context, s alert.Send, route sessions.Route, note *alert.Note) error {
	critical := slices.ContainsFunc(n.shown, func(a alert.Alert) bool { return a.Severity == alert.Critical })
	note.Free = critical
	due := time.Time{}
	if s.Wait {
		due = n.plan.Quiet.End(n.all.Now())
	} else if b := n.plan.Budget; b.Max > 0 && !critical {
		free, err := n.spend(ctx, s.Target, b)
		if err != nil {
			return err
		}
		if !free {
			due = n.all.Now().Add(max(b.Per/time.Duration(b.Max), digestAfter))
			note.Why = "the target's budget is used up"
		}
	}
	if !due.IsZero() {
		note.Status, n.waits = alert.NoteWaiting, true
		n.change.AlertTouches = append(n.change.AlertTouches, n.all.digestOf(s.Target, due))
		return nil
	}
	d, withheld, err := n.all.compose(ctx, route, n.shown, alert.Message(n.shown, s.Reason))
	if err != nil {
		return err
	}
	if withheld && discreet(n.shown) {
		note.Status, note.Withheld, note.Why = alert.NoteFailed, true, discreetWhy
		return nil
	}
	if !withheld {
		d.Controls = n.controls()
		n.steps = append(n.steps, string(d.ID))
	}
	note.Delivery, note.Withheld = string(d.ID), withheld
	n.next.Posts[s.Target] = alert.Post{Delivery: string(d.ID), At: n.all.Now(), Withheld: withheld}
	n.change.Deliver = append(n.change.Deliver, d)
	return nil
}

// spend reports whether a target may get one more message, and counts it. If another replica posts to the target meanwhile, the
// change is refused, and the group is processed again.
func (n *notifying) spend(ctx context.Context, target string, b alert.Budget) (bool, error) {
	used, revision, err := n.all.Store.CountNotes(ctx, target, n.all.Now().Add(-b.Per), b.Max)
	if err != nil {
		return false, fmt.Errorf("count notifications: %w", err)
	}
	if slices.ContainsFunc(n.change.AlertBudgets, func(s alert.Spent) bool { return s.Target == target }) { // this change has its message
		return used+1 < b.Max, nil
	}
	if used >= b.Max {
		return false, nil
	}
	n.change.AlertBudgets = append(n.change.AlertBudgets, alert.Spent{Target: target, Revision: revision})
	return true, nil
}

// controls are the buttons of the group's message.
func (n *notifying) controls() []ledger.Control {
	if !slices.ContainsFunc(n.shown, func(a alert.Alert) bool { return a.Status.Open() }) {
		return nil
	}
	name := GroupName + n.was.Key
	all := []ledger.Control{
		{Label: "Acknowledge", Command: "ack", Args: name, Standing: true},
		{Label: "Silence 1 h", Command: "silence", Args: name + " 1h", Standing: true},
		{Label: "Resolve", Command: "resolve", Args: name, Standing: true},
	}
	if !slices.ContainsFunc(n.shown, func(a alert.Alert) bool { return a.Status == alert.Firing }) {
		all = all[1:]
	}
	return all
}

// edit changes the message that was posted before; false if that is impossible. If the message has not arrived yet, the
// group is looked at again soon; after a while the group goes on, and edits the message when it has arrived.
func (n *notifying) edit(ctx context.Context, s alert.Send, note *alert.Note) (bool, error) {
	post, ok := n.next.Posts[s.Target]
	if !ok || post.Withheld {
		return post.Withheld, nil // what it says stays true
	}
	before, err := n.all.Store.Delivery(ctx, ledger.DeliveryID(post.Delivery))
	if errors.Is(err, sessions.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read delivery: %w", err)
	}
	if unsettled(before.Status) && n.all.Now().Sub(post.At) < editWithin {
		n.later = true
		return false, nil
	}
	if post.Stale = unsettled(before.Status); post.Stale {
		if soon := n.all.Now().Add(editWithin); soon.Before(n.next.Due) {
			n.next.Due = soon
		}
	}
	n.next.Posts[s.Target] = post
	id, _, shown := before.LastText()
	a, _ := n.all.Adapter(before.Route.Channel, before.Route.Account)
	if _, able := a.(adapters.Editor); !able || !shown || len(before.Receipts) != 1 {
		return false, nil
	}
	d, withheld, err := n.all.compose(ctx, before.Route, n.shown, alert.Message(n.shown, s.Reason))
	if err != nil {
		return false, err
	}
	if withheld && discreet(n.shown) {
		note.Status, note.Edits, note.Withheld, note.Why = alert.NoteFailed, true, true, discreetWhy
		return true, nil
	}
	if !withheld {
		d.Controls = n.controls()
	}
	d.Revises, d.PreviewID = before.ID, id
	note.Delivery, note.Edits, note.Withheld = string(d.ID), true, withheld
	n.change.Deliver = append(n.change.Deliver, d)
	if s.Reason == alert.AllResolved {
		n.tellThread(before.Route, id, d.ID)
	}
	return true, nil
}

// tellThread says below a message that its alerts are over. edit is the delivery that changes the message.
func (n *notifying) tellThread(route sessions.Route, message sessions.PlatformMessageID, edit ledger.DeliveryID) {
	route.ReplyTo = message
	if route.Channel == "slack" && route.Thread == "" {
		route.Thread = sessions.ThreadID(message)
	}
	d := n.all.Composer.Delivery(ledger.KindMessage, route, alert.Over(n.shown, n.all.Now()), alert.Label(n.shown))
	d.Idempotency = alert.OverKey(string(edit))
	n.change.Deliver = append(n.change.Deliver, d)
}

// discreetWhy is why a place hears nothing of a discreet alert.
const discreetWhy = "the target may not know it, and it was reported by an agent"

// discreet reports whether a place that may not know one of some alerts is told nothing.
func discreet(all []alert.Alert) bool {
	return slices.ContainsFunc(all, func(x alert.Alert) bool { return x.Discreet })
}

// compose makes the message for a conversation: what it may know, or that it is withheld.
func (a *Alerts) compose(ctx context.Context, route sessions.Route, shown []alert.Alert, text string) (d ledger.Delivery, withheld bool, err error) {
	record, err := a.Composer.SessionAt(ctx, "", route)
	if err != nil {
		return d, false, fmt.Errorf("find session of a target: %w", err)
	}
	d = a.Composer.Delivery(ledger.KindMessage, route, text, alert.Label(shown))
	decision, err := a.Composer.Decide(ctx, d, record)
	if err != nil {
		return d, false, fmt.Errorf("ask the gate: %w", err)
	}
	if decision.Passes() {
		return d, false, nil
	}
	return a.Composer.Delivery(ledger.KindMessage, route, alert.Withheld(shown), flow.Bottom()), true, nil
}

// route finds the conversation of a target.
func (a *Alerts) route(ctx context.Context, plan *alert.Plan, name string) (sessions.Route, error) {
	s := a.Settings()
	target, ok := plan.Targets[name]
	switch {
	case name == alert.OwnerTarget:
		target = alert.Target{Name: name, To: outbound.ToOwner}
	case !ok:
		return sessions.Route{}, fmt.Errorf("the configuration no longer has a target %q", name)
	}
	return a.Routes.Target(ctx, s, outbound.Proactive{Channel: target.Channel, Account: target.Account, To: target.To, Thread: target.Thread})
}
