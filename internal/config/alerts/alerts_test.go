package alerts_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/alert"
	"sluice/internal/config/alerts"
	"sluice/internal/config/automation"
	"sluice/internal/config/scalar"
)

func read(a alerts.Alerts) (*alert.Plan, map[string]string) {
	faults := map[string]string{}
	plan := alerts.Plan(a, automation.Reader{
		Targets: automation.Targets{"ops": {Channel: "test", To: "C1"}}, Channel: func(string) error { return nil },
		Report: func(path, text string) { faults[path] = text },
	})
	return plan, faults
}

func base() alerts.Alerts {
	a := alerts.Default()
	a.Route.Receiver = "ops"
	a.Receivers = []alerts.Receiver{{Name: "ops", Targets: []string{"ops"}}}
	return a
}

func TestRoutesInherit(t *testing.T) {
	t.Parallel()
	a := base()
	a.Route.GroupBy = []string{"key"}
	a.Receivers = append(a.Receivers, alerts.Receiver{Name: "oncall", Escalation: []alerts.Step{{Notify: []string{"owner"}}, {Wait: scalar.Duration(time.Minute), Notify: []string{"ops"}, Repeat: 2}}})
	a.TimeIntervals = []alerts.TimeInterval{{Name: "nights", TimeIntervals: []alerts.Interval{{Times: []alerts.Range{{StartTime: "22:00", EndTime: "24:00"}}, Location: "Europe/Berlin"}}}}
	a.MuteTimeIntervals = []string{"nights"}
	a.Route.Routes = []alerts.Branch{{
		Node:   alerts.Node{Matchers: []string{`severity="critical"`}, Receiver: "oncall", Continue: true},
		Routes: []alerts.Twig{{Node: alerts.Node{Matchers: []string{`host=~"db.*"`}, GroupWait: scalar.Wait(time.Second)}}},
	}, {Node: alerts.Node{Matchers: []string{`host="db1"`}, GroupWait: scalar.NoWait}}}
	plan, faults := read(a)
	require.Empty(t, faults)
	var paths []string
	for _, r := range plan.Root.Match(map[string]string{"severity": "critical", "host": "db1"}) {
		paths = append(paths, r.Path+" "+r.Receiver+" "+r.GroupWait.String())
	}
	require.Equal(t, []string{"0/0/0 oncall 1s", "0/1 ops 0s"}, paths)
	require.Equal(t, []string{"key"}, plan.Root.Routes[0].Routes[0].GroupBy)
	require.Equal(t, "0", plan.Root.Match(map[string]string{"severity": "info"})[0].Path)
	require.True(t, plan.Quiet.Contain(time.Date(2027, 1, 15, 21, 30, 0, 0, time.UTC)), "22:30 in Berlin")
	require.False(t, plan.Quiet.Contain(time.Date(2027, 7, 15, 22, 30, 0, 0, time.UTC)), "00:30 in Berlin")
	require.Equal(t, alert.Target{Name: "ops", Channel: "test", To: "C1"}, plan.Targets["ops"])

	off, faults := read(alerts.Default())
	require.Nil(t, off)
	require.Empty(t, faults)
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for path, change := range map[string]func(a *alerts.Alerts){
		"alerts.route.receiver": func(a *alerts.Alerts) { a.Route.Receiver = "nobody" },
		"alerts.route.matchers": func(a *alerts.Alerts) { a.Route.Matchers = []string{"a=b"} },
		"alerts.route.routes[0].matchers": func(a *alerts.Alerts) {
			a.Route.Routes = []alerts.Branch{{Node: alerts.Node{Matchers: []string{"a=~("}}}}
		},
		"alerts.route.routes[0].receiver":             func(a *alerts.Alerts) { a.Route.Routes = []alerts.Branch{{Node: alerts.Node{Receiver: "x"}}} },
		"alerts.route":                                func(a *alerts.Alerts) { a.Route.RepeatInterval = scalar.Duration(time.Second) },
		"alerts.receivers[0]":                         func(a *alerts.Alerts) { a.Receivers[0].Escalation = []alerts.Step{{Notify: []string{"ops"}}} },
		"alerts.receivers[0].escalation[0].notify[0]": func(a *alerts.Alerts) { a.Receivers[0].Targets = []string{"nowhere"} },
		"alerts.receivers[1].name":                    func(a *alerts.Alerts) { a.Receivers = append(a.Receivers, a.Receivers[0]) },
		"alerts.mute_time_intervals[0]":               func(a *alerts.Alerts) { a.MuteTimeIntervals = []string{"nights"} },
		"alerts.time_intervals[0].time_intervals[0]": func(a *alerts.Alerts) {
			a.TimeIntervals = []alerts.TimeInterval{{Name: "n", TimeIntervals: []alerts.Interval{{Weekdays: []string{"someday"}}}}}
		},
		"alerts.inhibit_rules[0]": func(a *alerts.Alerts) { a.InhibitRules = []alerts.InhibitRule{{}} },
		"alerts.budget.perTarget": func(a *alerts.Alerts) { a.Budget.PerTarget = "many" },
		"alerts.operators[0]":     func(a *alerts.Alerts) { a.Operators = []string{"ann"} },
	} {
		a := base()
		change(&a)
		_, faults := read(a)
		require.Contains(t, faults, path)
	}
	for path, a := range map[string]alerts.Alerts{ // while alerts are off, too
		"alerts.budget.perTarget":       {Budget: alerts.Budget{PerTarget: "5"}},
		"alerts.mute_time_intervals[0]": {MuteTimeIntervals: []string{"nights"}},
		"alerts.operators[0]":           {Operators: []string{"ann"}},
	} {
		plan, faults := read(a)
		require.Nil(t, plan)
		require.Contains(t, faults, path)
	}
}
