package router_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	alert_tools "sluice/internal/agent/tools/alerting"
	"sluice/internal/alert"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/sessions"
)

// alertTool lets a caller use a tool of alerts.
func (b *bundle) alertTool(by sessions.Caller, name, args string) (string, error) {
	b.t.Helper()
	all := (&alert_tools.Tools{Alerts: b.Router.Alerts(), Now: time.Now}).All()
	i := slices.IndexFunc(all, func(t sessions.Tool) bool { return t.Spec.Name == name })
	require.GreaterOrEqual(b.t, i, 0, name)
	result, err := all[i].Run(context.Background(), by, json.RawMessage(args))
	return result.Text, err
}

// alarmed is the key of the alert that a call of alert_fire reports.
func (b *bundle) alarmed(by sessions.Caller, args string) string {
	b.t.Helper()
	text, err := b.alertTool(by, "alert_fire", args)
	require.NoError(b.t, err)
	var made struct{ Key string }
	require.NoError(b.t, json.Unmarshal([]byte(text), &made))
	return made.Key
}

// publicOnly lets ann hear only what is PUBLIC.
func publicOnly(b *bundle) {
	b.gate.forbid = func(e policy.Egress) *policy.Decision {
		if e.Route.Conversation == "ann" && e.Label.Level() != flow.Public {
			return &policy.Decision{Action: policy.Block, Reason: "too secret"}
		}
		return nil
	}
}

// An agent reports an alert at its session's label, and answers for it.
func TestAgentReportsAlerts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, toAnn(nil))
		agent := annsAgent()
		text, err := b.alertTool(agent, "alert_fire", `{"key":"disk","severity":"critical","title":"Disk full","labels":{"service":"db"},"for":"3h"}`)
		require.NoError(t, err)
		require.JSONEq(t, `{"fired":true,"key":"agent/main/disk"}`, text)
		pass(time.Minute)
		require.Equal(t, []string{"**CRITICAL** Disk full"}, b.alarms("ann"))
		x := mustAlert(b, "agent/main/disk")
		require.Equal(t, []any{agent.Taint, "agent/main", "main", time.Now().Add(3*time.Hour - time.Minute).UTC()}, []any{x.Label, x.Source, x.Labels["agent"], x.Ends.UTC()})
		text, err = b.alertTool(agent, "alert_list", `{"filter":"severity=critical"}`)
		require.NoError(t, err)
		require.Contains(t, text, `"key":"agent/main/disk"`)
		_, err = b.alertTool(agent, "alert_ack", `{"key":"`+alert.Ref("agent/main/disk")+`"}`)
		require.NoError(t, err)
		require.Equal(t, alert.Acknowledged, mustAlert(b, "agent/main/disk").Status)
		require.Equal(t, "agent:main", mustAlert(b, "agent/main/disk").By)
		_, err = b.alertTool(agent, "alert_resolve", `{"key":"agent/main/disk"}`)
		require.NoError(t, err)
		_, err = b.alertTool(agent, "alert_resolve", `{"key":"agent/main/disk"}`)
		require.ErrorContains(t, err, "over")
		_, err = b.alertTool(agent, "alert_fire", `{"key":"a","title":"b","for":"soon"}`)
		require.ErrorContains(t, err, "30m")
		for i := range 50 {
			_, err = b.alertTool(agent, "alert_fire", fmt.Sprintf(`{"key":"n%d","title":"b"}`, i))
			require.NoError(t, err)
		}
		_, err = b.alertTool(agent, "alert_fire", `{"key":"n50","title":"b"}`)
		require.ErrorContains(t, err, "50 open alerts")
		_, err = b.alertTool(agent, "alert_fire", `{"key":"n49","title":"c"}`)
		require.NoError(t, err, "one of them again")
		b.Router.Alerts().Configure(nil)
		_, err = b.alertTool(agent, "alert_fire", `{"key":"n49","title":"c"}`)
		require.ErrorContains(t, err, "alerts.route")
	})
}

func toAnn(change func(p *alert.Plan)) func(*bundle) {
	return alerting(change, alert.Step{Notify: []string{"ann"}})
}

// What a session at CONFIDENTIAL reports leaves no trace at a PUBLIC place, and changes nothing that is seen there.
func TestAgentsAlertsAreDiscreet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, publicOnly, toAnn(func(p *alert.Plan) {
			source, err := alert.ParseMatchers(`severity="critical"`)
			require.NoError(t, err)
			target, err := alert.ParseMatchers(`severity="error"`)
			require.NoError(t, err)
			p.Inhibitions = []alert.Inhibition{{Source: source, Target: target}}
		}))
		low, high := annsAgent(), annsAgent()
		high.Session, high.Taint = "sess_000000000002", flow.NewLabel(flow.Confidential, flow.Trusted)
		disk := b.alarmed(high, `{"key":"disk","severity":"critical","title":"secret","labels":{"service":"db"}}`)
		require.Regexp(t, `^agent/main/[0-9a-f-]{36}$`, disk, "the key says nothing")
		require.Equal(t, disk, b.alarmed(high, `{"key":"disk","severity":"critical","title":"secret","labels":{"service":"db"}}`))
		b.report(firing("one", alert.Error))
		pass(time.Minute)
		require.Equal(t, []string{"**ERROR** one is down"}, b.alarms("ann"), "neither withheld, nor in its group, nor kept quiet by it")
		require.Equal(t, []string{"ann first failed", "owner escalation queued"}, b.notes(disk), "the owner may know it")
		require.Len(t, b.chat.texts("owner"), 1)

		_, err := b.alertTool(high, "alert_ack", `{"key":"one"}`)
		require.ErrorContains(t, err, "/new")
		for _, tool := range []string{"alert_ack", "alert_resolve"} {
			_, hidden := b.alertTool(low, tool, `{"key":"`+disk+`"}`)
			_, absent := b.alertTool(low, tool, `{"key":"nothing"}`)
			require.ErrorContains(t, hidden, "there is no alert")
			require.ErrorContains(t, absent, "there is no alert")
		}
		text, err := b.alertTool(low, "alert_list", `{"status":"all"}`)
		require.NoError(t, err)
		require.NotContains(t, text, disk)
		require.Contains(t, text, `"key":"one"`)
		text, err = b.alertTool(high, "alert_list", `{}`)
		require.NoError(t, err)
		require.Contains(t, text, disk)
		pass(10 * time.Hour)
		for _, said := range b.chat.texts("ann") {
			require.NotContains(t, said, "withheld")
		}
	})
}

// In the conversation of a guest an agent knows only the alerts that it has reported there.
func TestGuestsAgentKnowsItsOwnAlerts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, toAnn(nil))
		guest := annsAgent()
		guest.Session, guest.Owner, guest.Audience = "sess_000000000003", false, ""
		b.report(firing("one", alert.Error))
		_, err := b.alertTool(annsAgent(), "alert_fire", `{"key":"mine","title":"x"}`)
		require.NoError(t, err)
		_, err = b.alertTool(guest, "alert_fire", `{"key":"own","title":"x"}`)
		require.NoError(t, err)
		text, err := b.alertTool(guest, "alert_list", `{}`)
		require.NoError(t, err)
		require.NotContains(t, text, "one")
		require.NotContains(t, text, "mine")
		_, err = b.alertTool(guest, "alert_ack", `{"key":"one"}`)
		require.ErrorContains(t, err, "there is no alert")
		_, err = b.alertTool(guest, "alert_ack", `{"key":"agent/main/own"}`)
		require.NoError(t, err)
		text, err = b.alertTool(guest, "alert_list", `{}`)
		require.NoError(t, err)
		require.NotContains(t, text, `"key":"one"`, "its message is not posted yet")
		pass(time.Minute)
		text, err = b.alertTool(guest, "alert_list", `{}`)
		require.NoError(t, err)
		require.Contains(t, text, `"key":"one"`, "everybody there can read it")
		_, err = b.alertTool(guest, "alert_ack", `{"key":"one"}`)
		require.ErrorContains(t, err, "only an owner")
		guest.Route.Conversation = "elsewhere"
		_, err = b.alertTool(guest, "alert_ack", `{"key":"one"}`)
		require.ErrorContains(t, err, "there is no alert")
		stranger := annsAgent()
		stranger.Owner = false
		_, err = b.alertTool(stranger, "alert_resolve", `{"key":"one"}`)
		require.ErrorContains(t, err, "only an owner")
	})
}

// A digest tells a place of what it may know, and says nothing about discreet alerts.
func TestDigestsAreDiscreet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, publicOnly, toAnn(func(p *alert.Plan) {
			p.Root.GroupBy, p.Budget = []string{"..."}, alert.Budget{Max: 1, Per: time.Hour}
		}))
		high := annsAgent()
		high.Taint = flow.NewLabel(flow.Confidential, flow.Trusted)
		b.report(firing("a", alert.Error))
		pass(time.Minute)
		b.report(firing("b", alert.Error))
		_, err := b.alertTool(high, "alert_fire", `{"key":"disk","title":"secret"}`)
		require.NoError(t, err)
		pass(3 * time.Hour)
		require.Equal(t, []string{"**ERROR** a is down", "Held back until now: 1 alert.\n\n- **ERROR** b is down"}, b.alarms("ann"))
	})
}
