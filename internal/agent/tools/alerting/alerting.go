// Package alerting has the tools with which an agent reports alerts and answers for them.
//
// Who is told of an alert is decided by the routes of the configuration. The tools add who the caller is, what it may know and
// what others may see of what it does: an alert has the label of the session that reports it; it is read at its own level or
// above, and changed at its own level only, so that no change tells anything. Alerts of agents are discreet: a place that may not
// know one is not told that there is one, and they keep no other alert quiet.
package alerting

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"sluice/internal/agent/tools"
	"sluice/internal/alert"
	"sluice/policy"
	"sluice/policy/flow"
	router "sluice/router/alert"
	"sluice/router/request"
	"sluice/sessions"
)

// Alerts takes alerts in and shows them, see [router.Alerts].
type Alerts interface {
	Receive(ctx context.Context, reports []alert.Incoming) error
	Page(ctx context.Context, w router.Wanted) (found []router.Listed, after string, err error)
	Find(ctx context.Context, name string, most flow.Level) (alert.Alert, error)
	Obey(ctx context.Context, o router.Order) ([]alert.Alert, error)
	ShownAt(ctx context.Context, x *alert.Alert, route sessions.Route) (bool, error)
}

// Tools are the tools.
type Tools struct {
	Alerts Alerts
	Now    func() time.Time
}

const (
	listMax = 50
	openMax = 50 // open alerts of one agent
	// The annotations that name the session that has reported an alert, and what it calls it.
	sessionNote = "session"
	nameNote    = "name"
)

type fireArgs struct {
	Key      string            `json:"key" jsonschema:"a short name of the trouble, such as backup-db1; the same key again is the same alert" bounds:"minLength=1,maxLength=80"`
	Severity string            `json:"severity,omitempty" jsonschema:"default warning; critical wakes people" bounds:"enum=critical|error|warning|info"`
	Title    string            `json:"title" jsonschema:"what has happened, in one line" bounds:"minLength=1,maxLength=512"`
	Text     string            `json:"text,omitempty" jsonschema:"what people need to know" bounds:"maxLength=8192"`
	Labels   map[string]string `json:"labels,omitempty" jsonschema:"such as service: db, by which people are chosen"`
	For      string            `json:"for,omitempty" jsonschema:"expires after this time unless you report it again, such as 2h; default: when it is resolved"`
}

type listArgs struct {
	Status string `json:"status,omitempty" jsonschema:"default open" bounds:"enum=open|all|firing|acknowledged|resolved|expired"`
	Filter string `json:"filter,omitempty" jsonschema:"matchers of labels, key, severity and source, such as severity=\"critical\",service=~\"db.*\"" bounds:"maxLength=500"`
	After  string `json:"after,omitempty" jsonschema:"the key after which to go on"`
}

type keyArgs struct {
	Key string `json:"key" jsonschema:"of the alert, or its short name al-… that a message shows" bounds:"minLength=1,maxLength=255"`
}

// All gives the tools.
func (ts *Tools) All() []sessions.Tool {
	return []sessions.Tool{
		changing("alert_fire", "Reports trouble to the people who answer for it, until somebody acknowledges it. Use it for what can't wait until somebody reads your reply.", ts.fire, fireBeyond),
		tools.New(sessions.Tool{
			Spec: sessions.ToolSpec{Name: "alert_list", Description: "Lists the alerts that you may know of, the latest first."},
			Flow: sessions.ToolFlow{Reads: sessions.FlowSession, Writes: sessions.FlowNone}, Idempotent: true,
		}, tools.Work[listArgs]{Run: ts.list}),
		changing("alert_ack", "Acknowledges an alert: somebody takes care of it, and nobody else is notified.", ts.order(alert.Acknowledge), ts.beyond),
		changing("alert_resolve", "Says that an alert is over.", ts.order(alert.Resolve), ts.beyond),
	}
}

// changing is a tool that changes an alert. What people are told is decided about when it is sent.
func changing[A any](name, about string, run func(context.Context, tools.Call[A]) (sessions.ToolResult, error), beyond func(context.Context, tools.Call[A]) (bool, error)) sessions.Tool {
	return tools.New(sessions.Tool{
		Spec: sessions.ToolSpec{Name: name, Description: about},
		Flow: sessions.ToolFlow{Reads: sessions.FlowSession, Writes: sessions.FlowDelivery}, Idempotent: true,
	}, tools.Work[A]{Run: run, Beyond: beyond})
}

// fireBeyond: an alert reaches people outside the conversation. A session without people may reach those that the configuration
// names.
func fireBeyond(_ context.Context, call tools.Call[fireArgs]) (bool, error) {
	key := call.Caller.Key
	alone := []sessions.KeyKind{sessions.KindCron, sessions.KindHook, sessions.KindNode}
	return !key.SubAgent() && !slices.Contains(alone, key.Kind(sessions.Keyer{})), nil
}

// source is the agent as the source of alerts.
func source(caller sessions.Caller) string { return "agent/" + caller.Agent }

func (ts *Tools) fire(ctx context.Context, call tools.Call[fireArgs]) (sessions.ToolResult, error) {
	caller, args := call.Caller, call.Args
	report := alert.Incoming{
		Severity: alert.Severity(args.Severity), Title: args.Title, Text: args.Text, Labels: map[string]string{},
		Annotations: map[string]string{sessionNote: string(caller.Session), nameNote: args.Key}, Source: source(caller), Label: caller.Taint, Discreet: true,
	}
	maps.Copy(report.Labels, args.Labels)
	report.Labels["agent"] = caller.Agent
	if args.For != "" {
		lasts, err := time.ParseDuration(args.For)
		if err != nil || lasts <= 0 {
			return sessions.ToolResult{}, fmt.Errorf("for: %q is not a time such as 30m or 2h", args.For)
		}
		report.Ends = ts.Now().Add(lasts)
	}
	var err error
	if report.Key, err = ts.keyOf(ctx, caller, args.Key); err != nil {
		return sessions.ToolResult{}, err
	}
	if err := ts.Alerts.Receive(ctx, []alert.Incoming{report}); err != nil {
		return sessions.ToolResult{}, fault("report alert", err)
	}
	return said(caller.Taint, map[string]any{"fired": true, "key": report.Key})
}

// keyOf is the key of an agent's alert. Above PUBLIC it says nothing, because keys are in logs and commands, and each level of a
// session has alerts of its own, so that no alert of a lower level changes. It refuses one more open alert of an agent that has
// many.
func (ts *Tools) keyOf(ctx context.Context, caller sessions.Caller, name string) (string, error) {
	own, err := alert.Compile([]alert.Matcher{{Name: "source", Value: source(caller), IsEqual: true}})
	if err != nil {
		return "", tools.Inside("match alerts", err)
	}
	open, _, err := ts.Alerts.Page(ctx, router.Wanted{Matchers: own, MaxLevel: caller.Taint.Level(), Limit: openMax})
	if err != nil {
		return "", tools.Inside("list alerts", err)
	}
	level := caller.Taint.Level()
	key := source(caller) + "/" + name
	if level != flow.Public {
		key = source(caller) + "/" + uuid.NewString()
	}
	for i := range open {
		x := &open[i].Alert
		if x.Key == key || level != flow.Public && mine(caller, x) && x.Annotations[nameNote] == name && x.Label.Level() == level {
			return x.Key, nil
		}
	}
	if len(open) == openMax {
		return "", fmt.Errorf("you have %d open alerts, the most that an agent may have: resolve some with alert_resolve", openMax)
	}
	return key, nil
}

// order is the work of a tool that changes the state of an alert.
func (ts *Tools) order(action alert.Action) func(ctx context.Context, call tools.Call[keyArgs]) (sessions.ToolResult, error) {
	return func(ctx context.Context, call tools.Call[keyArgs]) (sessions.ToolResult, error) {
		caller := call.Caller
		x, err := ts.find(ctx, caller, call.Args.Key)
		if err != nil {
			return sessions.ToolResult{}, err
		}
		switch level := x.Label.Level(); {
		case !policy.CallerOf(caller).MayTell(policy.CheckAlertsChange, level):
			return sessions.ToolResult{}, fmt.Errorf("key: this conversation has learned %s information, and the alert is %s: an owner can answer for it with /ack and /resolve in another conversation; %s",
				caller.Taint.Level(), level, policy.StartOverHint(level))
		case !mine(caller, &x) && !caller.Owner:
			return sessions.ToolResult{}, errors.New("key: only an owner may have you answer for an alert that you have not reported here")
		case x.Over(ts.Now()):
			return sessions.ToolResult{}, errors.New("key: the alert is over")
		}
		_, err = ts.Alerts.Obey(ctx, router.Order{Action: action, Name: x.Key, Actor: "agent:" + caller.Agent, Label: caller.Taint, MaxLevel: x.Label.Level()})
		if err != nil {
			return sessions.ToolResult{}, fault("change alert", err)
		}
		return said(caller.Taint, map[string]any{"done": true, "key": x.Key})
	}
}

// beyond reports whether a call is about an alert that others have reported.
func (ts *Tools) beyond(ctx context.Context, call tools.Call[keyArgs]) (bool, error) {
	x, err := ts.find(ctx, call.Caller, call.Args.Key)
	if err != nil {
		return false, tools.FaultIn(err)
	}
	return !mine(call.Caller, &x), nil
}

// mine reports whether the caller's session has reported an alert.
func mine(caller sessions.Caller, x *alert.Alert) bool {
	return x.Source == source(caller) && x.Annotations[sessionNote] == string(caller.Session)
}

// sees reports whether an alert is for a caller's eyes, whatever its level is.
func (ts *Tools) sees(ctx context.Context, caller sessions.Caller, x *alert.Alert) (bool, error) {
	if mine(caller, x) || caller.Audience == sessions.AudienceOwner {
		return true, nil
	}
	shown, err := ts.Alerts.ShownAt(ctx, x, caller.Route)
	if err != nil {
		return false, tools.Inside("read alert's messages", err)
	}
	return shown, nil
}

// find is an alert that the caller may know of. One that is hidden is as unknown as one that is absent.
func (ts *Tools) find(ctx context.Context, caller sessions.Caller, key string) (alert.Alert, error) {
	unknown := fmt.Errorf("key: there is no alert %q; alert_list shows those that you may know of", key)
	x, err := ts.Alerts.Find(ctx, key, flow.Restricted)
	switch {
	case errors.Is(err, sessions.ErrNotFound):
		return x, unknown
	case err != nil:
		return x, tools.Inside("read alert", err)
	}
	seen, err := ts.sees(ctx, caller, &x)
	switch {
	case err != nil:
		return alert.Alert{}, err
	case !seen || !policy.CallerOf(caller).May(policy.CheckAlertsSee, x.Label) || tools.HiddenFrom(caller.Reader, x.Label):
		caller.Trail.Add(sessions.AuditEntry{
			At: ts.Now(), Actor: "agent:" + caller.Agent, Action: string(policy.CheckAlertsSee) + ".denied", Object: alert.Ref(x.Key), Session: caller.Session,
			Label: x.Label.Join(caller.Taint), Detail: map[string]string{"call": caller.CallID},
		})
		return alert.Alert{}, unknown
	}
	return x, nil
}

// row is an alert as a model sees it.
type row struct {
	Key            string            `json:"key"`
	Status         alert.Status      `json:"status"`
	Severity       alert.Severity    `json:"severity"`
	Source         string            `json:"source"`
	Title          string            `json:"title,omitempty"`
	Text           string            `json:"text,omitempty"`
	Labels         map[string]string `json:"labels,omitempty"`
	Links          []alert.Link      `json:"links,omitempty"`
	Started        string            `json:"started"`
	Occurrences    int               `json:"occurrences"`
	By             string            `json:"by,omitempty"`
	Silenced       bool              `json:"silenced,omitempty"`
	Classification flow.Level        `json:"classification"`
}

func (ts *Tools) list(ctx context.Context, call tools.Call[listArgs]) (sessions.ToolResult, error) {
	caller, label := call.Caller, flow.Bottom()
	wanted := router.Wanted{Status: call.Args.Status, MaxLevel: level(caller), After: call.Args.After, Limit: listMax}
	if call.Args.Filter != "" {
		var err error
		if wanted.Matchers, err = alert.ParseMatchers(call.Args.Filter); err != nil {
			return sessions.ToolResult{}, fmt.Errorf("filter: %w", err)
		}
	}
	out := struct {
		Alerts []row  `json:"alerts"`
		More   string `json:"after,omitempty"` // where the next page begins
	}{Alerts: []row{}}
	for {
		found, after, err := ts.Alerts.Page(ctx, wanted)
		if err != nil {
			return sessions.ToolResult{}, tools.Inside("list alerts", err)
		}
		for i := range found {
			x := &found[i]
			seen, err := ts.sees(ctx, caller, &x.Alert)
			if err != nil {
				return sessions.ToolResult{}, err
			}
			if !seen || !policy.CallerOf(caller).May(policy.CheckAlertsSee, x.Label) {
				continue
			}
			label = label.Join(x.Label)
			out.Alerts = append(out.Alerts, row{
				Key: x.Key, Status: x.Status, Severity: x.Severity, Source: x.Source, Title: x.Title, Text: x.Text, Labels: x.Labels, Links: x.Links,
				Started: x.Started.UTC().Format(time.RFC3339), Occurrences: x.Occurrences, By: x.By, Silenced: len(x.Silences) > 0, Classification: x.Label.Level(),
			})
		}
		if after == "" || len(out.Alerts) > 0 {
			if after != "" { // of an alert that the caller sees: the last key of the page may be hidden
				out.More = out.Alerts[len(out.Alerts)-1].Key
			}
			return said(label, out)
		}
		wanted.After = after
	}
}

// level is the highest level that a caller reads.
func level(caller sessions.Caller) flow.Level {
	if policy.CheckAlertsSee.Skipped() {
		return flow.Restricted
	}
	if caller.Reader.Valid() {
		return flow.Min(caller.Taint.Level(), caller.Reader)
	}
	return caller.Taint.Level()
}

// fault lets a model read what is wrong with its call, and nothing else.
func fault(what string, err error) error {
	if wrong, ok := errors.AsType[*request.Error](err); ok {
		return wrong
	}
	if errors.Is(err, router.ErrOff) {
		return router.ErrOff
	}
	return tools.Inside(what, err)
}

func said(label flow.Label, v any) (sessions.ToolResult, error) {
	text, err := tools.JSON(v)
	return sessions.ToolResult{Text: text, Label: label}, err
}
