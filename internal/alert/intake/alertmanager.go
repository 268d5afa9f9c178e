package intake

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// instant is a time as senders write it. Absent, empty and the year 1 all mean "not set".
type instant struct{ time.Time }

// layouts of times, most frequent first. A time without a zone is UTC.
var layouts = []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999-0700", "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999"}

// UnmarshalJSON implements [json.Unmarshaler].
func (t *instant) UnmarshalJSON(raw []byte) error {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return fmt.Errorf("read time %s: want a text such as 2026-12-24T18:00:00Z", cut(string(raw), 40))
	}
	at, ok := parseTime(text)
	if !ok {
		return fmt.Errorf("read time %q: want a form such as 2026-12-24T18:00:00Z", cut(text, 40))
	}
	t.Time = at
	return nil
}

// parseTime reads a time. Years that no database keeps are refused.
func parseTime(text string) (time.Time, bool) {
	if text == "" {
		return time.Time{}, true
	}
	for _, layout := range layouts {
		at, err := time.Parse(layout, text)
		switch {
		case err != nil:
			continue
		case at.Year() <= 1:
			return time.Time{}, true
		}
		return at.UTC(), at.Year() >= 1970 && at.Year() < 3000
	}
	return time.Time{}, false
}

// postable is an alert as clients of Alertmanager's API send it, and as its webhook lists it.
type postable struct {
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	StartsAt     instant           `json:"startsAt"`
	EndsAt       instant           `json:"endsAt"`
	GeneratorURL string            `json:"generatorURL"`
}

// errTooMany refuses a request with more alerts than AlertsMax.
func errTooMany(n int) error {
	return fmt.Errorf("%d alerts in one request, more than %d: send them in several", n, AlertsMax)
}

// PostedAlerts reads the body of POST /api/v2/alerts. As in Alertmanager, what is wrong with one alert does not keep the
// others out. An error means that the body as a whole cannot be read.
func PostedAlerts(body []byte, d Defaults) (Batch, error) {
	var all []json.RawMessage
	if err := json.Unmarshal(body, &all); err != nil {
		return Batch{}, fmt.Errorf("parsing alerts body failed: %w", err)
	}
	switch {
	case all == nil:
		return Batch{}, errors.New("alerts in body is required")
	case len(all) > AlertsMax:
		return Batch{}, errTooMany(len(all))
	}
	var out Batch
	for i, raw := range all {
		var p postable
		err := json.Unmarshal(raw, &p)
		var e Event
		if err == nil {
			e, err = p.event(d, true)
		}
		if err != nil {
			out.Invalid = append(out.Invalid, fmt.Errorf("alert %d: %w", i, err))
			continue
		}
		out.Events = append(out.Events, e)
	}
	return out, nil
}

// event is the alert as an event. With expires, an alert without an end lasts for the resolve time-out.
func (p postable) event(d Defaults, expires bool) (Event, error) {
	labels, err := Usable(p.Labels)
	if err != nil {
		return Event{}, err
	}
	e := Event{
		Action: Fire, Key: Fingerprint(labels), Labels: labels, Annotations: bounded(p.Annotations), GeneratorURL: cut(p.GeneratorURL, linkMax),
		Starts: p.StartsAt.Time, Ends: p.EndsAt.Time,
	}
	switch {
	case e.Starts.IsZero() && e.Ends.IsZero():
		e.Starts = d.Now
	case e.Starts.IsZero():
		e.Starts = e.Ends
	}
	if e.Ends.IsZero() && expires {
		e.Ends = d.Now.Add(d.ResolveTimeout)
	}
	if !e.Ends.IsZero() && e.Ends.Before(e.Starts) {
		return Event{}, errors.New("start time must be before end time")
	}
	if !e.Ends.IsZero() && !e.Ends.After(d.Now) {
		e.Action = Resolve
	}
	e.describe()
	return e, nil
}

// hookAlert is an alert of a webhook. Grafana adds addresses and values.
type hookAlert struct {
	postable

	Status       string             `json:"status"`
	Fingerprint  string             `json:"fingerprint"`
	DashboardURL string             `json:"dashboardURL"`
	PanelURL     string             `json:"panelURL"`
	ImageURL     string             `json:"imageURL"`
	Values       map[string]float64 `json:"values"`
}

// Webhook reads what Alertmanager's and Grafana's webhooks send. Such senders say when an alert is over, so that none ends
// by itself.
func Webhook(body []byte, d Defaults) (Batch, error) {
	var hook struct {
		Alerts    []json.RawMessage `json:"alerts"`
		Truncated int               `json:"truncatedAlerts"`
	}
	if err := json.Unmarshal(body, &hook); err != nil {
		return Batch{}, fmt.Errorf("read webhook: %w", err)
	}
	switch {
	case len(hook.Alerts) == 0:
		return Batch{}, errors.New("read webhook: it has no alerts: want the JSON of Alertmanager's or Grafana's webhook, with a list alerts")
	case len(hook.Alerts) > AlertsMax:
		return Batch{}, fmt.Errorf("read webhook: %w", errTooMany(len(hook.Alerts)))
	}
	out := Batch{Truncated: max(0, hook.Truncated)}
	for i, raw := range hook.Alerts {
		var a hookAlert
		err := json.Unmarshal(raw, &a)
		var e Event
		if err == nil {
			e, err = a.event(d)
		}
		if err != nil {
			out.Invalid = append(out.Invalid, fmt.Errorf("alert %d: %w", i, err))
			continue
		}
		out.Events, out.Places = append(out.Events, e), append(out.Places, i)
	}
	return out, nil
}

func (a hookAlert) event(d Defaults) (Event, error) {
	if a.Status == "resolved" && (a.EndsAt.IsZero() || a.EndsAt.After(d.Now)) {
		a.EndsAt.Time = d.Now
		if a.StartsAt.After(d.Now) { // the clocks differ
			a.StartsAt.Time = d.Now
		}
	}
	if a.Status == "firing" {
		a.EndsAt.Time = time.Time{}
	}
	e, err := a.postable.event(d, false)
	if err != nil {
		return Event{}, err
	}
	if isFingerprint(a.Fingerprint) { // Grafana's hash includes labels that it does not send
		e.Key = a.Fingerprint
	}
	e.Link("Dashboard", a.DashboardURL)
	e.Link("Panel", a.PanelURL)
	e.Link("Image", a.ImageURL)
	if values := list(a.Values); values != "" {
		e.Text = cut(strings.TrimSpace(e.Text+"\n"+values), textMax)
	}
	return e, nil
}

// isFingerprint reports whether a text is a hash as Alertmanager writes it.
func isFingerprint(text string) bool {
	return len(text) == 16 && strings.Trim(text, "0123456789abcdef") == ""
}
