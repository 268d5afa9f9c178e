// Package alerts has the part of the configuration that says who is notified about alerts: routes, receivers and times.
package alerts

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/internal/alert"
	"sluice/internal/config/automation"
	"sluice/internal/config/scalar"
)

// Alerts says who is notified about alerts. The words are Alertmanager's.
type Alerts struct {
	Route             Route           `yaml:"route" doc:"The root of the routes. Every alert matches it. Alerts are on if it has a receiver."`
	Receivers         []Receiver      `yaml:"receivers" doc:"Who is notified."`
	TimeIntervals     []TimeInterval  `yaml:"time_intervals" doc:"Times by names of your choice."`
	MuteTimeIntervals []string        `yaml:"mute_time_intervals" doc:"Quiet hours: names from time_intervals. In these times only critical alerts are sent; the rest comes as one digest for each target afterwards."`
	InhibitRules      []InhibitRule   `yaml:"inhibit_rules" doc:"Alerts that keep others quiet."`
	ResolveTimeout    scalar.Duration `yaml:"resolve_timeout" doc:"How long an alert of Alertmanager's API lasts that has no end and is not repeated. Default: 5m."`
	Budget            Budget          `yaml:"budget" doc:"How much a target gets."`
	Operators         []string        `yaml:"operators" doc:"People who may silence and resolve alerts, beside the owners: <channel>:<user id>."`
}

// Budget bounds new messages.
type Budget struct {
	PerTarget string `yaml:"perTarget" doc:"New messages for each target, for example 20/1h. What exceeds it comes as one summary. Critical alerts are exempt; unlimited turns the limit off. Default: 20/1h."`
}

// Node are the settings that all routes have.
type Node struct {
	Receiver            string          `yaml:"receiver" doc:"Name of a receiver. Default: that of the route above."`
	Matchers            []string        `yaml:"matchers" doc:"All must match, for example severity=\"critical\" or host=~\"db.*\". Labels are the sender's, and key, severity and source."`
	GroupBy             []string        `yaml:"group_by" doc:"Labels whose values alerts of one message share; ... for all labels. Default: that of the route above, else one group for all alerts."`
	Continue            bool            `yaml:"continue" doc:"Look at the routes below this one in the list too."`
	GroupWait           scalar.Wait     `yaml:"group_wait" doc:"How long a new group waits for more alerts; 0s sends it at once. Default: 30s."`
	GroupInterval       scalar.Duration `yaml:"group_interval" doc:"How long a group waits before it reports a change. Default: 5m."`
	RepeatInterval      scalar.Duration `yaml:"repeat_interval" doc:"After this time a group that nobody has acknowledged is sent again. Default: 4h."`
	MuteTimeIntervals   []string        `yaml:"mute_time_intervals" doc:"Names of times in which this route sends nothing, not even critical alerts."`
	ActiveTimeIntervals []string        `yaml:"active_time_intervals" doc:"Names of the only times in which this route sends something."`
}

// Route is the root of the tree.
type Route struct {
	Node   `yaml:",inline"`
	Routes []Branch `yaml:"routes" doc:"Routes below this one. An alert takes the first that matches."`
}

// Branch is a route below the root.
type Branch struct {
	Node   `yaml:",inline"`
	Routes []Twig `yaml:"routes" doc:"Routes below this one."`
}

// Twig is a route below a branch.
type Twig struct {
	Node   `yaml:",inline"`
	Routes []Leaf `yaml:"routes" doc:"Routes below this one. They can't have routes below them."`
}

// Leaf is a route without routes below it.
type Leaf struct {
	Node `yaml:",inline"`
}

// Receiver is who is notified: all targets at once, or one step after the other.
type Receiver struct {
	Name       string   `yaml:"name" doc:"Required."`
	Targets    []string `yaml:"targets" doc:"All are notified at once: owner, a name from targets, or <channel>:<conversation>[:<thread>]."`
	Escalation []Step   `yaml:"escalation" doc:"Steps instead of targets. Acknowledging ends them."`
}

// Step is a step of an escalation.
type Step struct {
	Wait   scalar.Duration `yaml:"wait" doc:"Time after the previous step. If no target of a step has a receipt, the next step follows at once."`
	Notify []string        `yaml:"notify" doc:"Required. Who is notified, as targets."`
	Repeat int             `yaml:"repeat" min:"0" max:"100" doc:"Of the last step: how often it is repeated."`
}

// TimeInterval names times.
type TimeInterval struct {
	Name          string     `yaml:"name" doc:"Required."`
	TimeIntervals []Interval `yaml:"time_intervals" doc:"Required. The times, as Alertmanager has them."`
}

// Interval is a set of times. What is left out does not restrict it.
type Interval struct {
	Times       []Range  `yaml:"times" doc:"Parts of a day."`
	Weekdays    []string `yaml:"weekdays" doc:"For example monday:friday."`
	DaysOfMonth []string `yaml:"days_of_month" doc:"For example 1:5 or -3:-1."`
	Months      []string `yaml:"months" doc:"For example january:march."`
	Years       []string `yaml:"years" doc:"For example 2027:2028."`
	Location    string   `yaml:"location" doc:"IANA name of the time zone. Default: UTC."`
}

// Range is a part of a day.
type Range struct {
	StartTime string `yaml:"start_time" json:"start_time" doc:"For example 22:00."`
	EndTime   string `yaml:"end_time" json:"end_time" doc:"For example 24:00. A range can't go past midnight: write two."`
}

// InhibitRule keeps target alerts quiet while a source alert is open.
type InhibitRule struct {
	SourceMatchers []string `yaml:"source_matchers" doc:"Required. What the other alert is like."`
	TargetMatchers []string `yaml:"target_matchers" doc:"Required. What is kept quiet."`
	Equal          []string `yaml:"equal" doc:"Labels that must have the same values in both."`
}

// Default are the times that count where the file gives none.
func Default() Alerts {
	return Alerts{
		Route:          Route{Node: Node{GroupWait: scalar.Wait(30 * time.Second), GroupInterval: scalar.Duration(5 * time.Minute), RepeatInterval: scalar.Duration(4 * time.Hour)}},
		ResolveTimeout: scalar.Duration(5 * time.Minute),
	}
}

// Plan reads the settings; nil if alerts are off. It reports faults as the jobs do.
func Plan(a Alerts, targets automation.Reader) *alert.Plan {
	return reader{a, targets, targets.Report}.plan()
}

// reader turns the settings into a plan.
type reader struct {
	Alerts  Alerts
	targets automation.Reader
	Report  func(path, text string)
}

func (r reader) plan() *alert.Plan {
	a := r.Alerts
	p := &alert.Plan{
		Receivers: map[string]*alert.Receiver{}, Targets: map[string]alert.Target{}, ResolveTimeout: a.ResolveTimeout.Std(),
		Operators: a.Operators,
	}
	times := r.times()
	p.Quiet = r.named("alerts.mute_time_intervals", a.MuteTimeIntervals, times)
	var err error
	if p.Budget, err = alert.ParseBudget(a.Budget.PerTarget); err != nil {
		r.Report("alerts.budget.perTarget", err.Error())
	}
	for i, who := range a.Operators {
		if channel, id, ok := strings.Cut(who, ":"); !ok || channel == "" || id == "" {
			r.Report(fmt.Sprintf("alerts.operators[%d]", i), fmt.Sprintf("%q: want <channel>:<user id>", who))
		}
	}
	if a.Route.Receiver == "" { // alerts are off
		if len(a.Receivers)+len(a.Route.Routes)+len(a.InhibitRules) > 0 {
			r.Report("alerts.route.receiver", "is missing: name one of receivers")
		}
		return nil
	}
	r.receivers(p)
	if len(a.Route.Matchers) > 0 {
		r.Report("alerts.route.matchers", "the root matches every alert: move them to a route below it")
	}
	p.Root = r.route("alerts.route", tree(a.Route), alert.Route{Path: "0"}, times)
	r.check(p.Root, "alerts.route", p)
	for i, rule := range a.InhibitRules {
		path := fmt.Sprintf("alerts.inhibit_rules[%d]", i)
		in := alert.Inhibition{Source: r.matchers(path+".source_matchers", rule.SourceMatchers), Target: r.matchers(path+".target_matchers", rule.TargetMatchers), Equal: rule.Equal}
		if len(in.Source) == 0 || len(in.Target) == 0 {
			r.Report(path, "want source_matchers and target_matchers")
		}
		p.Inhibitions = append(p.Inhibitions, in)
	}
	return p
}

// node is a route of any depth.
type node struct {
	Node
	below []node
}

func tree(r Route) node {
	n := node{Node: r.Node}
	for _, b := range r.Routes {
		branch := node{Node: b.Node}
		for _, t := range b.Routes {
			twig := node{Node: t.Node}
			for _, l := range t.Routes {
				twig.below = append(twig.below, node{Node: l.Node})
			}
			branch.below = append(branch.below, twig)
		}
		n.below = append(n.below, branch)
	}
	return n
}

// route reads a route and those below it. What it leaves out is as in above.
func (r reader) route(path string, n node, above alert.Route, times map[string]alert.Intervals) *alert.Route {
	route := &alert.Route{
		Path: above.Path, Matchers: r.matchers(path+".matchers", n.Matchers), Receiver: cmp.Or(n.Receiver, above.Receiver), GroupBy: above.GroupBy, Continue: n.Continue,
		GroupWait: n.GroupWait.Or(above.GroupWait), GroupInterval: cmp.Or(n.GroupInterval.Std(), above.GroupInterval),
		RepeatInterval: cmp.Or(n.RepeatInterval.Std(), above.RepeatInterval),
		Mute:           r.named(path+".mute_time_intervals", n.MuteTimeIntervals, times), Active: r.named(path+".active_time_intervals", n.ActiveTimeIntervals, times),
	}
	if len(n.GroupBy) > 0 {
		route.GroupBy = n.GroupBy
	}
	for i, below := range n.below {
		inherited := *route
		inherited.Path = fmt.Sprintf("%s/%d", route.Path, i)
		route.Routes = append(route.Routes, r.route(fmt.Sprintf("%s.routes[%d]", path, i), below, inherited, times))
	}
	return route
}

// check reports routes without a receiver, and times that make no sense.
func (r reader) check(route *alert.Route, path string, p *alert.Plan) {
	if p.Receivers[route.Receiver] == nil {
		r.Report(path+".receiver", fmt.Sprintf("no receiver %q: add it to alerts.receivers", route.Receiver))
	}
	if route.GroupInterval < time.Second || route.RepeatInterval < route.GroupInterval {
		r.Report(path, "want a group_interval of at least 1s, and a repeat_interval that is not shorter")
	}
	for i, below := range route.Routes {
		r.check(below, fmt.Sprintf("%s.routes[%d]", path, i), p)
	}
}

func (r reader) matchers(path string, texts []string) alert.Matchers {
	all, err := alert.ParseMatchers(texts...)
	if err != nil {
		r.Report(path, err.Error())
	}
	return all
}

// receivers reads the receivers and their targets.
func (r reader) receivers(p *alert.Plan) {
	for i, of := range r.Alerts.Receivers {
		path := fmt.Sprintf("alerts.receivers[%d]", i)
		steps := of.Escalation
		switch {
		case of.Name == "" || p.Receivers[of.Name] != nil || strings.ContainsAny(of.Name, "/. "):
			r.Report(path+".name", fmt.Sprintf("%q: want a name that no other receiver has, without spaces, dots and slashes", of.Name))
		case (len(of.Targets) > 0) == (len(steps) > 0):
			r.Report(path, "want either targets or an escalation")
		}
		if len(of.Targets) > 0 {
			steps = []Step{{Notify: of.Targets}}
		}
		receiver := &alert.Receiver{Name: of.Name}
		for j, step := range steps {
			at := fmt.Sprintf("%s.escalation[%d]", path, j)
			if len(step.Notify) == 0 {
				r.Report(at+".notify", "is missing: say who is notified")
			}
			if step.Repeat > 0 && j < len(steps)-1 {
				r.Report(at+".repeat", "only the last step can be repeated")
			}
			if step.Repeat > 0 && step.Wait == 0 {
				r.Report(at+".wait", "a step that is repeated needs a wait")
			}
			for _, t := range r.targets.Places(at+".notify", step.Notify) {
				p.Targets[t.Name] = alert.Target{Name: t.Name, Channel: t.Channel, Account: t.Account, To: t.To, Thread: t.Thread}
			}
			receiver.Steps = append(receiver.Steps, alert.Step{Wait: step.Wait.Std(), Notify: slices.Clone(step.Notify), Repeat: step.Repeat})
		}
		if len(receiver.Steps) > 0 {
			p.Receivers[of.Name] = receiver
		}
	}
}

// times reads the named times.
func (r reader) times() map[string]alert.Intervals {
	all := map[string]alert.Intervals{}
	for i, named := range r.Alerts.TimeIntervals {
		path := fmt.Sprintf("alerts.time_intervals[%d]", i)
		if _, twice := all[named.Name]; twice || named.Name == "" {
			r.Report(path+".name", fmt.Sprintf("%q: want a name that no other time interval has", named.Name))
		}
		intervals := alert.Intervals{}
		for j, one := range named.TimeIntervals {
			interval, err := one.read()
			if err != nil {
				r.Report(fmt.Sprintf("%s.time_intervals[%d]", path, j), err.Error())
			}
			intervals = append(intervals, interval...)
		}
		all[named.Name] = intervals
	}
	return all
}

// read turns an interval into Alertmanager's, which reads the same words.
func (i Interval) read() (alert.Intervals, error) {
	words := map[string]any{}
	if len(i.Times) > 0 {
		words["times"] = i.Times
	}
	for name, list := range map[string][]string{"weekdays": i.Weekdays, "days_of_month": i.DaysOfMonth, "months": i.Months, "years": i.Years} {
		if len(list) > 0 {
			words[name] = list
		}
	}
	if i.Location != "" {
		words["location"] = i.Location
	}
	raw, err := json.Marshal([]any{words})
	if err != nil {
		return nil, fmt.Errorf("write interval: %w", err)
	}
	var read alert.Intervals
	if err := json.Unmarshal(raw, &read); err != nil {
		return nil, fmt.Errorf("want times as Alertmanager has them: %w", err)
	}
	return read, nil
}

// named finds times by their names; nil if there are no names.
func (r reader) named(path string, names []string, times map[string]alert.Intervals) alert.Intervals {
	var all alert.Intervals
	for i, name := range names {
		some, ok := times[name]
		if !ok {
			r.Report(fmt.Sprintf("%s[%d]", path, i), fmt.Sprintf("no time %q: add it to alerts.time_intervals", name))
		}
		all = append(all, some...)
	}
	return all
}
