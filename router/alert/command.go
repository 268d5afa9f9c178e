package alert

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/internal/alert"
	"sluice/internal/visible"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/request"
	"sluice/sessions"
)

// Caller is who gives a chat command, and where.
type Caller struct {
	Actor    string // a principal
	Owner    bool
	MaxLevel flow.Level // of the token of a program; otherwise the highest level
	Route    sessions.Route
	// Show gives a text if the conversation may carry it.
	Show func(flow.Text) (string, bool)
}

// MayCommand reports whether somebody who isn't an owner may give a command: operators all of them, and everybody in a
// conversation where an alert was posted may acknowledge it there.
func (a *Alerts) MayCommand(ctx context.Context, name, args string, c Caller) (bool, error) {
	plan := a.plan.Load()
	switch {
	case plan == nil:
		return false, nil
	case c.Owner || slices.Contains(plan.Operators, c.Actor):
		return true, nil
	case name != "ack":
		return false, nil
	}
	found, err := a.named(ctx, strings.TrimSpace(args), c.MaxLevel, a.knownBy(c))
	if _, bad := errors.AsType[*request.Error](err); bad {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for i := range found {
		here, err := a.postedAt(ctx, &found[i], c.Route, true)
		if err != nil || !here {
			return false, err
		}
	}
	return true, nil
}

// knownBy says which alerts the giver of a command may know: those that the conversation may show, and those of which it was
// told that they are withheld. Otherwise a command could be used to guess the keys of alerts.
func (a *Alerts) knownBy(c Caller) Knows {
	return func(ctx context.Context, x *alert.Alert) (bool, error) {
		if _, ok := c.Show(flow.NewText(alert.Line(x), x.Label)); ok {
			return true, nil
		}
		return a.postedAt(ctx, x, c.Route, true)
	}
}

// ShownAt reports whether a message about an alert stands in a conversation, and is not withheld there.
func (a *Alerts) ShownAt(ctx context.Context, x *alert.Alert, route sessions.Route) (bool, error) {
	return a.postedAt(ctx, x, route, false)
}

// postedAt reports whether a conversation was told of an alert, or, if that counts, that one is withheld.
func (a *Alerts) postedAt(ctx context.Context, x *alert.Alert, route sessions.Route, withheld bool) (bool, error) {
	for _, key := range x.Groups {
		g, err := a.Groups.AlertGroup(ctx, key)
		if errors.Is(err, sessions.ErrNotFound) {
			continue
		}
		if err != nil {
			return false, fmt.Errorf("read group of alerts: %w", err)
		}
		for _, post := range g.Posts {
			if post.Withheld && !withheld {
				continue
			}
			d, err := a.Store.Delivery(ctx, ledger.DeliveryID(post.Delivery))
			if errors.Is(err, sessions.ErrNotFound) {
				continue
			}
			if err != nil {
				return false, fmt.Errorf("read delivery: %w", err)
			}
			if d.Route.Channel == route.Channel && d.Route.Account == route.Account && d.Route.Conversation == route.Conversation {
				return true, nil
			}
		}
	}
	return false, nil
}

// commandLasts is how long /silence lasts without a duration.
const commandLasts = time.Hour

// Command works out what a chat command does. The caller has asked [Alerts.MayCommand].
func (a *Alerts) Command(ctx context.Context, name, args string, c Caller) (ledger.Change, string, error) {
	if a.plan.Load() == nil {
		return ledger.Change{}, "Alerts are not configured.", nil
	}
	if name == "alerts" {
		text, err := a.listed(ctx, c)
		return ledger.Change{}, text, err
	}
	args = strings.TrimSpace(args)
	var (
		change ledger.Change
		text   string
		err    error
	)
	switch {
	case args == "":
		return ledger.Change{}, fmt.Sprintf("Usage: `/%s KEY`. `/alerts` lists the alerts.", name), nil
	case name == "silence":
		change, text, err = a.silenceCommand(ctx, args, c)
	default:
		change, text, err = a.orderCommand(ctx, name, args, c)
	}
	if bad, ok := errors.AsType[*request.Error](err); ok {
		return ledger.Change{}, fmt.Sprintf("That did not work: %s.", visible.Line(bad.Text)), nil
	}
	return change, text, err
}

// listed lists the open alerts that the conversation may know.
func (a *Alerts) listed(ctx context.Context, c Caller) (string, error) {
	var b strings.Builder
	hidden, shown, looked, now := 0, 0, 0, a.Now()
	q := alert.Query{Open: true, MaxLevel: c.MaxLevel, Limit: pageRead}
	for looked < lookMax && shown <= listMax {
		rows, err := a.Store.ListAlerts(ctx, q)
		if err != nil {
			return "", fmt.Errorf("read alerts: %w", err)
		}
		for i := range rows {
			x := &rows[i]
			if x.Over(now) {
				continue
			}
			line, ok := c.Show(flow.NewText(alert.Line(x)+" "+visible.CodeSpan(x.Key), x.Label))
			switch {
			case !ok && x.Discreet: // not even counted
			case !ok:
				hidden++
			default:
				if shown++; shown <= listMax {
					b.WriteString(line + "\n")
				}
			}
		}
		if looked += len(rows); len(rows) < q.Limit {
			break
		}
		q.After = rows[len(rows)-1].Key
	}
	if shown > listMax {
		b.WriteString("… and more: `sluice alerts list` shows all.\n")
	}
	if hidden > 0 {
		fmt.Fprintf(&b, "%d withheld here.\n", hidden)
	}
	if b.Len() == 0 {
		return "No alert is open.", nil
	}
	return strings.TrimSpace(b.String()), nil
}

const (
	listMax = 30    // alerts that /alerts lists
	lookMax = 1_000 // alerts that it looks through for them
)

func (a *Alerts) orderCommand(ctx context.Context, name, args string, c Caller) (ledger.Change, string, error) {
	o := Order{Action: alert.Acknowledge, Name: args, Actor: c.Actor, Label: flow.Bottom(), MaxLevel: c.MaxLevel, Knows: a.knownBy(c)}
	done := "Acknowledged"
	if name == "resolve" {
		o.Action, done = alert.Resolve, "Resolved"
	}
	change, changed, err := a.Ordered(ctx, o)
	if err != nil {
		return ledger.Change{}, "", err
	}
	if len(changed) == 0 {
		return ledger.Change{}, "Somebody has acknowledged it already.", nil
	}
	return change, fmt.Sprintf("%s %s.", done, alert.Count(len(changed))), nil
}

func (a *Alerts) silenceCommand(ctx context.Context, args string, c Caller) (ledger.Change, string, error) {
	name, lasts := args, commandLasts
	unread := "" // a last word that is no duration
	if i := strings.LastIndexByte(args, ' '); i > 0 {
		if d, err := time.ParseDuration(args[i+1:]); err == nil {
			name, lasts = strings.TrimSpace(args[:i]), d
		} else {
			unread = args[i+1:]
		}
	}
	found, err := a.named(ctx, name, c.MaxLevel, a.knownBy(c))
	if bad, ok := errors.AsType[*request.Error](err); ok && unread != "" {
		err = &request.Error{Field: bad.Field, Text: fmt.Sprintf("%s, and %q is not a duration such as 2h or 30m", bad.Text, unread)}
	}
	if err != nil {
		return ledger.Change{}, "", err
	}
	var change ledger.Change
	for _, x := range found {
		one, _, err := a.Silenced(ctx, alert.Silence{Ends: a.Now().Add(lasts), Label: x.Label, SilenceDetail: alert.SilenceDetail{
			Matchers: []alert.Matcher{{Name: "key", Value: x.Key, IsEqual: true}}, Author: c.Actor, Reach: c.MaxLevel,
		}}, c.Actor)
		if err != nil {
			return ledger.Change{}, "", err
		}
		change.Silences, change.Audit = append(change.Silences, one.Silences...), append(change.Audit, one.Audit...)
	}
	return change, fmt.Sprintf("Silenced %s until %s.", alert.Count(len(found)), a.Now().Add(lasts).UTC().Format("2 Jan 15:04 MST")), nil
}
