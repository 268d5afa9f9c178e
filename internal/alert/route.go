package alert

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/alertmanager/matcher/parse"
	"github.com/prometheus/alertmanager/pkg/labels"
	"github.com/prometheus/alertmanager/timeinterval"
)

// Matchers select alerts: all of them must match. A missing label is an empty one.
type Matchers []*labels.Matcher

// ParseMatchers reads matchers as Alertmanager writes them, for example `severity="critical"` or `host=~"db.*"`.
func ParseMatchers(texts ...string) (Matchers, error) {
	var all Matchers
	for _, text := range texts {
		some, err := parse.Matchers(text)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", text, err)
		}
		all = append(all, some...)
	}
	return all, nil
}

// Matches reports whether all matchers match.
func (m Matchers) Matches(set map[string]string) bool {
	for _, one := range m {
		if !one.Matches(set[one.Name]) {
			return false
		}
	}
	return true
}

// Plain are the matchers as they are stored.
func (m Matchers) Plain() []Matcher {
	all := make([]Matcher, len(m))
	for i, one := range m {
		all[i] = Matcher{
			Name: one.Name, Value: one.Value, IsRegex: one.Type == labels.MatchRegexp || one.Type == labels.MatchNotRegexp,
			IsEqual: one.Type == labels.MatchEqual || one.Type == labels.MatchRegexp,
		}
	}
	return all
}

// Compile reads stored matchers.
func Compile(all []Matcher) (Matchers, error) {
	compiled := make(Matchers, len(all))
	for i, m := range all {
		kind := labels.MatchNotEqual
		switch {
		case m.IsRegex && m.IsEqual:
			kind = labels.MatchRegexp
		case m.IsRegex:
			kind = labels.MatchNotRegexp
		case m.IsEqual:
			kind = labels.MatchEqual
		}
		one, err := labels.NewMatcher(kind, m.Name, m.Value)
		if err != nil {
			return nil, fmt.Errorf("matcher of %s: %w", m.Name, err)
		}
		compiled[i] = one
	}
	return compiled, nil
}

// Intervals are times, for example nights and weekends.
type Intervals []timeinterval.TimeInterval

// Contain reports whether a time is in one of the intervals.
func (i Intervals) Contain(at time.Time) bool {
	return slices.ContainsFunc(i, func(t timeinterval.TimeInterval) bool { return t.ContainsTime(at) })
}

// intervalMax bounds how far ahead [Intervals.End] looks.
const intervalMax = 7 * 24 * time.Hour

// End is the first minute after a time that is in none of the intervals, at most a week later.
func (i Intervals) End(at time.Time) time.Time {
	next := at.Truncate(time.Minute)
	for next.Sub(at) < intervalMax {
		next = next.Add(time.Minute)
		if !i.Contain(next) {
			break
		}
	}
	return next
}

// Route is a node of the tree that leads alerts to receivers. The root has no matchers.
type Route struct {
	Path           string // position in the tree, for example "0/2"
	Matchers       Matchers
	Receiver       string
	GroupBy        []string // names of labels; "..." is all of them
	Continue       bool     // look at the siblings below too
	GroupWait      time.Duration
	GroupInterval  time.Duration
	RepeatInterval time.Duration
	Mute           Intervals // nothing is told in these times
	Active         Intervals // if not nil: nothing is told outside of them
	Routes         []*Route
}

// Match are the deepest routes that an alert takes: the first matching child of each node, and more if it continues.
func (r *Route) Match(set map[string]string) []*Route {
	if !r.Matchers.Matches(set) {
		return nil
	}
	var all []*Route
	for _, child := range r.Routes {
		some := child.Match(set)
		all = append(all, some...)
		if len(some) > 0 && !child.Continue {
			break
		}
	}
	if len(all) == 0 {
		return []*Route{r}
	}
	return all
}

// Find finds a route by its path; nil if the tree has none.
func (r *Route) Find(path string) *Route {
	if r.Path == path {
		return r
	}
	for _, child := range r.Routes {
		if found := child.Find(path); found != nil {
			return found
		}
	}
	return nil
}

// Quiet reports whether the route tells nothing at a time.
func (r *Route) Quiet(at time.Time) bool {
	return r.Mute.Contain(at) || r.Active != nil && !r.Active.Contain(at)
}

// Group is the group of an alert on this route: its key, and the labels that its alerts have in common.
func (r *Route) Group(set map[string]string) (key string, common map[string]string) {
	common = map[string]string{}
	if slices.Contains(r.GroupBy, "...") {
		maps.Copy(common, set)
	} else {
		for _, name := range r.GroupBy {
			if value, ok := set[name]; ok {
				common[name] = value
			}
		}
	}
	hash := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(common)) {
		fmt.Fprintf(hash, "%d:%s%d:%s", len(name), name, len(common[name]), common[name])
	}
	return r.Receiver + "." + strings.ReplaceAll(r.Path, "/", "-") + "." + hex.EncodeToString(hash.Sum(nil)[:8]), common
}

// Inhibition keeps target alerts quiet while a source alert is open, if both have the same values of some labels.
type Inhibition struct {
	Source, Target Matchers
	Equal          []string
}

// Applies reports whether an open source alert keeps a target alert quiet.
func (i Inhibition) Applies(source, target map[string]string) bool {
	if !i.Target.Matches(target) || !i.Source.Matches(source) {
		return false
	}
	if i.Source.Matches(target) && i.Target.Matches(source) {
		return false // an alert that is both keeps neither itself nor its like quiet
	}
	return !slices.ContainsFunc(i.Equal, func(name string) bool { return source[name] != target[name] })
}

// SourceSeverities are the severities of alerts that may keep others quiet; nil: any.
func SourceSeverities(all []Inhibition) (some []Severity) {
	for _, one := range Severities() {
		if slices.ContainsFunc(all, func(i Inhibition) bool {
			return !slices.ContainsFunc(i.Source, func(m *labels.Matcher) bool { return m.Name == "severity" && !m.Matches(string(one)) })
		}) {
			some = append(some, one)
		}
	}
	if len(some) == len(Severities()) {
		return nil
	}
	return some
}

// Step is a step of an escalation.
type Step struct {
	Wait   time.Duration // after the step before had a receipt
	Notify []string      // names of targets
	Repeat int           // of the last step: how often it is repeated
}

// Receiver is who is told: everybody of a step at once, then the next step unless somebody acknowledges.
type Receiver struct {
	Name  string
	Steps []Step // at least one
}

// Target is a place where notifications go.
type Target struct {
	Name    string // as configured
	Channel string // empty: the first owner's direct chat
	Account string
	To      string // a conversation's id, or "owner"
	Thread  string
}

// Budget is how many new messages a target gets in a time. Zero: any number.
type Budget struct {
	Max int
	Per time.Duration
}

// BudgetDefault is the budget if the configuration sets none.
const BudgetDefault = "20/1h"

// ParseBudget reads a budget such as "20/1h", or "unlimited". Empty is [BudgetDefault].
func ParseBudget(text string) (Budget, error) {
	switch text {
	case "":
		text = BudgetDefault
	case "unlimited":
		return Budget{}, nil
	}
	most, per, ok := strings.Cut(text, "/")
	n, err := strconv.Atoi(most)
	d, fault := time.ParseDuration(per)
	if !ok || err != nil || fault != nil || n < 1 || d < time.Minute {
		return Budget{}, fmt.Errorf("%q: want a number of messages and a time of at least 1m, for example 20/1h, or unlimited", text)
	}
	return Budget{Max: n, Per: d}, nil
}

// Plan is what the configuration says about alerts.
type Plan struct {
	Root           *Route
	Receivers      map[string]*Receiver
	Targets        map[string]Target
	Inhibitions    []Inhibition
	Quiet          Intervals // hold back everything but critical alerts
	ResolveTimeout time.Duration
	Budget         Budget
	Operators      []string // principals who may silence and resolve, beside the owners
}
