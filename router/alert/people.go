package alert

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"sluice/internal/alert"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/request"
	"sluice/sessions"
)

// Order is what a person or a program with a token does to alerts.
type Order struct {
	Action   alert.Action // Acknowledge or Resolve
	Name     string       // an alert's key or short name, or "g:" and a group's key
	Actor    string       // a principal
	Label    flow.Label   // of the actor's name
	MaxLevel flow.Level   // alerts above it count as missing
	Knows    Knows        // if set, alerts that it refuses count as missing too
}

// Knows reports whether somebody may know an alert.
type Knows func(ctx context.Context, x *alert.Alert) (bool, error)

// GroupName is the prefix of a group's key where an alert's key is expected.
const GroupName = "g:"

// errNoAlert refuses an order about an alert that does not exist or that its giver may not know.
func errNoAlert(name string) error {
	return &request.Error{Field: "key", Text: fmt.Sprintf("no open alert is called %q", name)}
}

// named finds the open alerts of a name, of those that somebody may know.
func (a *Alerts) named(ctx context.Context, name string, most flow.Level, knows Knows) ([]alert.Alert, error) {
	var found []alert.Alert
	var err error
	group, isGroup := strings.CutPrefix(name, GroupName)
	switch {
	case isGroup:
		found, err = a.Groups.GroupAlerts(ctx, group, alert.ListMax)
	case strings.HasPrefix(name, alert.RefPrefix):
		found, err = a.byRef(ctx, name, most)
	default:
		found, err = a.Store.AlertsByKey(ctx, []string{name})
	}
	if err != nil {
		return nil, fmt.Errorf("read alerts: %w", err)
	}
	now := a.Now()
	found = slices.DeleteFunc(found, func(x alert.Alert) bool { return x.Over(now) || !x.Label.FlowsTo(most) })
	if knows != nil {
		var fault error
		found = slices.DeleteFunc(found, func(x alert.Alert) bool {
			ok, err := knows(ctx, &x)
			fault = errors.Join(fault, err)
			return !ok
		})
		if fault != nil {
			return nil, fault
		}
	}
	switch {
	case len(found) == 0:
		return nil, errNoAlert(name)
	case len(found) > 1 && !isGroup:
		return nil, errShared(name, len(found))
	}
	return found, nil
}

// errShared refuses a short name that several alerts have. Whoever reports alerts chooses their keys, and so can make this happen.
func errShared(name string, n int) error {
	return &request.Error{Field: "key", Text: fmt.Sprintf("%d open alerts are called %q: use the key of one", n, name)}
}

// byRef finds the open alerts that have a short name, or a key that looks like one.
func (a *Alerts) byRef(ctx context.Context, name string, most flow.Level) ([]alert.Alert, error) {
	found, err := a.Store.ListAlerts(ctx, alert.Query{Open: true, MaxLevel: most, Ref: name})
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(x alert.Alert) bool { return alert.Ref(x.Key) != name })
	like, err := a.Store.AlertsByKey(ctx, []string{name})
	for _, x := range like {
		if x.Status.Open() && x.Label.FlowsTo(most) && alert.Ref(x.Key) != name {
			found = append(found, x)
		}
	}
	return found, err
}

// Ordered is the change that an order makes, for the caller to store, and the alerts that it changes.
func (a *Alerts) Ordered(ctx context.Context, o Order) (ledger.Change, []alert.Alert, error) {
	var change ledger.Change
	plan := a.plan.Load()
	if plan == nil {
		return change, nil, ErrOff
	}
	found, err := a.named(ctx, o.Name, o.MaxLevel, o.Knows)
	if err != nil {
		return change, nil, err
	}
	now := a.Now()
	for _, next := range found {
		if o.Action == alert.Acknowledge && next.Status == alert.Acknowledged {
			continue
		}
		next.Revision, next.Updated, next.By, next.At = next.Revision+1, now, o.Actor, now
		next.Label = next.Label.Join(labelOf(o.Label))
		next.Status = alert.Acknowledged
		if o.Action == alert.Resolve {
			next.Status, next.Ended = alert.Resolved, now
		}
		a.add(&change, plan, next, true)
		change.Audit = append(change.Audit, sessions.AuditEntry{
			At: now, Actor: o.Actor, Action: "alert." + string(o.Action), Object: alert.Ref(next.Key), Label: next.Label, Detail: map[string]string{"key": next.Key},
		})
	}
	return change, change.Alerts, nil
}

// Obey carries an order out. It returns the alerts that it has changed.
func (a *Alerts) Obey(ctx context.Context, o Order) ([]alert.Alert, error) {
	for range receiveTry {
		change, changed, err := a.Ordered(ctx, o)
		if err != nil || len(changed) == 0 {
			return nil, err
		}
		err = a.Lanes.Commit(ctx, change)
		if errors.Is(err, sessions.ErrConflict) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("store alerts: %w", err)
		}
		return changed, nil
	}
	return nil, fmt.Errorf("store alerts: %w: others keep changing them", sessions.ErrConflict)
}

// silenceMax is how long a silence may last.
const silenceMax = 366 * 24 * time.Hour

// Silenced is the change by which an actor, a principal, stores a silence, and the silence. An id that is set replaces the
// silence, as in Alertmanager: an expired one, or one with other matchers, stays as it is, and a new one is made. The silence's
// author is what the request says; the audit trail names the actor. Its reach is the actor's clearance, also if it replaces one of
// somebody who may know more.
func (a *Alerts) Silenced(ctx context.Context, s alert.Silence, actor string) (ledger.Change, alert.Silence, error) {
	now := a.Now()
	compiled, err := alert.Compile(s.Matchers)
	switch {
	case a.plan.Load() == nil:
		return ledger.Change{}, s, ErrOff
	case err != nil:
		return ledger.Change{}, s, &request.Error{Field: "matchers", Text: err.Error()}
	case len(s.Matchers) == 0 || compiled.Matches(nil):
		return ledger.Change{}, s, &request.Error{Field: "matchers", Text: "want at least one matcher that does not match an empty label: this silence would keep every alert quiet"}
	case s.Author == "" || actor == "":
		return ledger.Change{}, s, &request.Error{Field: "author", Text: "is missing"}
	case !s.Ends.After(now) || !s.Ends.After(s.Starts):
		return ledger.Change{}, s, &request.Error{Field: "ends", Text: "want a time in the future, after the start"}
	case s.Ends.Sub(now) > silenceMax:
		return ledger.Change{}, s, &request.Error{Field: "ends", Text: "want a time within a year"}
	}
	if s.Starts.IsZero() || s.Starts.Before(now) {
		s.Starts = now
	}
	s.Label, s.Revision, s.Updated = labelOf(s.Label), 1, now
	if s.ID != "" {
		was, err := a.Store.Silence(ctx, s.ID)
		switch {
		case errors.Is(err, sessions.ErrNotFound):
			return ledger.Change{}, s, err
		case err != nil:
			return ledger.Change{}, s, fmt.Errorf("read silence: %w", err)
		case was.Ends.After(now) && slices.Equal(was.Matchers, s.Matchers):
			s.Revision, s.Label = was.Revision+1, was.Label.Join(s.Label)
			if was.Starts.Before(now) {
				s.Starts = was.Starts
			}
		default:
			s.ID = ""
		}
	}
	if s.ID == "" {
		s.ID = uuid.NewString()
	}
	return a.silences(s, actor, "silence.set"), s, nil
}

func (a *Alerts) silences(s alert.Silence, actor, action string) ledger.Change {
	var change ledger.Change
	change.Silences = []alert.Silence{s}
	change.Audit = []sessions.AuditEntry{{
		At: s.Updated, Actor: actor, Action: action, Object: s.ID, Label: s.Label, Detail: map[string]any{"matchers": s.Matchers, "ends": s.Ends, "author": s.Author},
	}}
	return change
}

// SetSilence stores a silence, see [Alerts.Silenced]. It returns its id.
func (a *Alerts) SetSilence(ctx context.Context, s alert.Silence, actor string) (string, error) {
	change, stored, err := a.Silenced(ctx, s, actor)
	if err != nil {
		return "", err
	}
	if err := a.Lanes.Commit(ctx, change); err != nil {
		return "", fmt.Errorf("store silence: %w", err)
	}
	return stored.ID, nil
}

// ExpireSilence ends a silence now. It returns ErrNotFound if the reader may not know one of this id.
func (a *Alerts) ExpireSilence(ctx context.Context, id, actor string, most flow.Level) error {
	s, err := a.Silence(ctx, id, most)
	if err != nil {
		return err
	}
	now := a.Now()
	if !s.Ends.After(now) {
		return &request.Error{Field: "id", Text: "this silence has expired already"}
	}
	s.Revision, s.Ends, s.Updated = s.Revision+1, now, now
	if s.Starts.After(now) {
		s.Starts = now
	}
	if err := a.Lanes.Commit(ctx, a.silences(s, actor, "silence.expired")); err != nil {
		return fmt.Errorf("store silence: %w", err)
	}
	return nil
}
