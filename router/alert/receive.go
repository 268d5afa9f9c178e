package alert

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"sluice/internal/alert"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/request"
	"sluice/sessions"
)

// The limits of a report.
const (
	keyMax     = 255      // bytes
	reportMax  = 64 << 10 // bytes of all texts
	batchMax   = 500      // reports that one commit stores
	receiveTry = 20       // tries of a batch whose alerts others change at the same time
)

// Receive takes reports in. It returns when they are stored. Of several reports with one key the last one counts. It returns
// a *[request.Error] for a report that can't be taken, and then stores none of them; [ErrOff] if alerts are off. If too many
// alerts are open, it stores what concerns those, and returns a *[request.Error].
func (a *Alerts) Receive(ctx context.Context, reports []alert.Incoming) error {
	plan := a.plan.Load()
	if plan == nil {
		return ErrOff
	}
	for i := range reports {
		if err := check(&reports[i]); err != nil {
			return err
		}
	}
	reports = slices.Clone(reports)
	for i := range reports {
		storable(&reports[i])
	}
	var full error
	for batch := range slices.Chunk(reports, batchMax) {
		left, err := a.receive(ctx, plan, batch)
		if err != nil {
			return err
		}
		full = cmp.Or(full, left)
	}
	return full
}

// check says what is wrong with a report in itself.
func check(in *alert.Incoming) error {
	size := len(in.Title) + len(in.Text) + len(in.GeneratorURL)
	for _, set := range []map[string]string{in.Labels, in.Annotations} {
		for name, value := range set {
			size += len(name) + len(value)
		}
	}
	switch {
	case in.Key == "":
		return &request.Error{Field: "key", Text: "is missing"}
	case len(in.Key) > keyMax || !utf8.ValidString(in.Key) || strings.ContainsAny(in.Key, "\n\r\x00"):
		return &request.Error{Field: "key", Text: fmt.Sprintf("want one line of valid UTF-8 of at most %d bytes", keyMax)}
	case in.Severity != "" && !slices.Contains(alert.Severities(), in.Severity):
		return &request.Error{Field: "severity", Text: fmt.Sprintf("%q: want critical, error, warning or info", in.Severity)}
	case size > reportMax:
		return &request.Error{Field: "text", Text: fmt.Sprintf("the report has %d bytes, the maximum is %d", size, reportMax)}
	case !in.Label.Valid():
		return fmt.Errorf("report of alert %q has no label", in.Key)
	}
	return nil
}

// storable replaces what no database keeps as it is, so that an alert has the same labels, and so the same groups, before and
// after it was stored.
func storable(in *alert.Incoming) {
	for _, text := range []*string{&in.Title, &in.Text, &in.GeneratorURL, &in.Source} {
		*text = plain(*text)
	}
	in.Labels, in.Annotations, in.Links = plainMap(in.Labels), plainMap(in.Annotations), slices.Clone(in.Links)
	for i, l := range in.Links {
		in.Links[i] = alert.Link{Title: plain(l.Title), URL: plain(l.URL)}
	}
}

// plain is a text as valid UTF-8 without NUL.
func plain(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

func plainMap(texts map[string]string) map[string]string {
	clean := make(map[string]string, len(texts))
	for name, text := range texts {
		clean[plain(name)] = plain(text)
	}
	return clean
}

// receive stores a batch, and says which reports it has left out. Somebody else may change the same alerts meanwhile: then it is
// decided again.
func (a *Alerts) receive(ctx context.Context, plan *alert.Plan, batch []alert.Incoming) (full, err error) {
	keys, last := latest(batch)
	for range receiveTry {
		var change ledger.Change
		full, err = a.decide(ctx, &change, plan, keys, last)
		if err != nil {
			return nil, err
		}
		if len(change.Alerts) == 0 {
			return full, nil
		}
		err = a.Lanes.Commit(ctx, change)
		if errors.Is(err, sessions.ErrConflict) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("store alerts: %w", err)
		}
		return full, nil
	}
	return nil, fmt.Errorf("store alerts: %w: others keep changing them", sessions.ErrConflict)
}

// decide adds to a change what reports do. The keys are sorted. What it leaves out because too many alerts are open is in full, a
// *[request.Error].
func (a *Alerts) decide(ctx context.Context, change *ledger.Change, plan *alert.Plan, keys []string, reports map[string]alert.Incoming) (full, err error) {
	known, err := a.known(ctx, keys)
	if err != nil {
		return nil, err
	}
	room := -1 // not known yet
	for _, key := range keys {
		next, ok := reported(known[key], reports[key], a.Now())
		if !ok {
			continue
		}
		if !known[key].Status.Open() {
			if room < 0 {
				open, err := a.Store.TallyAlerts(ctx)
				if err != nil {
					return nil, fmt.Errorf("count open alerts: %w", err)
				}
				room = max(alert.OpenMax-alert.Total(open), 0)
			}
			if room == 0 {
				full = cmp.Or(full, errFull(key))
				continue
			}
			room--
		}
		a.add(change, plan, next, false)
	}
	return full, nil
}

// errFull refuses a new alert because of those that are open.
func errFull(key string) error {
	return &request.Error{Field: "key", Text: fmt.Sprintf("%q is not stored, because %d alerts are open, which is the maximum: resolve some", key, alert.OpenMax)}
}

// Report adds a report to a change that has no alerts, so that it is stored together with its cause. It returns [ErrOff] if
// alerts are off. If the alert has changed meanwhile, the change can't be stored ([sessions.ErrConflict]): the caller asks again.
func (a *Alerts) Report(ctx context.Context, in alert.Incoming, change *ledger.Change) error {
	plan := a.plan.Load()
	if plan == nil {
		return ErrOff
	}
	if err := check(&in); err != nil {
		return err
	}
	storable(&in)
	full, err := a.decide(ctx, change, plan, []string{in.Key}, map[string]alert.Incoming{in.Key: in})
	return cmp.Or(err, full)
}

// Reported is the result of several reports.
type Reported struct {
	Keys   []string // of the alerts that they are about, sorted
	Faults []error  // of the reports that are left out
}

// ReportAll is [Alerts.Report] for several reports: what is wrong with one does not keep the others out. Of several reports with
// one key the last one counts. More than one commit should store are refused as a whole, with a [*request.Error].
func (a *Alerts) ReportAll(ctx context.Context, reports []alert.Incoming, change *ledger.Change) (Reported, error) {
	var out Reported
	plan := a.plan.Load()
	switch {
	case plan == nil:
		return out, ErrOff
	case len(reports) > batchMax:
		return out, &request.Error{Field: "alerts", Text: fmt.Sprintf("there are %d, the maximum is %d: send them in several requests", len(reports), batchMax)}
	}
	var good []alert.Incoming
	for _, in := range reports {
		if err := check(&in); err != nil {
			out.Faults = append(out.Faults, fmt.Errorf("alert %q: %w", in.Key, err))
			continue
		}
		storable(&in)
		good = append(good, in)
	}
	keys, last := latest(good)
	out.Keys = keys
	full, err := a.decide(ctx, change, plan, keys, last)
	if full != nil {
		out.Faults = append(out.Faults, full)
	}
	return out, err
}

// latest are the last reports by their keys. The keys are sorted, because all writers take rows in one order.
func latest(reports []alert.Incoming) ([]string, map[string]alert.Incoming) {
	last := make(map[string]alert.Incoming, len(reports))
	for _, in := range reports {
		last[in.Key] = in
	}
	return slices.Sorted(maps.Keys(last)), last
}

// known reads alerts by their keys.
func (a *Alerts) known(ctx context.Context, keys []string) (map[string]alert.Alert, error) {
	rows, err := a.Store.AlertsByKey(ctx, keys)
	if err != nil {
		return nil, fmt.Errorf("read alerts: %w", err)
	}
	all := make(map[string]alert.Alert, len(rows))
	for _, row := range rows {
		all[row.Key] = row
	}
	return all, nil
}

// add adds a changed alert to a change, and makes its groups due.
func (a *Alerts) add(change *ledger.Change, plan *alert.Plan, next alert.Alert, now bool) {
	at := a.Now()
	set := next.Matched()
	was := next.Groups
	if next.Status.Open() {
		next.Groups = nil
		for _, route := range plan.Root.Match(set) {
			key, common := groupOf(route, set, &next)
			if slices.Contains(next.Groups, key) {
				continue
			}
			next.Groups = append(next.Groups, key)
			change.AlertTouches = append(change.AlertTouches, a.touch(alert.Group{
				Key: key, Label: next.Label, GroupDetail: alert.GroupDetail{Route: route.Path, Receiver: route.Receiver, Labels: common},
			}, next.Key, at.Add(route.GroupWait), now))
		}
	}
	for _, key := range was {
		if !slices.Contains(next.Groups, key) || !next.Status.Open() {
			change.AlertTouches = append(change.AlertTouches, a.touch(alert.Group{Key: key, Label: next.Label}, "", at, now))
		}
	}
	change.Alerts = append(change.Alerts, next)
}

// groupOf is the group of an alert on a route. Discreet alerts share a group only with those of their level: else they would
// withhold what is said about others.
func groupOf(route *alert.Route, set map[string]string, x *alert.Alert) (key string, common map[string]string) {
	key, common = route.Group(set)
	if x.Discreet {
		key += "." + strings.ToLower(x.Label.Level().String())
	}
	return key, common
}

// touch makes a group due at a time if it is new or closed.
func (a *Alerts) touch(g alert.Group, member string, due time.Time, now bool) alert.Touch {
	g.Revision, g.Open, g.Created = 1, true, a.Now()
	g.Partition = sessions.Lane("alert/" + g.Key).Partition(a.Partitions)
	if now {
		due = a.Now()
	}
	return alert.Touch{Group: g, Alert: member, Due: due, Now: now}
}

// reported is an alert after a report; false if the report changes nothing.
func reported(was alert.Alert, in alert.Incoming, now time.Time) (alert.Alert, bool) {
	if in.Action == alert.Acknowledge || in.Action == alert.Resolve {
		if !was.Status.Open() || was.Source != in.Source || was.Over(now) {
			return was, false
		}
		next := was
		next.Revision, next.Updated, next.Label = was.Revision+1, now, was.Label.Join(in.Label)
		next.Status, next.By, next.At = alert.Acknowledged, "", now
		if in.Action == alert.Resolve {
			next.Status, next.Ended = alert.Resolved, now
		}
		return next, true
	}
	if in.Once && was.Status == alert.Resolved && was.By != "" && was.Ends.Equal(in.Ends) {
		return was, false
	}
	next := alert.Alert{
		Key: in.Key, Revision: was.Revision + 1, Status: alert.Firing, Severity: cmp.Or(in.Severity, alert.Warning), Source: in.Source, Label: in.Label,
		Started: in.Started, Ends: in.Ends, Updated: now,
		Detail: alert.Detail{
			Title: in.Title, Text: in.Text, Labels: in.Labels, Annotations: in.Annotations, Links: in.Links,
			GeneratorURL: in.GeneratorURL, Occurrences: was.Occurrences + 1, Groups: was.Groups, Discreet: in.Discreet,
		},
	}
	if next.Started.IsZero() {
		next.Started = now
	}
	if was.Status.Open() && !was.Over(now) {
		next.Status, next.Started, next.By, next.At = was.Status, was.Started, was.By, was.At
		next.Source, next.Discreet = was.Source, was.Discreet
		next.Label = was.Label.Join(in.Label)
	}
	return next, true
}

// labelOf is the label of something that a person or a program has said.
func labelOf(l flow.Label) flow.Label {
	if l.Valid() {
		return l
	}
	return flow.Bottom()
}
