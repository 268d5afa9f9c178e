package policy_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy"
	"sluice/policy/flow"
	"sluice/sessions"
)

func clock() time.Time { return time.Unix(0, 0) }

// A decision records each check that it made, with what it compared, whether the check forbade anything or not.
func TestAskRecordsEachCheck(t *testing.T) {
	t.Parallel()
	internal, confidential := flow.NewLabel(flow.Internal, flow.Trusted), flow.NewLabel(flow.Confidential, flow.Trusted)
	looked := func(rule string, matched bool, action policy.Action, detail string) policy.CheckResult {
		return policy.CheckResult{Rule: rule, Matched: matched, Action: action, Detail: detail}
	}
	sink := func(matched bool, session string) policy.CheckResult {
		return looked("flow", matched, policy.Block, "session "+session+", mcp_crm_find INTERNAL")
	}
	clearance := func(matched bool, clearance string) policy.CheckResult {
		return looked("clearance", matched, policy.Block, "source INTERNAL, clearance "+clearance)
	}
	rise := func(matched bool, action policy.Action, carries string) policy.CheckResult {
		return looked("escalation", matched, action, "source INTERNAL, conversation "+carries)
	}
	for name, c := range map[string]struct {
		taint     flow.Label
		clearance flow.Level
		carries   flow.Level
		escalate  policy.Escalation
		approved  bool
		want      policy.Action
		reason    string
		rules     []policy.CheckResult
		terms     bool
	}{
		"nothing forbids it": {
			internal, flow.Restricted, flow.Internal, policy.EscalationAsk, false, policy.Allow, "nothing forbids it",
			[]policy.CheckResult{sink(false, "INTERNAL"), clearance(false, "RESTRICTED"), rise(false, policy.Hold, "INTERNAL")},
			false,
		},
		"the server may not be told": {
			confidential, flow.Restricted, flow.Restricted, policy.EscalationAsk, false, policy.Block, "mcp.servers.crm.classification",
			[]policy.CheckResult{sink(true, "CONFIDENTIAL"), clearance(false, "RESTRICTED"), rise(false, policy.Hold, "RESTRICTED")},
			false,
		},
		"above the clearance": {
			flow.Bottom(), flow.Public, flow.Restricted, policy.EscalationAsk, false, policy.Block, "this conversation's clearance is PUBLIC",
			[]policy.CheckResult{sink(false, "PUBLIC"), clearance(true, "PUBLIC")},
			false,
		},
		"an owner is asked": {
			flow.Bottom(), flow.Restricted, flow.Public, policy.EscalationAsk, false, policy.Hold, "this conversation may receive at most PUBLIC",
			[]policy.CheckResult{sink(false, "PUBLIC"), clearance(false, "RESTRICTED"), rise(true, policy.Hold, "PUBLIC")},
			true,
		},
		"an owner has allowed it": {
			flow.Bottom(), flow.Restricted, flow.Public, policy.EscalationAsk, true, policy.Allow, "allowed by the person who was asked: ",
			[]policy.CheckResult{sink(false, "PUBLIC"), clearance(false, "RESTRICTED"), rise(true, policy.Hold, "PUBLIC")},
			true,
		},
		"the session may not rise": {
			flow.Bottom(), flow.Restricted, flow.Public, policy.EscalationDeny, false, policy.Block, "this conversation may receive at most PUBLIC",
			[]policy.CheckResult{sink(false, "PUBLIC"), clearance(false, "RESTRICTED"), rise(true, policy.Block, "PUBLIC")},
			false,
		},
		"the session rises": {
			flow.Bottom(), flow.Restricted, flow.Public, policy.EscalationAuto, false, policy.Allow, "nothing forbids it",
			[]policy.CheckResult{sink(false, "PUBLIC"), clearance(false, "RESTRICTED"), rise(true, policy.Allow, "PUBLIC")},
			false,
		},
	} {
		call := crm(flow.Internal, c.taint, `{}`)
		call.Record.Clearance, call.Approved = c.clearance, c.approved
		d, _ := world{carries: c.carries, escalation: c.escalate}.monitor(t).Ask(call, true)
		require.Equal(t, c.want, d.Action, name)
		require.Contains(t, d.Reason, c.reason, name)
		require.Equal(t, c.rules, d.Rules, name)
		require.Equal(t, c.terms, d.Terms != nil, "%s: what waits for somebody has terms", name)
		if c.terms {
			require.Equal(t, &sessions.Terms{Timeout: policy.ApprovalTimeout, Approvers: [][]string{{}}, Rules: []string{"escalation"}}, d.Terms, name)
		}
	}
}

// The check on strangers' words is recorded with its terms.
func TestBeyondIsRecorded(t *testing.T) {
	t.Parallel()
	m := world{carries: flow.Restricted, escalation: policy.EscalationAuto}.monitor(t)
	for _, beyond := range []bool{true, false} {
		call := crm(flow.Restricted, flow.NewLabel(flow.Public, flow.Untrusted), `{}`)
		call.Tool = sessions.Tool{
			Spec: sessions.ToolSpec{Name: "message"}, Flow: sessions.ToolFlow{Reads: sessions.FlowNone, Writes: sessions.FlowDelivery},
			Beyond: func(context.Context, sessions.Caller, json.RawMessage) (bool, error) { return beyond, nil },
		}
		var err error
		call.Reach, err = m.Reach(t.Context(), call)
		require.NoError(t, err)
		d, _ := m.Ask(call, true)
		require.Equal(t, []policy.CheckResult{{Rule: policy.RuleTrust, Matched: beyond, Action: policy.Hold, Detail: "text from strangers may have led to it"}}, d.Rules)
		require.Equal(t, beyond, d.Terms != nil)
	}
}

// What a tool gives is judged by the same checks, and recorded.
func TestAnswerRecordsEachCheck(t *testing.T) {
	t.Parallel()
	call := crm(flow.Public, flow.Bottom(), `{}`)
	call.Tool.Flow = sessions.ToolFlow{Reads: sessions.FlowSession, Writes: sessions.FlowNone}
	call.Record.Clearance = flow.Internal
	m := world{carries: flow.Public, escalation: policy.EscalationAsk}.monitor(t)
	d, _ := m.Answer(call, sessions.Response{Text: "x", Label: flow.NewLabel(flow.Confidential, flow.Trusted)})
	require.Equal(t, []policy.CheckResult{
		{Rule: policy.RuleClearance, Matched: true, Action: policy.Block, Detail: "answer CONFIDENTIAL, clearance INTERNAL"},
		{Rule: policy.RuleEscalation, Matched: true, Action: policy.Block, Detail: "answer CONFIDENTIAL, conversation PUBLIC"},
	}, d.Rules)
	d, _ = m.Answer(call, sessions.Response{Text: "x", Label: flow.Bottom()})
	require.Empty(t, d.Rules, "what forbids nothing says nothing")

	outside := crm(flow.Internal, flow.Bottom(), `{}`)
	d, _ = m.Answer(outside, sessions.Response{Text: "x", Label: flow.Bottom()})
	require.Equal(t, policy.Allow, d.Action, "the rise to the source's level was asked about before the call")
}

// A text that enters a session is judged with who says it and where.
func TestEnterRecordsEachCheck(t *testing.T) {
	t.Parallel()
	telegram := sessions.Route{Channel: "telegram", Account: "default", ChatType: sessions.Group, Conversation: "-7"}
	entry := policy.Entry{
		ID: "m", Record: sessions.Record{ID: "s", Key: "agent:main:main", Agent: "main", Taint: flow.Bottom(), Clearance: flow.Internal, Route: sessions.Route{Channel: "slack", ChatType: sessions.Direct, Conversation: "D1"}},
		Route: telegram, Label: flow.NewLabel(flow.Internal, flow.Trusted), Source: "message", User: "telegram:7", Texts: []string{"hello"},
	}
	w := world{carries: flow.Restricted, escalation: policy.EscalationAsk, rules: []policy.Rule{{
		Name: "guest", Hook: policy.PreContextInjection, Action: policy.Block,
		When: `session.user == "telegram:7" && !session.owner && session.channel == "telegram" && session.chatType == "group" && source == "message"`,
	}}}
	d := w.monitor(t).Enter(entry)
	require.Equal(t, policy.Block, d.Action)
	require.Equal(t, "rule guest applies", d.Reason)
	require.Equal(t, []policy.CheckResult{
		{Rule: policy.RuleClearance, Action: policy.Block, Detail: "text INTERNAL, clearance INTERNAL"},
		{Rule: "policy.rules.guest", Matched: true, Action: policy.Block},
	}, d.Rules)

	entry.Route = sessions.Route{}
	require.Equal(t, policy.Allow, w.monitor(t).Enter(entry).Action, "without a route it is spoken to where the session was last spoken to")
	entry.Label = flow.NewLabel(flow.Confidential, flow.Trusted)
	d = w.monitor(t).Enter(entry)
	require.Equal(t, policy.Block, d.Action)
	require.True(t, d.Rules[0].Matched)
}

// The rules see who speaks in which conversation when a tool is called.
func TestRulesSeeWhoSpeaks(t *testing.T) {
	t.Parallel()
	w := world{carries: flow.Restricted, escalation: policy.EscalationAuto, rules: []policy.Rule{{
		Name: "owner", Hook: policy.PreToolCall, Action: policy.Block, When: `session.user == "telegram:7" && session.owner && session.channel == "telegram" && session.chatType == "direct"`,
	}}}
	d, _ := w.monitor(t).Ask(crm(flow.Public, flow.Bottom(), `{}`), true)
	require.Equal(t, policy.Block, d.Action)
}

func TestMayRise(t *testing.T) {
	t.Parallel()
	record := sessions.Record{ID: "s", Taint: flow.Bottom(), Clearance: flow.Restricted}
	route := sessions.Route{Channel: "telegram", Account: "default", ChatType: sessions.Direct, Conversation: "7"}
	internal := flow.NewLabel(flow.Internal, flow.Trusted)
	for _, c := range []struct {
		escalation policy.Escalation
		carries    flow.Level
		want       bool
	}{
		{policy.EscalationAsk, flow.Public, false},
		{policy.EscalationDeny, flow.Public, false},
		{policy.EscalationAuto, flow.Public, true},
		{policy.EscalationAsk, flow.Internal, true},
		{policy.EscalationDeny, flow.Restricted, true},
	} {
		m := world{carries: c.carries, escalation: c.escalation}.monitor(t)
		require.Equal(t, c.want, m.MayRise(record, route, internal), "%s in a conversation of %s", c.escalation, c.carries)
		require.True(t, m.MayRise(record, sessions.Route{}, internal), "a run that answers nobody")
	}
}

// A rate's rule says what its rate is.
func TestRateIsSaid(t *testing.T) {
	t.Parallel()
	r := rule(policy.Block, "")
	r.Rate = &policy.Rate{Limit: 2, Per: time.Minute}
	d := decide(t, toolCall(), r)
	require.Equal(t, []policy.CheckResult{{Rule: "policy.rules.r", Action: policy.Block, Detail: "at most 2 in 1m0s"}}, d.Rules)
}
