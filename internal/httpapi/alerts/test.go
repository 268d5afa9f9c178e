package alerts

import (
	"context"

	"sluice/internal/alert"
	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/wire"
)

// tried is an alert whose way is asked for.
type tried struct {
	Key      string            `json:"key,omitempty" maxLength:"255"`
	Severity alert.Severity    `json:"severity,omitempty" enum:"critical,error,warning,info" doc:"default warning"`
	Source   string            `json:"source,omitempty" maxLength:"255"`
	Labels   map[string]string `json:"labels,omitempty" maxProperties:"64"`
}

type wayRecord struct {
	Route          string       `json:"route" doc:"position in the tree of routes: 0 is the root, 0/2 its third route"`
	Receiver       string       `json:"receiver"`
	Group          string       `json:"group" doc:"key of the group that reports it"`
	GroupWait      string       `json:"group_wait"`
	GroupInterval  string       `json:"group_interval"`
	RepeatInterval string       `json:"repeat_interval"`
	Quiet          bool         `json:"quiet,omitempty" doc:"no notifications at present: a time interval or quiet hours"`
	Steps          []stepRecord `json:"steps"`
}

type stepRecord struct {
	Wait   string   `json:"wait,omitempty" doc:"after the step before"`
	Notify []string `json:"notify" doc:"targets; those of channels above the caller's level are left out"`
	Repeat int      `json:"repeat,omitempty"`
}

type wayList struct {
	Ways        []wayRecord `json:"ways"`
	SilencedBy  []string    `json:"silenced_by,omitempty" doc:"ids of silences"`
	InhibitedBy []string    `json:"inhibited_by,omitempty" doc:"keys of alerts"`
}

// Test tells which routes an alert would take, and whom they tell; no effects.
func (a *API) Test(ctx context.Context, in *struct{ Body tried }) (*wire.Body[wayList], error) {
	b := &in.Body
	ways, listed, err := a.Alerts.Ways(ctx, alert.Alert{Key: b.Key, Severity: b.Severity, Source: b.Source, Detail: alert.Detail{Labels: b.Labels}}, auth.CallerOf(ctx).Level)
	if err != nil {
		return nil, off(err)
	}
	out := wayList{Ways: []wayRecord{}, SilencedBy: listed.SilencedBy(), InhibitedBy: listed.InhibitedBy}
	for _, way := range ways {
		r := way.Route
		record := wayRecord{
			Route: r.Path, Receiver: r.Receiver, Group: way.Group, GroupWait: r.GroupWait.String(), GroupInterval: r.GroupInterval.String(), RepeatInterval: r.RepeatInterval.String(),
			Quiet: way.Quiet, Steps: []stepRecord{},
		}
		for _, s := range way.Steps {
			step := stepRecord{Notify: []string{}, Repeat: s.Repeat}
			if s.Wait > 0 {
				step.Wait = s.Wait.String()
			}
			for _, target := range s.Notify {
				if a.seen(ctx, target) {
					step.Notify = append(step.Notify, target)
				}
			}
			record.Steps = append(record.Steps, step)
		}
		out.Ways = append(out.Ways, record)
	}
	return wire.NewBody(out), nil
}
