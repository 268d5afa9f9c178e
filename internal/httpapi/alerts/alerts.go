package alerts

import (
	"cmp"
	"context"
	"net/url"
	"time"

	"github.com/google/uuid"

	"sluice/internal/alert"
	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/view"
	"sluice/internal/httpapi/wire"
	"sluice/policy/flow"
	router "sluice/router/alert"
	"sluice/router/ledger"
)

type alertList struct {
	Alerts []alertRecord `json:"alerts"`
}

// ListQuery selects alerts.
type ListQuery struct {
	Status string   `query:"status" enum:"open,all,firing,acknowledged,resolved,expired" default:"open"`
	Filter []string `query:"filter,explode" maxItems:"64" doc:"a matcher as Alertmanager writes it, for example severity=\"critical\" or host=~\"db.*\"; all of them must match"`
	Limit  int      `query:"limit" minimum:"1" maximum:"200" default:"50"`
	After  string   `query:"after" doc:"key of the last alert of the previous page"`
}

// List lists alerts, the latest started first.
func (a *API) List(ctx context.Context, in *ListQuery) (*view.Page[alertList], error) {
	matchers, err := alert.ParseMatchers(in.Filter...)
	if err != nil {
		return nil, wire.BadRequest("filter: " + err.Error())
	}
	found, after, err := a.Alerts.Page(ctx, router.Wanted{Status: in.Status, Matchers: matchers, MaxLevel: auth.CallerOf(ctx).Level, After: in.After, Limit: in.Limit})
	if err != nil {
		return nil, err
	}
	out := alertList{Alerts: []alertRecord{}}
	for i := range found {
		record := recordOf(&found[i])
		record.Told = a.told(ctx, found[i].Notes)
		out.Alerts = append(out.Alerts, record)
	}
	return view.NewPage(view.NextLink(ctx, &ledger.Bound{More: after != ""}, after), out), nil
}

// AlertPath names an alert.
type AlertPath struct {
	Alert string `path:"alert" maxLength:"260" doc:"key or short name"`
}

// Get answers with an alert and its notifications.
func (a *API) Get(ctx context.Context, in *AlertPath) (*wire.Body[alertRecord], error) {
	x, err := a.find(ctx, in.Alert)
	if err != nil {
		return nil, err
	}
	out, err := a.record(ctx, x.Key)
	return wire.NewBody(out), err
}

// fired is an alert as a caller reports it.
type fired struct {
	Key         string            `json:"key,omitempty" maxLength:"200" doc:"the same key again is the same alert; default: a random one"`
	Severity    alert.Severity    `json:"severity,omitempty" enum:"critical,error,warning,info" doc:"default warning"`
	Title       string            `json:"title,omitempty" maxLength:"512" doc:"default: the key"`
	Text        string            `json:"text,omitempty" maxLength:"8192"`
	Labels      map[string]string `json:"labels,omitempty" maxProperties:"64" doc:"for routes and silences"`
	Annotations map[string]string `json:"annotations,omitempty" maxProperties:"32"`
	Links       []alert.Link      `json:"links,omitempty" maxItems:"8"`
	Ends        *time.Time        `json:"ends,omitempty" doc:"when it expires unless it is reported again; default: never"`
	Label       string            `json:"label,omitempty" doc:"how secret it is: a level, or LEVEL/trust; default PUBLIC; least for a named token: the token's level"`
}

type firedRecord struct {
	Key string `json:"key"`
	Ref string `json:"ref" doc:"short name"`
}

// Fire reports an alert. The answer comes after it is stored.
func (a *API) Fire(ctx context.Context, in *struct{ Body fired }) (*wire.Body[firedRecord], error) {
	who, b := auth.CallerOf(ctx), &in.Body
	label, err := who.SavedLabel(b.Label)
	if err != nil {
		return nil, err
	}
	for _, l := range b.Links {
		if u, err := url.Parse(l.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, wire.BadRequest("links: want web addresses, beginning with https:// or http://")
		}
	}
	report := alert.Incoming{
		Key: who.AlertKey(cmp.Or(b.Key, uuid.NewString())), Severity: b.Severity, Title: b.Title, Text: b.Text, Labels: b.Labels, Annotations: b.Annotations, Links: b.Links,
		Source: "api", Label: label,
	}
	if !who.Owner() {
		report.Source += "/" + who.Name
	}
	if b.Ends != nil {
		report.Ends = *b.Ends
		if !report.Ends.After(a.Now()) {
			return nil, wire.Invalid("ends: want a time in the future")
		}
	}
	if err := a.Alerts.Receive(ctx, []alert.Incoming{report}); err != nil {
		return nil, off(err)
	}
	return wire.NewBody(firedRecord{report.Key, alert.Ref(report.Key)}), nil
}

// Acknowledge stops the escalation of an alert.
func (a *API) Acknowledge(ctx context.Context, in *AlertPath) (*wire.Body[alertRecord], error) {
	return a.order(ctx, in.Alert, alert.Acknowledge)
}

// Resolve ends an alert.
func (a *API) Resolve(ctx context.Context, in *AlertPath) (*wire.Body[alertRecord], error) {
	return a.order(ctx, in.Alert, alert.Resolve)
}

func (a *API) order(ctx context.Context, name string, action alert.Action) (*wire.Body[alertRecord], error) {
	x, err := a.find(ctx, name)
	if err != nil {
		return nil, err
	}
	if x.Over(a.Now()) {
		return nil, wire.Conflict("the alert is over")
	}
	who := auth.CallerOf(ctx)
	if _, err := a.Alerts.Obey(ctx, router.Order{Action: action, Name: x.Key, Actor: who.Actor(), Label: flow.Bottom(), MaxLevel: who.Level}); err != nil {
		return nil, off(err)
	}
	out, err := a.record(ctx, x.Key)
	return wire.NewBody(out), err
}
