package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/alertmanager/pkg/labels"
	"github.com/prometheus/common/model"

	"sluice/internal/alert"
	"sluice/internal/alert/intake"
	"sluice/internal/httpapi/senders"
	"sluice/internal/httpapi/wire"
	"sluice/policy/flow"
	engine "sluice/router/alert"
)

// alertSenders takes in the alerts of other programs, and shows alerts and silences to clients of Alertmanager.
type alertSenders struct {
	engine *engine.Alerts
}

func (a *App) alerting() *senders.Alerting {
	all := alertSenders{a.router.Alerts()}
	return &senders.Alerting{Alerts: all, Silences: all, Tree: all.tree}
}

// resolveDefault is how long an alert without an end lasts while alerts are not configured. None is stored then.
const resolveDefault = 5 * time.Minute

// off turns the engine's refusal into a response.
func off(err error) error {
	if errors.Is(err, engine.ErrOff) {
		return wire.Unavailable(err.Error())
	}
	return err
}

// Report implements [senders.Alerts].
func (a alertSenders) Report(ctx context.Context, from senders.Sender, events []intake.Event) error {
	all := make([]alert.Incoming, len(events))
	for i, e := range events {
		all[i] = alert.Reported(e, from.Source, from.Label)
	}
	return off(a.engine.Receive(ctx, all))
}

// OpenAlerts implements [senders.Alerts].
func (a alertSenders) OpenAlerts(ctx context.Context, upTo flow.Level) ([]senders.Alert, error) {
	listed, err := a.engine.List(ctx, engine.Filter{Query: alert.Query{Open: true, MaxLevel: upTo}})
	if err != nil {
		return nil, err
	}
	all := make([]senders.Alert, len(listed))
	for i, l := range listed {
		all[i] = a.shown(l)
	}
	return all, nil
}

// shown is an alert as clients of Alertmanager see it. An alert of another source has at least the labels that matchers see.
func (a alertSenders) shown(l engine.Listed) senders.Alert {
	out := senders.Alert{
		Labels: l.Labels, Annotations: maps.Clone(l.Annotations), GeneratorURL: l.GeneratorURL, Starts: l.Started, Updated: l.Updated, Ends: l.Ends,
		SilencedBy: l.SilencedBy(), InhibitedBy: l.InhibitedBy, Label: l.Label,
	}
	if out.Labels[model.AlertNameLabel] == "" {
		out.Labels = l.Matched()
	}
	if out.Annotations == nil {
		out.Annotations = map[string]string{}
	}
	if out.Annotations["summary"] == "" && l.Title != l.Labels[model.AlertNameLabel] {
		out.Annotations["summary"] = l.Title
	}
	for _, r := range a.routes(l) {
		if !slices.Contains(out.Receivers, r.Receiver) {
			out.Receivers = append(out.Receivers, r.Receiver)
		}
	}
	return out
}

// routes are those that an alert takes; none while alerts are not configured.
func (a alertSenders) routes(l engine.Listed) []*alert.Route {
	if plan := a.engine.Plan(); plan != nil {
		return plan.Root.Match(l.Matched())
	}
	return nil
}

// AlertGroups implements [senders.Alerts].
func (a alertSenders) AlertGroups(ctx context.Context, upTo flow.Level) ([]senders.Group, error) {
	listed, err := a.engine.List(ctx, engine.Filter{Query: alert.Query{Open: true, MaxLevel: upTo}})
	if err != nil {
		return nil, err
	}
	groups := map[string]*senders.Group{}
	for _, l := range listed {
		for _, r := range a.routes(l) {
			key, common := r.Group(l.Matched())
			g, ok := groups[key]
			if !ok {
				g = &senders.Group{Labels: common, Receiver: r.Receiver}
				groups[key] = g
			}
			g.Alerts = append(g.Alerts, a.shown(l))
		}
	}
	all := make([]senders.Group, 0, len(groups))
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		all = append(all, *groups[key])
	}
	return all, nil
}

// ListSilences implements [senders.Silences].
func (a alertSenders) ListSilences(ctx context.Context, upTo flow.Level) ([]senders.Silence, error) {
	stored, err := a.engine.Silences(ctx, time.Time{}, upTo)
	if err != nil {
		return nil, fmt.Errorf("read silences: %w", err)
	}
	all := make([]senders.Silence, len(stored))
	for i, s := range stored {
		if all[i], err = shownSilence(s); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Silence implements [senders.Silences]. Its caller checks the label.
func (a alertSenders) Silence(ctx context.Context, id string) (senders.Silence, error) {
	s, err := a.engine.Silence(ctx, id, flow.Restricted)
	if err != nil {
		return senders.Silence{}, err
	}
	return shownSilence(s)
}

func shownSilence(s alert.Silence) (senders.Silence, error) {
	compiled, err := alert.Compile(s.Matchers)
	if err != nil {
		return senders.Silence{}, fmt.Errorf("read silence %s: %w", s.ID, err)
	}
	return senders.Silence{
		ID: s.ID, Matchers: labels.Matchers(compiled), Starts: s.Starts, Ends: s.Ends, Updated: s.Updated, Author: s.Author, Comment: s.Comment, Label: s.Label,
	}, nil
}

// PutSilence implements [senders.Silences].
func (a alertSenders) PutSilence(ctx context.Context, s senders.Silence, actor string) (string, error) {
	id, err := a.engine.SetSilence(ctx, alert.Silence{
		ID: s.ID, Starts: s.Starts, Ends: s.Ends, Updated: s.Updated, Label: s.Label,
		SilenceDetail: alert.SilenceDetail{Matchers: alert.Matchers(s.Matchers).Plain(), Author: signed(s.Author, actor), Comment: s.Comment, Reach: s.Reach},
	}, actor)
	return id, off(err)
}

// signed is the name that a client gives, with the token that it has used: the name alone is only a claim.
func signed(author, actor string) string {
	by := " (" + actor + ")"
	return strings.TrimSuffix(author, by) + by
}

// EndSilence implements [senders.Silences].
func (a alertSenders) EndSilence(ctx context.Context, id, actor string) error {
	return a.engine.ExpireSilence(ctx, id, actor, flow.Restricted)
}

// tree is what the configuration says about alerts.
func (a alertSenders) tree() senders.Tree {
	plan := a.engine.Plan()
	if plan == nil {
		return senders.Tree{ResolveTimeout: resolveDefault}
	}
	names := slices.Sorted(maps.Keys(plan.Receivers))
	var receivers []map[string]string
	for _, name := range names {
		receivers = append(receivers, map[string]string{"name": name})
	}
	original, _ := json.Marshal(map[string]any{ // never fails; JSON is YAML
		"global": map[string]string{"resolve_timeout": model.Duration(plan.ResolveTimeout).String()}, "route": shownRoute(plan.Root), "receivers": receivers,
	})
	return senders.Tree{Receivers: names, ResolveTimeout: plan.ResolveTimeout, Original: string(original)}
}

// shownRoute is a route in Alertmanager's form.
func shownRoute(r *alert.Route) map[string]any {
	out := map[string]any{
		"receiver": r.Receiver, "group_by": r.GroupBy, "continue": r.Continue, "group_wait": model.Duration(r.GroupWait).String(),
		"group_interval": model.Duration(r.GroupInterval).String(), "repeat_interval": model.Duration(r.RepeatInterval).String(),
	}
	if len(r.Matchers) > 0 {
		var texts []string
		for _, m := range r.Matchers {
			texts = append(texts, m.String())
		}
		out["matchers"] = texts
	}
	var below []map[string]any
	for _, child := range r.Routes {
		below = append(below, shownRoute(child))
	}
	if len(below) > 0 {
		out["routes"] = below
	}
	return out
}
