package alerts

import (
	"context"
	"maps"
	"time"

	"sluice/internal/alert"
	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/view"
	"sluice/internal/httpapi/wire"
	router "sluice/router/alert"
	"sluice/router/ledger"
)

// groupRecord is an open alert group as programs see it.
type groupRecord struct {
	Group         string            `json:"group" doc:"its key"`
	Receiver      string            `json:"receiver"`
	Route         string            `json:"route" doc:"position in the tree of routes: 0 is the root, 0/2 its third route"`
	Labels        map[string]string `json:"labels" doc:"the labels of group_by, which its alerts share"`
	Label         string            `json:"label" doc:"how secret it is, and whether it is trusted"`
	Opened        time.Time         `json:"opened"`
	Severity      alert.Severity    `json:"severity,omitempty" enum:"critical,error,warning,info" doc:"severity of its worst open alert"`
	Firing        int               `json:"firing" doc:"alerts that nobody has acknowledged; of a group, at most 1,000 alerts are counted"`
	Acknowledged  int               `json:"acknowledged"`
	Ended         int               `json:"ended" doc:"alerts that have ended and are still in the group"`
	Silenced      int               `json:"silenced" doc:"open alerts that a silence mutes"`
	Inhibited     int               `json:"inhibited" doc:"open alerts that another alert mutes"`
	Muted         bool              `json:"muted,omitempty" doc:"a time interval of its route, or quiet hours, hold its messages back now"`
	Step          int               `json:"step,omitempty" doc:"step of the escalation, from 1; absent: nobody has been notified since the group opened"`
	Steps         int               `json:"steps,omitempty" doc:"number of steps of the escalation; absent: the configuration no longer has the route or the receiver"`
	Told          []noteRecord      `json:"told,omitempty" doc:"who was notified: the newest notification to each target, newest first"`
	Next          *nextRecord       `json:"next,omitempty" doc:"the next message if nothing changes until then, silences included; absent if there is none within 30 days"`
	Alerts        []alertRecord     `json:"alerts,omitempty" doc:"open ones first, the most severe of them first; only when you get one group"`
	Notifications []noteRecord      `json:"notifications,omitempty" doc:"newest first; only when you get one group"`
}

// nextRecord is the next message of a group.
type nextRecord struct {
	At      time.Time    `json:"at"`
	Reason  alert.Reason `json:"reason" enum:"first,new_in_group,some_resolved,all_resolved,repeat,escalation"`
	Step    int          `json:"step,omitempty" doc:"step of the escalation, from 1"`
	Targets []string     `json:"targets"`
}

type groupList struct {
	Groups []groupRecord `json:"groups"`
}

// openGroups reads groups for callers who may see everything. Each alert of a group, whatever its level, changes what the group shows.
func (a *API) openGroups(ctx context.Context, q alert.GroupQuery) ([]router.GroupState, string, error) {
	if !auth.CallerOf(ctx).SeesAll() {
		return nil, "", wire.Forbidden("a group may have alerts of all levels: reading groups needs a token whose classification is RESTRICTED and, on the page, channels.webchat.classification: RESTRICTED")
	}
	return a.Alerts.OpenGroups(ctx, q)
}

// ListGroups lists the open groups, newest first.
func (a *API) ListGroups(ctx context.Context, in *struct {
	Limit int    `query:"limit" minimum:"1" maximum:"200" default:"50"`
	After string `query:"after" doc:"key of the last group of the previous page"`
},
) (*view.Page[groupList], error) {
	found, after, err := a.openGroups(ctx, alert.GroupQuery{After: in.After, Limit: in.Limit})
	if err != nil {
		return nil, err
	}
	out := groupList{Groups: []groupRecord{}}
	for i := range found {
		out.Groups = append(out.Groups, a.groupOf(ctx, &found[i]))
	}
	return view.NewPage(view.NextLink(ctx, &ledger.Bound{More: after != ""}, after), out), nil
}

// GroupPath names a group.
type GroupPath struct {
	Group string `path:"group" maxLength:"512" doc:"its key"`
}

// GetGroup answers with an open group, its alerts and its notifications.
func (a *API) GetGroup(ctx context.Context, in *GroupPath) (*wire.Body[groupRecord], error) {
	found, _, err := a.openGroups(ctx, alert.GroupQuery{Key: in.Group, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, wire.ErrNotFound
	}
	g := &found[0]
	out := a.groupOf(ctx, g)
	for i := range g.Alerts {
		out.Alerts = append(out.Alerts, recordOf(&g.Alerts[i]))
	}
	out.Notifications, err = a.notifications(ctx, g.Notes)
	return wire.NewBody(out), err
}

func (a *API) groupOf(ctx context.Context, g *router.GroupState) groupRecord {
	out := groupRecord{
		Group: g.Key, Receiver: g.Receiver, Route: g.Route, Labels: map[string]string{}, Label: g.Label.String(), Opened: g.Created, Muted: g.Muted,
		Step: g.Step.Next, Steps: g.Steps, Told: a.told(ctx, g.Notes),
	}
	maps.Copy(out.Labels, g.Labels)
	for i := range g.Alerts {
		x := &g.Alerts[i]
		switch {
		case x.Over(a.Now()):
			out.Ended++
			continue
		case x.Status == alert.Firing:
			out.Firing++
		default:
			out.Acknowledged++
		}
		if len(x.Silences) > 0 {
			out.Silenced++
		}
		if len(x.InhibitedBy) > 0 {
			out.Inhibited++
		}
		if out.Severity == "" { // the most severe is the first
			out.Severity = x.Severity
		}
	}
	if g.Next != nil {
		out.Next = &nextRecord{At: g.Next.At, Reason: g.Next.Reason, Step: g.Next.Step, Targets: g.Next.Targets}
	}
	return out
}
