package alert

import (
	"testing"
	"time"

	"github.com/prometheus/alertmanager/timeinterval"
	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
)

var noon = time.Date(2027, time.January, 15, 12, 0, 0, 0, time.UTC)

func testScene(steps ...Step) Scene {
	receiver := &Receiver{Name: "ops", Steps: steps}
	route := &Route{Path: "0", Receiver: "ops", GroupWait: 30 * time.Second, GroupInterval: 5 * time.Minute, RepeatInterval: 4 * time.Hour}
	return Scene{
		Plan:  &Plan{Root: route, Receivers: map[string]*Receiver{"ops": receiver}},
		Route: route, Receiver: receiver, Group: Group{Key: "g", Open: true, Due: noon, Earliest: noon, Label: flow.Bottom()}, Now: noon,
		Hushed: func(*Alert, time.Time) bool { return false }, Arrival: func(string) Arrival { return Pending },
		Alerts: []Alert{{Key: "a", Status: Firing, Severity: Error, Label: flow.Bottom(), Started: noon}},
	}
}

// after is the scene with what was decided, at a later time.
func (s Scene) after(d Decision, wait time.Duration) Scene {
	s.Group, s.Now = d.Group, s.Now.Add(wait)
	return s
}

// A step that reaches nobody is followed at once, the last one by the owner.
func TestStepsWithoutReceipt(t *testing.T) {
	t.Parallel()
	s := testScene(Step{Notify: []string{"ann"}}, Step{Wait: time.Hour, Notify: []string{"bob"}})
	d := Decide(s)
	require.Equal(t, []Send{{Target: "ann", Reason: First, Step: 1}}, d.Sends)
	require.Equal(t, noon.Add(firstLook), d.Group.Due)
	s = s.after(d, firstLook)
	d = Decide(s)
	require.Equal(t, []Send{{Target: "bob", Reason: Escalation, Step: 2}}, d.Sends, "no delivery counts for the step")
	require.NotEmpty(t, d.Failed)
	d.Group.Step.Notes = []string{"dlv_1"}
	s = s.after(d, firstLook)
	d = Decide(s)
	require.Empty(t, d.Sends, "it may still arrive")
	s = s.after(d, stepWithin)
	d = Decide(s)
	require.Equal(t, []Send{{Target: OwnerTarget, Reason: Escalation, Step: 3}}, d.Sends)
	d = Decide(s.after(d, time.Minute))
	require.Empty(t, d.Sends)
	require.Equal(t, noon.Add(5*time.Minute), d.Group.Earliest)
}

// An alert leaves a group in which it is not reported any more, and one that stays open a day after it is over.
func TestAlertsLeaveAnOpenGroup(t *testing.T) {
	t.Parallel()
	s := testScene(Step{Notify: []string{"ann"}})
	s.Alerts = append(s.Alerts, Alert{Key: "b", Status: Firing, Severity: Error, Label: flow.Bottom(), Started: noon, Detail: Detail{Groups: []string{"g"}}},
		Alert{Key: "c", Status: Firing, Severity: Error, Label: flow.Bottom(), Started: noon, Detail: Detail{Groups: []string{"g"}}})
	s.Arrival = func(string) Arrival { return Arrived }
	d := Decide(s)
	d.Group.Step.Notes, d.Group.Posts = []string{"dlv_1"}, map[string]Post{"ann": {Delivery: "dlv_1"}}
	s = s.after(d, 5*time.Minute)
	s.Alerts[1].Status, s.Alerts[1].Ended = Resolved, s.Now
	d = Decide(s)
	require.Equal(t, SomeResolved, d.Sends[0].Reason)
	require.Empty(t, d.Leave)
	s = s.after(d, shownFor)
	s.Alerts[2].Groups = []string{"other"}
	d = Decide(s)
	require.Equal(t, []string{"c"}, d.Leave)
	s = s.after(d, time.Second)
	s.Alerts = s.Alerts[:2]
	d = Decide(s)
	require.Equal(t, []string{"b"}, d.Leave)
	require.Equal(t, map[string]Status{"a": Firing}, d.Group.Told.Alerts)
	require.True(t, d.Group.Open)
}

// A message that shows an old state is edited when it has arrived.
func TestStaleMessageIsEditedOnceItArrives(t *testing.T) {
	t.Parallel()
	s := testScene(Step{Notify: []string{"ann"}})
	s.Alerts[0].Status = Acknowledged
	s.Group.Told = Told{At: noon, Alerts: map[string]Status{"a": Acknowledged}}
	s.Group.Posts = map[string]Post{"ann": {Delivery: "dlv_1", Stale: true}}
	d := Decide(s)
	require.Empty(t, d.Sends)
	require.Equal(t, noon.Add(lastLook), d.Group.Due)
	s = s.after(d, lastLook)
	s.Arrival = func(string) Arrival { return Arrived }
	require.Equal(t, []Send{{Target: "ann", Edit: true}}, Decide(s).Sends)
}

// A silenced group says something at the first look after its silence, however far ahead that is.
func TestNextMessageAfterASilence(t *testing.T) {
	t.Parallel()
	s := testScene(Step{Notify: []string{"ann"}})
	begins, ends := noon.Add(-time.Hour), noon.Add(49*time.Hour+time.Minute)
	s.Hushed = func(_ *Alert, at time.Time) bool { return !at.Before(begins) && at.Before(ends) }
	s.HushChange = func(after time.Time) time.Time {
		if after.Before(ends) {
			return ends
		}
		return time.Time{}
	}
	next, ok := Next(s)
	require.True(t, ok)
	require.Equal(t, Upcoming{At: noon.Add(49*time.Hour + 5*time.Minute), Reason: First, Step: 1, Targets: []string{"ann"}}, next)
	s.HushChange = func(time.Time) time.Time { return time.Time{} }
	s.Hushed = func(*Alert, time.Time) bool { return true }
	_, ok = Next(s)
	require.False(t, ok, "inhibited for as long as one can tell")
}

// A route that tells nothing at present is looked at in between: only the ends of silences are known beforehand.
func TestNextMessageAfterAMutedTime(t *testing.T) {
	t.Parallel()
	s := testScene(Step{Notify: []string{"ann"}})
	s.Route.Mute = Intervals{{Times: []timeinterval.TimeRange{{StartMinute: 11 * 60, EndMinute: 14 * 60}}}}
	s.HushChange = func(time.Time) time.Time { return time.Time{} }
	next, ok := Next(s)
	require.True(t, ok)
	require.Equal(t, Upcoming{At: noon.Add(2 * time.Hour), Reason: First, Step: 1, Targets: []string{"ann"}}, next)
}

// The next message is what the group would say if nothing changed: the first one, then a step of the escalation, then reminders.
func TestNextMessage(t *testing.T) {
	t.Parallel()
	s := testScene(Step{Notify: []string{"ann", "bob"}}, Step{Wait: time.Hour, Notify: []string{"bob"}})
	s.Group.Due, s.Group.Earliest = noon.Add(30*time.Second), noon.Add(30*time.Second)
	next, ok := Next(s)
	require.True(t, ok)
	require.Equal(t, Upcoming{At: noon.Add(30 * time.Second), Reason: First, Step: 1, Targets: []string{"ann", "bob"}}, next)
	told := s
	told.Now = s.Group.Due
	told.Arrival = func(string) Arrival { return Arrived }
	d := Decide(told)
	d.Group.Step.Notes, d.Group.Posts = []string{"dlv_1"}, map[string]Post{"ann": {Delivery: "dlv_1"}}
	told = told.after(d, time.Second)
	told.Arrival = func(string) Arrival { return Pending }
	next, ok = Next(told)
	require.True(t, ok)
	require.Equal(t, Upcoming{At: noon.Add(time.Hour + 32*time.Second), Reason: Escalation, Step: 2, Targets: []string{"bob"}}, next, "an hour after the receipt")

	told.Group.Step.Next = 2
	next, ok = Next(told)
	require.True(t, ok)
	require.Equal(t, Upcoming{At: noon.Add(4*time.Hour + 30*time.Second), Reason: Repeat, Step: 2, Targets: []string{"ann", "bob"}}, next)
	told.Alerts[0].Ends = noon.Add(2 * time.Hour)
	next, ok = Next(told)
	require.True(t, ok)
	require.Equal(t, Upcoming{At: noon.Add(2 * time.Hour), Reason: AllResolved, Targets: []string{"ann"}}, next, "it expires before the reminder")
	require.Equal(t, Firing, told.Alerts[0].Status, "looking ahead changes nothing")
	told.Alerts[0].Ends, told.Alerts[0].Status = time.Time{}, Acknowledged
	told.Group.Told.Alerts = map[string]Status{"a": Acknowledged}
	_, ok = Next(told)
	require.False(t, ok, "somebody answers for it")
	s.Hushed = func(*Alert, time.Time) bool { return true }
	_, ok = Next(s)
	require.False(t, ok, "it is silenced")
}
