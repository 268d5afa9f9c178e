package alert

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sluice/internal/alert"
	"sluice/policy/flow"
)

// GroupState is an open group: its alerts, its notifications, and its next message.
type GroupState struct {
	alert.Group
	Alerts []Listed     // at most 1,000: the open ones first, of those the most severe
	Notes  []alert.Note // the newest first
	Steps  int          // of the receiver's escalation; 0: the configuration has no such receiver any more
	Muted  bool         // a time interval of the route, or quiet hours, hold its messages back now
	Next   *alert.Upcoming
}

// OpenGroups reads a page of the open groups, newest first, for readers who may know everything: a group has alerts of all
// levels, and each of them changes its messages. If there may be more, after is the group that the next page follows.
func (a *Alerts) OpenGroups(ctx context.Context, q alert.GroupQuery) (page []GroupState, after string, err error) {
	limit := q.Limit
	q.Limit++
	rows, err := a.Groups.ListGroups(ctx, q)
	if err != nil {
		return nil, "", fmt.Errorf("read alert groups: %w", err)
	}
	h, err := a.hush(ctx, flow.Restricted)
	if err != nil {
		return nil, "", err
	}
	if len(rows) > limit {
		rows = rows[:limit]
		after = rows[limit-1].Key
	}
	for i := range rows {
		state, err := a.stateOf(ctx, h, rows[i])
		if err != nil {
			return nil, "", err
		}
		page = append(page, state)
	}
	return page, after, nil
}

// stateOf reads what belongs to a group.
func (a *Alerts) stateOf(ctx context.Context, h *hushing, g alert.Group) (GroupState, error) {
	state := GroupState{Group: g}
	members, err := a.Groups.GroupAlerts(ctx, g.Key, membersMax)
	if err != nil {
		return state, fmt.Errorf("read alerts of a group: %w", err)
	}
	held, critical := map[string]Listed{}, false
	for i := range members {
		l := h.listed(members[i], members[i].Matched())
		state.Alerts = append(state.Alerts, l)
		held[l.Key] = l
		critical = critical || l.Severity == alert.Critical && l.Status.Open() && !l.quiet()
	}
	notes := notesRead{from: a.Groups, most: flow.Restricted}
	if state.Notes, err = notes.of(ctx, g.Key); err != nil || h.plan == nil {
		return state, err
	}
	scene := h.scene(g, members, a.Now())
	scene.Hushed = func(x *alert.Alert, at time.Time) bool {
		l := held[x.Key]
		return len(l.InhibitedBy) > 0 || slices.ContainsFunc(l.Silences, func(s alert.Silence) bool { return s.Ends.After(at) })
	}
	scene.HushChange = func(after time.Time) (next time.Time) {
		for _, l := range held {
			for _, s := range l.Silences {
				if s.Ends.After(after) && (next.IsZero() || s.Ends.Before(next)) {
					next = s.Ends
				}
			}
		}
		return next
	}
	if scene.Route == nil || scene.Receiver == nil {
		return state, nil
	}
	state.Steps = len(scene.Receiver.Steps)
	state.Muted = scene.Route.Quiet(scene.Now) || !critical && h.plan.Quiet.Contain(scene.Now)
	if next, ok := alert.Next(scene); ok {
		state.Next = &next
	}
	return state, nil
}
