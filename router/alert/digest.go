package alert

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/internal/alert"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

// A digest tells one target what quiet hours or its budget have held back. Its row is a group without alerts.
const (
	digestKind     = "digest"
	digestMax      = 1_000 // notifications that one digest sums up
	digestLines    = 20
	digestPatience = 24 * time.Hour // a digest for a target that can't be found waits so long
)

// digestOf makes the digest of a target due at a time, or earlier if it is due already.
func (a *Alerts) digestOf(target string, due time.Time) alert.Touch {
	return a.touch(alert.Group{Key: digestKind + "." + target, Label: flow.Bottom(), GroupDetail: alert.GroupDetail{Kind: digestKind, Receiver: target}}, "", due, false)
}

// digest sends what a target has waited for, as one message.
func (w *worker) digest(ctx context.Context, h *hushing, g alert.Group) error {
	waiting, err := w.all.Store.WaitingNotes(ctx, g.Receiver, digestMax)
	if err != nil {
		return fmt.Errorf("read waiting notifications: %w", err)
	}
	g.Revision, g.Epoch, g.Open, g.Due = g.Revision+1, w.lane.Epoch(), len(waiting) == digestMax, w.all.Now()
	g.Earliest = g.Due
	var change ledger.Change
	switch {
	case len(waiting) == 0:
	case h.plan.Quiet.Contain(g.Due): // a budget held them back before the quiet hours began, or more has come since
		g.Open, g.Due = true, h.plan.Quiet.End(g.Due)
		g.Earliest = g.Due
	default:
		if err := w.sum(ctx, h, &g, waiting, &change); err != nil {
			return err
		}
	}
	change.AlertGroups = []alert.Group{g}
	if err := w.all.Lanes.Commit(ctx, change); err != nil {
		return fmt.Errorf("store digest: %w", err)
	}
	return nil
}

// sum adds the digest to a change.
func (w *worker) sum(ctx context.Context, h *hushing, g *alert.Group, waiting []alert.Note, change *ledger.Change) error {
	var names []string
	for _, note := range waiting {
		change.AlertSums = append(change.AlertSums, note.Key)
		names = append(names, note.Alerts...)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	about, err := w.all.Store.AlertsByKey(ctx, names)
	if err != nil {
		return fmt.Errorf("read alerts: %w", err)
	}
	route, err := w.all.route(ctx, h.plan, g.Receiver)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		w.all.Log.Warn("an alert's target can't be reached", "target", g.Receiver, "err", err)
		if w.all.Now().Sub(waiting[0].Created) < digestPatience {
			g.Open, g.Due = true, w.all.Now().Add(digestAfter)
			g.Earliest, change.AlertSums = g.Due, nil
			return nil
		}
		note := w.summed(g, about, names)
		note.Status, note.Why = alert.NoteFailed, err.Error()
		change.AlertNotes = []alert.Note{note}
		return nil
	}
	known, hidden, err := w.apart(ctx, route, about)
	if err != nil {
		return err
	}
	if len(known) == 0 || len(hidden) == 0 {
		return w.tell(ctx, route, about, w.summed(g, about, names), change)
	}
	for _, part := range [][]alert.Alert{known, hidden} {
		if err := w.tell(ctx, route, part, w.summed(g, part, keys(part)), change); err != nil {
			return err
		}
	}
	return nil
}

// summed is a new notification of a digest.
func (w *worker) summed(g *alert.Group, about []alert.Alert, names []string) alert.Note {
	g.Sequence++
	return alert.Note{
		Key: fmt.Sprintf("alert/%s/%s/%d", g.Key, g.Receiver, g.Sequence), Group: g.Key, Target: g.Receiver, Sequence: g.Sequence, Status: alert.NoteQueued,
		Label: alert.Label(about), Created: w.all.Now(), NoteDetail: alert.NoteDetail{Alerts: names},
	}
}

// apart divides alerts into those that a place may know and those that are withheld there: one of them must not hide the others.
func (w *worker) apart(ctx context.Context, route sessions.Route, about []alert.Alert) (known, hidden []alert.Alert, err error) {
	withheld := map[flow.Label]bool{}
	for i := range about {
		hide, asked := withheld[about[i].Label]
		if !asked {
			one := about[i : i+1]
			if _, hide, err = w.all.compose(ctx, route, one, digestText(one)); err != nil {
				return nil, nil, err
			}
			withheld[about[i].Label] = hide
		}
		if hide {
			hidden = append(hidden, about[i])
		} else {
			known = append(known, about[i])
		}
	}
	return known, hidden, nil
}

// tell adds the digest's message to a change. Alerts that a place may not know are reported as withheld there, discreet ones not at all.
func (w *worker) tell(ctx context.Context, route sessions.Route, about []alert.Alert, note alert.Note, change *ledger.Change) error {
	d, withheld, err := w.all.compose(ctx, route, about, digestText(about))
	if err == nil && withheld && discreet(about) {
		about = slices.DeleteFunc(about, func(x alert.Alert) bool { return x.Discreet })
		note.Label = alert.Label(about)
		d, withheld, err = w.all.compose(ctx, route, about, digestText(about))
	}
	switch {
	case err != nil:
		return err
	case len(about) == 0:
		note.Status, note.Withheld, note.Why = alert.NoteFailed, true, discreetWhy
	default:
		note.Delivery, note.Withheld = string(d.ID), withheld
		change.Deliver = append(change.Deliver, d)
	}
	change.AlertNotes = append(change.AlertNotes, note)
	return nil
}

// digestText lists alerts as they are now.
func digestText(about []alert.Alert) string {
	slices.SortStableFunc(about, func(a, b alert.Alert) int {
		return slices.Index(alert.Severities(), a.Severity) - slices.Index(alert.Severities(), b.Severity)
	})
	var b strings.Builder
	fmt.Fprintf(&b, "Held back until now: %s.\n", alert.Count(len(about)))
	for i := range about[:min(len(about), digestLines)] {
		b.WriteString("\n" + alert.Line(&about[i]))
	}
	if more := len(about) - digestLines; more > 0 {
		fmt.Fprintf(&b, "\n… and %d more: `/alerts`.", more)
	}
	return b.String()
}
