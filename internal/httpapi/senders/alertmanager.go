package senders

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/alertmanager/matcher/parse"
	"github.com/prometheus/alertmanager/pkg/labels"

	"sluice/internal/alert/intake"
	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/view"
	"sluice/internal/httpapi/wire"
)

// apiVersion is the version of Alertmanager whose API this is. Its clients compare it with their own.
const apiVersion = "0.34.2"

// AlertmanagerAPI serves Alertmanager's API v2.
type AlertmanagerAPI struct {
	Visible  *view.Visibility
	Alerts   Alerts
	Silences Silences
	Tree     func() Tree
	Pace     *Pace
	Problem  func(err error) *wire.Error
	Version  string
	Started  time.Time
	Now      func() time.Time
}

// With serves a request. Errors are JSON texts, as the clients expect them.
func (a *AlertmanagerAPI) With(handle wire.Handler) wire.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := handle(w, r); err != nil {
			told := a.Problem(err)
			wire.WriteJSON(w, told.Status, told.Message)
		}
		return nil
	}
}

// Post takes alerts in. As in Alertmanager, those that are right are stored even if others are not.
func (a *AlertmanagerAPI) Post(w http.ResponseWriter, r *http.Request) error {
	who := auth.CallerOf(r.Context())
	label, err := who.SentLabel(r.Header.Get(LabelHeader))
	if err != nil {
		return err
	}
	body, err := readBody(r)
	if err != nil {
		return err
	}
	batch, err := intake.PostedAlerts(body, intake.Defaults{Now: a.Now(), ResolveTimeout: a.Tree().ResolveTimeout})
	if err != nil {
		return wire.BadRequest(err.Error())
	}
	if err := a.Pace.take(w, who, max(1, len(batch.Events)+len(batch.Invalid))); err != nil {
		return err
	}
	if err := report(r.Context(), a.Alerts, sender(who, "alertmanager", label), batch.Events); err != nil {
		return err
	}
	if len(batch.Invalid) > 0 {
		return wire.BadRequest(errors.Join(batch.Invalid...).Error())
	}
	w.WriteHeader(http.StatusOK)
	return nil
}

// shownAlert is an alert in Alertmanager's JSON.
type shownAlert struct {
	Annotations  map[string]string `json:"annotations"`
	EndsAt       string            `json:"endsAt"`
	Fingerprint  string            `json:"fingerprint"`
	Receivers    []named           `json:"receivers"`
	StartsAt     string            `json:"startsAt"`
	Status       alertStatus       `json:"status"`
	UpdatedAt    string            `json:"updatedAt"`
	GeneratorURL string            `json:"generatorURL,omitempty"`
	Labels       map[string]string `json:"labels"`
}

type alertStatus struct {
	InhibitedBy []string `json:"inhibitedBy"`
	MutedBy     []string `json:"mutedBy"`
	SilencedBy  []string `json:"silencedBy"`
	State       string   `json:"state"`
}

type named struct {
	Name string `json:"name"`
}

// stamp writes a time as Alertmanager does.
func stamp(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000Z") }

func show(a Alert) shownAlert {
	out := shownAlert{
		Annotations: filled(a.Annotations), EndsAt: stamp(a.Ends), Fingerprint: intake.Fingerprint(a.Labels), Receivers: []named{}, StartsAt: stamp(a.Starts),
		UpdatedAt: stamp(a.Updated), GeneratorURL: a.GeneratorURL, Labels: a.Labels,
		Status: alertStatus{InhibitedBy: view.NotNil(a.InhibitedBy), MutedBy: view.NotNil(a.MuteBy), SilencedBy: view.NotNil(a.SilencedBy), State: "active"},
	}
	for _, name := range a.Receivers {
		out.Receivers = append(out.Receivers, named{name})
	}
	if a.suppressed() {
		out.Status.State = "suppressed"
	}
	return out
}

// filled is a map that JSON shows as an object also if it is empty.
func filled(m map[string]string) map[string]string {
	if m == nil {
		return map[string]string{}
	}
	return m
}

func (a Alert) suppressed() bool {
	return len(a.SilencedBy)+len(a.InhibitedBy)+len(a.MuteBy) > 0
}

// selection is what the query of a list selects.
type selection struct {
	filter                      labels.Matchers
	receiver                    *regexp.Regexp
	receiverLabels              labels.Matchers
	active, silenced, inhibited bool
	muted                       bool
}

func readSelection(q url.Values) (s selection, err error) {
	if s.filter, err = matchers(q["filter"]); err != nil {
		return s, wire.BadRequest(err.Error())
	}
	if s.receiverLabels, err = matchers(q["receiver_matchers"]); err != nil {
		return s, wire.BadRequest("failed to parse receiver_matchers param: " + err.Error())
	}
	if text := q.Get("receiver"); text != "" {
		if s.receiver, err = regexp.Compile("^(?:" + text + ")$"); err != nil {
			return s, wire.BadRequest("failed to parse receiver param: " + err.Error())
		}
	}
	for name, to := range map[string]*bool{"active": &s.active, "silenced": &s.silenced, "inhibited": &s.inhibited, "muted": &s.muted, "unprocessed": new(bool)} {
		if *to, err = flag(q, name); err != nil {
			return s, err
		}
	}
	return s, nil
}

// flag reads a parameter that is true by default.
func flag(q url.Values, name string) (bool, error) {
	on, err := strconv.ParseBool(cmp.Or(q.Get(name), "true"))
	if err != nil {
		return false, wire.BadRequest(fmt.Sprintf("%s in query must be of type boolean: %q", name, wire.Printable(q.Get(name))))
	}
	return on, nil
}

// filtersMax bounds the matchers of one query.
const filtersMax = 64

// matchers reads matchers in the present syntax, or in the older one of Alertmanager.
func matchers(texts []string) (labels.Matchers, error) {
	if len(texts) > filtersMax {
		return nil, fmt.Errorf("%d matchers, more than %d", len(texts), filtersMax)
	}
	var all labels.Matchers
	for _, text := range texts {
		m, err := parse.Matcher(text)
		if err != nil {
			if older, err := labels.ParseMatcher(text); err == nil {
				all = append(all, older)
				continue
			}
			return nil, fmt.Errorf("bad matcher format: %q: %w", wire.Printable(text), err)
		}
		all = append(all, m)
	}
	return all, nil
}

// matches reports whether labels fit all matchers. As in Alertmanager's lists, an absent label differs from an empty one.
func matches(all labels.Matchers, set map[string]string) bool {
	return !slices.ContainsFunc(all, func(m *labels.Matcher) bool {
		value, there := set[m.Name]
		negative := m.Type == labels.MatchNotEqual || m.Type == labels.MatchNotRegexp
		if m.Value == "" && there == negative {
			return false
		}
		return !m.Matches(value)
	})
}

// takes reports whether an alert is selected.
func (s selection) takes(a Alert) bool {
	switch {
	case !matches(s.filter, a.Labels),
		!s.active && !a.suppressed(),
		!s.silenced && len(a.SilencedBy) > 0,
		!s.inhibited && len(a.InhibitedBy) > 0:
		return false
	}
	return true
}

// goesTo reports whether a receiver is selected. Receivers here have no labels.
func (s selection) goesTo(receiver string) bool {
	return (s.receiver == nil || s.receiver.MatchString(receiver)) && matches(s.receiverLabels, nil)
}

// anyReceiver reports whether nothing is said about receivers.
func (s selection) anyReceiver() bool { return s.receiver == nil && len(s.receiverLabels) == 0 }

// List lists open alerts.
func (a *AlertmanagerAPI) List(w http.ResponseWriter, r *http.Request) error {
	s, err := readSelection(r.URL.Query())
	if err != nil {
		return err
	}
	all, err := a.Alerts.OpenAlerts(r.Context(), auth.CallerOf(r.Context()).Level)
	if err != nil {
		return err
	}
	out := []shownAlert{}
	for _, one := range all {
		if s.takes(one) && (s.anyReceiver() || slices.ContainsFunc(one.Receivers, s.goesTo)) {
			out = append(out, show(one))
		}
	}
	slices.SortFunc(out, func(a, b shownAlert) int { return cmp.Compare(a.Fingerprint, b.Fingerprint) })
	wire.WriteJSON(w, http.StatusOK, out)
	return nil
}

// shownGroup is a group in Alertmanager's JSON.
type shownGroup struct {
	Alerts      []shownAlert      `json:"alerts"`
	Labels      map[string]string `json:"labels"`
	Receiver    named             `json:"receiver"`
	RouteLabels map[string]string `json:"routeLabels"`
}

// Groups lists groups that have selected alerts.
func (a *AlertmanagerAPI) Groups(w http.ResponseWriter, r *http.Request) error {
	s, err := readSelection(r.URL.Query())
	if err != nil {
		return err
	}
	all, err := a.Alerts.AlertGroups(r.Context(), auth.CallerOf(r.Context()).Level)
	if err != nil {
		return err
	}
	out := []shownGroup{}
	for _, g := range all {
		shown := shownGroup{Alerts: []shownAlert{}, Labels: filled(g.Labels), Receiver: named{g.Receiver}, RouteLabels: map[string]string{}}
		for _, one := range g.Alerts {
			if s.takes(one) && s.goesTo(g.Receiver) {
				shown.Alerts = append(shown.Alerts, show(one))
			}
		}
		quiet := !slices.ContainsFunc(g.Alerts, func(a Alert) bool { return !a.suppressed() })
		if len(shown.Alerts) > 0 && (s.muted || !quiet) {
			out = append(out, shown)
		}
	}
	wire.WriteJSON(w, http.StatusOK, out)
	return nil
}

// Receivers lists the receivers.
func (a *AlertmanagerAPI) Receivers(w http.ResponseWriter, r *http.Request) error {
	s, err := readSelection(url.Values{"receiver_matchers": r.URL.Query()["receiver_matchers"]})
	if err != nil {
		return err
	}
	out := []named{}
	for _, name := range a.Tree().Receivers {
		if s.goesTo(name) {
			out = append(out, named{name})
		}
	}
	wire.WriteJSON(w, http.StatusOK, out)
	return nil
}

// Status tells versions. The configuration is shown only to who sees everything, because it has names of the gateway's places.
func (a *AlertmanagerAPI) Status(w http.ResponseWriter, r *http.Request) error {
	original := ""
	if auth.CallerOf(r.Context()).SeesAll() {
		original = a.Tree().Original
	}
	wire.WriteJSON(w, http.StatusOK, map[string]any{
		"cluster":     map[string]any{"status": "disabled", "peers": []any{}},
		"config":      map[string]string{"original": original},
		"uptime":      stamp(a.Started),
		"versionInfo": map[string]string{"version": apiVersion, "revision": a.Version, "branch": "sluice", "buildUser": "", "buildDate": "", "goVersion": ""},
	})
	return nil
}
