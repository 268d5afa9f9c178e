package hook

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sluice/internal/alert/intake"
)

// AlertSpec is how requests become alerts, as it is configured. All texts are templates; empty ones are the preset's.
type AlertSpec struct {
	Key, Severity, Title, Text, Source string
	Status                             string // a template whose result is firing, resolved or nothing, which means firing
	Labels                             map[string]string
	Links                              []LinkSpec
}

// LinkSpec is an address that helps to look into an alert. Both texts are templates.
type LinkSpec struct{ Title, URL string }

// Alert is what a request says about one alert.
type Alert struct {
	intake.Event
	Source string // who can resolve it by a request
}

// Alerts is what a request says about alerts.
type Alerts struct {
	List   []Alert
	Faults []error // of the alerts that are left out
}

const (
	alertKeyMax  = 255 // bytes of an alert's key
	fieldMax     = 2 << 10
	alertTextMax = 8 << 10
)

// alerting is a compiled AlertSpec. A text that is absent is that of the preset's reader, or nothing.
type alerting struct {
	many   bool // the payload has a list of alerts, as Alertmanager's
	texts  map[string]*text
	labels map[string]*text
	links  [][2]*text // title and address
}

// Reports reports whether the hook's requests become alerts.
func (m *Mapping) Reports() bool { return m.alerting != nil }

// compileAlert compiles what requests become if they become alerts.
func compileAlert(s AlertSpec, p preset, name string, report func(setting, text string)) *alerting {
	a := &alerting{many: p.webhook, texts: map[string]*text{}, labels: map[string]*text{}}
	one := func(setting, source string, most int) *text {
		t, err := newText(strings.TrimSpace(source), most, asItIs)
		if err != nil {
			report("alert."+setting, err.Error())
		}
		return t
	}
	for setting, sources := range map[string][2]string{
		"key": {s.Key, p.alert.Key}, "severity": {s.Severity, p.alert.Severity}, "title": {s.Title, p.alert.Title},
		"text": {s.Text, p.alert.Text}, "status": {s.Status, p.alert.Status}, "source": {s.Source, p.alert.Source},
	} {
		source := sources[0]
		if strings.TrimSpace(source) == "" {
			source = sources[1]
		}
		if strings.TrimSpace(source) == "" {
			continue
		}
		most := fieldMax
		if setting == "text" {
			most = alertTextMax
		}
		a.texts[setting] = one(setting, source, most)
	}
	for _, setting := range []string{"key", "title"} {
		if _, ok := a.texts[setting]; !ok && !a.many {
			report("alert."+setting, fmt.Sprintf("is missing: the preset %s has no default for it", name))
		}
	}
	a.words("severity", s.Severity, report, func(word string) bool { return intake.KnownSeverity(word) != "" })
	a.words("status", s.Status, report, func(word string) bool { return word == "firing" || word == "resolved" })
	for _, label := range slices.Sorted(maps.Keys(s.Labels)) {
		a.labels[label] = one("labels."+label, s.Labels[label], fieldMax)
	}
	links := s.Links
	if len(links) == 0 {
		links = p.alert.Links
	}
	for i, l := range links {
		at := fmt.Sprintf("links[%d]", i)
		if strings.TrimSpace(l.URL) == "" {
			report("alert."+at+".url", "is missing")
			continue
		}
		a.links = append(a.links, [2]*text{one(at+".title", l.Title, fieldMax), one(at+".url", l.URL, fieldMax)})
	}
	return a
}

// words reports a fixed text that is not one of the known words.
func (a *alerting) words(setting, source string, report func(setting, text string), known func(string) bool) {
	want := map[string]string{"severity": "critical, error, warning or info", "status": "firing or resolved"}[setting]
	if fixed := strings.TrimSpace(source); fixed != "" && !strings.Contains(fixed, "{{") && !known(fixed) {
		report("alert."+setting, fmt.Sprintf("%q: want %s, or a template that gives one of them", fixed, want))
	}
}

// asItIs shows a value in an alert. Its texts are data and are shown as those of other programs.
func asItIs(v any) (string, error) { return plainText(v), nil }

// Alerts is what a request says about alerts. Their keys begin with "hook/<name>/", so that a request can only touch what its
// hook has reported. An error means that nothing can be read.
func (m *Mapping) Alerts(vars Variables, r Request, now time.Time) (Alerts, error) {
	var out Alerts
	if !m.alerting.many {
		a, err := m.alert(vars, nil, intake.Event{Action: intake.Fire})
		if err != nil {
			return out, err
		}
		out.List = []Alert{a}
		return out, nil
	}
	batch, err := intake.Webhook(r.Payload, intake.Defaults{Now: now})
	if err != nil {
		return out, fmt.Errorf("alert: %w", err)
	}
	out.Faults = batch.Invalid
	if batch.Truncated > 0 {
		out.Faults = append(out.Faults, fmt.Errorf("the sender has left out %d alerts: raise its max_alerts", batch.Truncated))
	}
	list, _ := field(map[string]any(vars), "payload", "alerts").([]any)
	for i, e := range batch.Events {
		place := batch.Places[i]
		if place >= len(list) {
			return out, errors.New("alert: the payload has several lists of alerts")
		}
		a, err := m.alert(vars, list[place], e)
		if err != nil {
			out.Faults = append(out.Faults, fmt.Errorf("alert %d: %w", place, err))
			continue
		}
		out.List = append(out.List, a)
	}
	return out, nil
}

// alert completes an event by the templates. They see the alert of the payload's list as .alert.
func (m *Mapping) alert(vars Variables, of any, e intake.Event) (Alert, error) {
	seen := maps.Clone(vars)
	seen["alert"] = of
	texts := map[string]string{}
	for setting, t := range m.alerting.texts {
		out, err := t.render(seen)
		if err != nil {
			return Alert{}, fmt.Errorf("%s: %w", setting, err)
		}
		if out = strings.TrimSpace(out); out != "" {
			texts[setting] = out
		}
	}
	if err := m.identify(&e, texts); err != nil {
		return Alert{}, err
	}
	if err := decideWords(&e, texts); err != nil {
		return Alert{}, err
	}
	title, words := e.Title, e.Text
	for setting, into := range map[string]*string{"title": &title, "text": &words} {
		if out, ok := texts[setting]; ok {
			*into = out
		}
	}
	if title == "" {
		title = e.Key
	}
	e.Say(title, words)
	if err := m.alerting.decorate(seen, &e); err != nil {
		return Alert{}, err
	}
	a := Alert{Event: e, Source: "hook/" + m.Name}
	if source := texts["source"]; source != "" {
		a.Source += "/" + source
	}
	return a, nil
}

// identify gives an alert its key. A hash of the sender stays as it is, and what is too long is hashed.
func (m *Mapping) identify(e *intake.Event, texts map[string]string) error {
	key := e.Key
	if out, ok := texts["key"]; ok {
		key = strings.Join(strings.Fields(out), " ")
	}
	if key == "" {
		return errors.New("key: is empty: the request lacks the values that the key names")
	}
	before := "hook/" + m.Name + "/"
	if len(before)+len(key) > alertKeyMax {
		key = fmt.Sprintf("%x", sha256.Sum256([]byte(key)))
	}
	e.Key = before + key
	return nil
}

// decideWords sets status and severity.
func decideWords(e *intake.Event, texts map[string]string) error {
	switch status := texts["status"]; status {
	case "":
	case "firing":
		e.Action = intake.Fire
	case "resolved":
		e.Action = intake.Resolve
	default:
		return fmt.Errorf("status: %q: want firing or resolved", truncate(60, status))
	}
	if word, ok := texts["severity"]; ok && e.Action != intake.Resolve {
		known := intake.KnownSeverity(word)
		if known == "" {
			return fmt.Errorf("severity: %q: want critical, error, warning or info", truncate(60, word))
		}
		e.Severity = known
	}
	return nil
}

// decorate adds labels and links.
func (a *alerting) decorate(seen Variables, e *intake.Event) error {
	if len(a.labels) > 0 {
		all := maps.Clone(e.Labels)
		if all == nil {
			all = map[string]string{}
		}
		for name, t := range a.labels {
			out, err := t.render(seen)
			if err != nil {
				return fmt.Errorf("labels.%s: %w", name, err)
			}
			all[name] = strings.TrimSpace(out)
		}
		maps.DeleteFunc(all, func(_, value string) bool { return value == "" })
		if len(all) > 0 {
			var err error
			if all, err = intake.Usable(all); err != nil {
				return fmt.Errorf("labels: %w", err)
			}
		}
		e.Labels = all
	}
	for i, l := range a.links {
		title, err := l[0].render(seen)
		address := ""
		if err == nil {
			address, err = l[1].render(seen)
		}
		if err != nil {
			return fmt.Errorf("links[%d]: %w", i, err)
		}
		e.Link(strings.TrimSpace(title), strings.TrimSpace(address))
	}
	return nil
}
