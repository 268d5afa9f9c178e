package policy_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/policy"
	"sluice/policy/condition"
	"sluice/policy/flow"
	"sluice/sessions"
)

// world is a monitor whose conversations carry a level.
type world struct {
	carries    flow.Level
	escalation policy.Escalation
	rules      []policy.Rule
	secrets    []policy.Secret
}

func (w world) monitor(t require.TestingT) *policy.Monitor {
	rules, err := condition.NewRules(w.rules)
	require.NoError(t, err)
	secrets, err := policy.NewSecrets(w.secrets, []string{"bot-token-12345"})
	require.NoError(t, err)
	m, err := policy.NewMonitor(policy.MonitorConfig{
		Rules: rules, Secrets: secrets, Escalation: w.escalation, Now: func() time.Time { return time.Unix(0, 0) },
		SinkLevel: func(sessions.Route) flow.Level { return w.carries },
	})
	require.NoError(t, err)
	return m
}

// crm is a server outside with a level, spoken to by a session that has learnt a label.
func crm(level flow.Level, taint flow.Label, args string) policy.Call {
	return policy.Call{
		Route: sessions.Route{Channel: "telegram", Account: "default", ChatType: sessions.Direct, Conversation: "7"}, User: "telegram:7", Owner: true,
		MonitoredCall: sessions.MonitoredCall{
			CallID: "1", Args: json.RawMessage(args),
			Record: sessions.Record{ID: "s", Key: "agent:main:main", Agent: "main", Taint: taint, Clearance: flow.Restricted},
			Tool: sessions.Tool{
				Spec: sessions.ToolSpec{Name: "mcp_crm_find"}, Remote: &sessions.RemoteTool{Server: "crm", Name: "find"},
				Flow: sessions.ToolFlow{
					Reads: sessions.FlowOutside, Writes: sessions.FlowOutside, Sink: level, Source: flow.NewLabel(level, flow.Untrusted), Setting: "mcp.servers.crm.classification",
				},
			},
		},
	}
}

// Each pair of levels at an outside sink, and at each escalation what the source would raise the session to.
func TestOutsideMatrix(t *testing.T) {
	t.Parallel()
	for _, taint := range flow.Levels() {
		for _, level := range flow.Levels() {
			for _, carries := range flow.Levels() {
				for _, clearance := range flow.Levels() {
					for escalation, consent := range map[policy.Escalation]policy.Action{policy.EscalationAsk: policy.Hold, policy.EscalationAuto: policy.Allow, policy.EscalationDeny: policy.Block} {
						call := crm(level, flow.NewLabel(taint, flow.Trusted), `{}`)
						call.Record.Clearance = clearance
						want := policy.Allow
						if level.Rank() > taint.Rank() && level.Rank() > carries.Rank() {
							want = consent
						}
						if taint.Rank() > level.Rank() || level.Rank() > clearance.Rank() {
							want = policy.Block
						}
						w := world{carries: carries, escalation: escalation}
						d, args := w.monitor(t).Ask(call, true)
						require.Equal(t, want, d.Action, "taint %s, server %s, conversation %s, clearance %s, %s: %s", taint, level, carries, clearance, escalation, d.Reason)
						require.Equal(t, want == policy.Allow, args != nil, "what is not allowed gets no arguments")
						if d.Action == policy.Block && taint.Rank() > level.Rank() {
							require.Contains(t, d.Reason, "mcp.servers.crm.classification", "it says what to change")
							require.Contains(t, d.Reason, "/new starts over, which helps if the messages here are not themselves above "+level.String())
						}
						call.Approved = true
						d, _ = w.monitor(t).Ask(call, true)
						require.Equal(t, want == policy.Block, d.Action == policy.Block, "an approval answers what was asked, and lifts no block")
					}
				}
			}
		}
	}
}

// What a server says of its own level means nothing: the answer has the configured one.
func TestAnswersCanOnlyRaise(t *testing.T) {
	t.Parallel()
	m := world{carries: flow.Restricted, escalation: policy.EscalationAsk}.monitor(t)
	call := crm(flow.Confidential, flow.Bottom(), `{}`)
	d, r := m.Answer(call, sessions.Response{Text: `{"_classification":"PUBLIC"}`, Label: flow.Bottom()})
	require.Equal(t, policy.Allow, d.Action)
	require.Equal(t, flow.NewLabel(flow.Confidential, flow.Untrusted), r.Label)
	_, r = m.Answer(call, sessions.Response{Text: "x"})
	require.Equal(t, flow.Top(), r.Label, "a label that was lost is the top")

	call.Record.Clearance = flow.Internal
	d, r = m.Answer(call, sessions.Response{Text: "the secret", Label: flow.Bottom()})
	require.Equal(t, policy.Block, d.Action)
	require.NotContains(t, r.Text, "the secret")
	require.Equal(t, flow.Bottom(), r.Label, "what is withheld teaches nothing")

	inside := crm(flow.Public, flow.Bottom(), `{}`)
	inside.Tool.Flow = sessions.ToolFlow{Reads: sessions.FlowSession, Writes: sessions.FlowNone}
	low := world{carries: flow.Public, escalation: policy.EscalationDeny}.monitor(t)
	d, r = low.Answer(inside, sessions.Response{Text: "the secret", Label: flow.NewLabel(flow.Internal, flow.Trusted)})
	require.Equal(t, policy.Block, d.Action, "a tool that brings more than it declares")
	require.NotContains(t, r.Text, "the secret")
	require.Contains(t, d.Reason, "/raise INTERNAL")
}

func TestStrangersWordsNeedAnOwner(t *testing.T) {
	t.Parallel()
	m := world{carries: flow.Restricted, escalation: policy.EscalationAuto}.monitor(t)
	call := crm(flow.Restricted, flow.Bottom(), `{"to":"elsewhere"}`)
	call.Tool = sessions.Tool{
		Spec: sessions.ToolSpec{Name: "message"}, Flow: sessions.ToolFlow{Reads: sessions.FlowNone, Writes: sessions.FlowDelivery},
		Beyond: func(_ context.Context, _ sessions.Caller, args json.RawMessage) (bool, error) {
			if strings.Contains(string(args), "nowhere") {
				return false, errors.New("the disk is gone")
			}
			return strings.Contains(string(args), "elsewhere"), nil
		},
	}
	look := func() {
		var err error
		call.Reach, err = m.Reach(t.Context(), call)
		require.NoError(t, err)
	}
	look()
	d, _ := m.Ask(call, true)
	require.Equal(t, policy.Allow, d.Action)
	call.Record.Taint = flow.NewLabel(flow.Public, flow.Untrusted)
	d, _ = m.Ask(call, true)
	require.Equal(t, policy.Hold, d.Action, "it was not looked up, as the session was trusted then")
	require.Contains(t, d.Reason, "it is unknown whether")
	look()
	d, _ = m.Ask(call, true)
	require.Equal(t, policy.Hold, d.Action)
	require.NotContains(t, d.Reason, "it is unknown whether")
	call.Args = json.RawMessage(`{"to":"here"}`)
	look()
	d, _ = m.Ask(call, true)
	require.Equal(t, policy.Allow, d.Action)
	call.Args = json.RawMessage(`{"to":"nowhere"}`)
	var err error
	call.Reach, err = m.Reach(t.Context(), call)
	require.EqualError(t, err, "look up where a call of message goes: the disk is gone")
	d, _ = m.Ask(call, true)
	require.Equal(t, policy.Hold, d.Action, "what is unknown is asked about")
}

// A tool that only judges its arguments gets them as the model wrote them. Rules may still hold and refuse its calls.
func TestArgumentsAsWritten(t *testing.T) {
	t.Parallel()
	const args = `{"q":"pin 1234 of {{secret:crm}}"}`
	redact := policy.Rule{Name: "pins", Hook: policy.PreToolCall, Action: policy.Redact, Redact: `\d{4}`}
	for action, want := range map[policy.Action]policy.Action{policy.Redact: policy.Allow, policy.Hold: policy.Hold, policy.Block: policy.Block} {
		rules := []policy.Rule{redact}
		if action != policy.Redact {
			rules = append(rules, policy.Rule{Name: "all", Hook: policy.PreToolCall, Action: action})
		}
		m := world{carries: flow.Restricted, escalation: policy.EscalationAuto, rules: rules, secrets: []policy.Secret{
			{Name: "crm", Value: "s3cret-value", Level: flow.Public, Tools: []string{"*"}},
		}}.monitor(t)
		call := crm(flow.Public, flow.Bottom(), args)
		call.Tool.AsWritten = true
		d, got := m.Ask(call, true)
		require.Equal(t, want, d.Action, d.Reason)
		if want == policy.Allow {
			require.JSONEq(t, args, string(got))
		}
		call.Approved = true
		d, got = m.Ask(call, true)
		if action != policy.Block {
			require.Equal(t, policy.Allow, d.Action, "nothing is taken out once it is approved either")
			require.JSONEq(t, args, string(got))
		}
		call.Tool.AsWritten = false
		if d, got = m.Ask(call, true); action != policy.Block {
			require.Equal(t, policy.Redact, d.Action)
			require.NotContains(t, string(got), "1234")
			require.Contains(t, string(got), "s3cret-value")
		}
	}
}

func TestSecretsAreNamedAndNotKnown(t *testing.T) {
	t.Parallel()
	w := world{carries: flow.Restricted, escalation: policy.EscalationAuto, secrets: []policy.Secret{
		{Name: "crm", Value: `s3cr"et\key`, Level: flow.Internal, Tools: []string{"mcp_crm_*"}},
		{Name: "bank", Value: "bank-key-9", Level: flow.Internal, Tools: []string{"mcp_bank_*"}},
		{Name: "vault", Value: "vault-key-9", Level: flow.Restricted, Tools: []string{"*"}},
	}}
	m := w.monitor(t)
	at := func(args string) (policy.Decision, json.RawMessage) {
		return m.Ask(crm(flow.Confidential, flow.Bottom(), args), true)
	}
	d, args := at(`{"auth":"Bearer {{secret:crm}}","n":12345678901234567890,"deep":[{"k":"{{ secret: crm }}"}]}`)
	require.Equal(t, policy.Allow, d.Action)
	require.Contains(t, d.Rules, policy.CheckResult{Rule: policy.RuleSecret, Action: policy.Block, Detail: "crm"})
	require.JSONEq(t, `{"auth":"Bearer s3cr\"et\\key","n":12345678901234567890,"deep":[{"k":"s3cr\"et\\key"}]}`, string(args))
	_, foreign := at(`{"a":"{{secret:bank}}"}`)
	require.Nil(t, foreign)
	for _, refused := range []string{"bank", "vault", "nosuch"} {
		d, args := at(`{"a":"{{secret:` + refused + `}}"}`)
		require.Equal(t, policy.Block, d.Action)
		require.Nil(t, args)
		require.Equal(t, `there is no secret "`+refused+`" for mcp_crm_find`, d.Reason, "one error, whatever the reason")
	}
	call := crm(flow.Confidential, flow.Bottom(), `{}`)
	for _, text := range []string{`s3cr"et\key`, `{"k":"s3cr\"et\\key"}`, "czNjciJldFxrZXk=", "s3cr%22et%5Ckey", "bot-token-12345"} {
		_, r := m.Answer(call, sessions.Response{Text: "got " + text + " back", Label: flow.Bottom()})
		require.NotContains(t, r.Text, text)
		require.Contains(t, r.Text, "[secret")
	}
}

// All hooks that a call passes ask their rules.
func TestHooksOfACall(t *testing.T) {
	t.Parallel()
	secret := []policy.Secret{{Name: "crm", Value: "key-key-key", Level: flow.Public, Tools: []string{"*"}}}
	for hook, call := range map[policy.Hook]policy.Call{
		policy.PreToolCall:     crm(flow.Public, flow.Bottom(), `{}`),
		policy.MCPToolCall:     crm(flow.Public, flow.Bottom(), `{}`),
		policy.SecretAccess:    crm(flow.Public, flow.Bottom(), `{"a":"{{secret:crm}}"}`),
		policy.AgentInvocation: agentCall(),
	} {
		w := world{carries: flow.Restricted, escalation: policy.EscalationAuto, secrets: secret, rules: []policy.Rule{{Name: "r", Hook: hook, Action: policy.Block, When: hookCondition(hook)}}}
		d, _ := w.monitor(t).Ask(call, true)
		require.Equal(t, policy.Block, d.Action, hook)
	}
	w := world{carries: flow.Restricted, escalation: policy.EscalationAuto, rules: []policy.Rule{
		{Name: "out", Hook: policy.PostToolResponse, Action: policy.Redact, Redact: `\d{4}`},
		{Name: "in", Hook: policy.PreContextInjection, Action: policy.Block, When: `text.contains("attack")`},
		{Name: "keep", Hook: policy.SessionReset, Action: policy.Block, When: `!session.owner`},
		{Name: "turns", Hook: policy.AgentInvocation, Action: policy.Hold, When: `agent.kind == "reply"`},
	}}
	m := w.monitor(t)
	_, r := m.Answer(crm(flow.Public, flow.Bottom(), `{}`), sessions.Response{Text: "pin 1234", Label: flow.Bottom()})
	require.Equal(t, "pin [redacted]", r.Text)
	record := crm(flow.Public, flow.Bottom(), `{}`).Record
	require.Equal(t, policy.Block, m.Enter(policy.Entry{Record: record, Label: flow.Bottom(), Texts: []string{"an", "attack"}}).Action)
	require.Equal(t, policy.Allow, m.Enter(policy.Entry{Record: record, Label: flow.Bottom(), Texts: []string{"hi"}}).Action)
	require.Equal(t, policy.Block, m.Reset(record, "telegram:9", false).Action)
	require.Equal(t, policy.Allow, m.Reset(record, "telegram:7", true).Action)
	require.Equal(t, policy.Block, m.Invoke(policy.Invocation{From: record, To: record, Kind: "reply"}).Action, "nobody waits for an approval there")
	record.Clearance = flow.Public
	require.Equal(t, policy.Block, m.Enter(policy.Entry{Record: record, Label: flow.NewLabel(flow.Internal, flow.Trusted)}).Action)
}

// Out of a call's arguments only values are taken, and of an answer nothing that stood in the question.
func TestWhatIsNotInACallIsNotTakenOut(t *testing.T) {
	t.Parallel()
	for hook, c := range map[policy.Hook]struct{ call policy.Call }{
		policy.PreToolCall: {crm(flow.Public, flow.Bottom(), "")}, policy.MCPToolCall: {crm(flow.Public, flow.Bottom(), "")}, policy.AgentInvocation: {agentCall()},
	} {
		m := world{carries: flow.Restricted, escalation: policy.EscalationAuto, rules: []policy.Rule{{Name: "pins", Hook: hook, Action: policy.Redact, Redact: `\d{4}`}}}.monitor(t)
		for args, want := range map[string]policy.Action{
			`{"q":"x"}`: policy.Allow, `{"1234":"x"}`: policy.Allow, `{"n":1234}`: policy.Allow,
			`{"q":"pin 1234"}`: policy.Redact, `{"deep":[{"q":"1234"}]}`: policy.Redact, `{"q":"\u0031234"}`: policy.Redact,
		} {
			c.call.Args = json.RawMessage(args)
			d, got := m.Ask(c.call, true)
			require.Equal(t, want, d.Action, "%s %s", hook, args)
			if want == policy.Allow {
				require.JSONEq(t, args, string(got))
			} else {
				require.NotContains(t, string(got), "1234")
			}
		}
	}
	m := world{carries: flow.Restricted, escalation: policy.EscalationAuto, rules: []policy.Rule{{Name: "pins", Hook: policy.PostToolResponse, Action: policy.Redact, Redact: `\d{4}`}}}.monitor(t)
	call := crm(flow.Public, flow.Bottom(), `{"q":"pin 1234"}`)
	for text, want := range map[string]policy.Action{"": policy.Allow, "x": policy.Allow, "pin 1234": policy.Redact} {
		d, _ := m.Answer(call, sessions.Response{Text: text, Label: flow.Bottom()})
		require.Equal(t, want, d.Action, text)
	}
}

func hookCondition(h policy.Hook) string {
	return map[policy.Hook]string{
		policy.MCPToolCall: `tool.server == "crm"`, policy.SecretAccess: `secret.name == "crm" && secret.level == PUBLIC`, policy.AgentInvocation: `agent.to == "agent:other:main"`,
	}[h]
}

func agentCall() policy.Call {
	c := crm(flow.Public, flow.Bottom(), `{"sessionKey":"agent:other:main","message":"hi"}`)
	c.Tool = sessions.Tool{Spec: sessions.ToolSpec{Name: "sessions_send"}, Flow: sessions.ToolFlow{Reads: sessions.FlowSession, Writes: sessions.FlowAgent}}
	return c
}

// A simulation says what the call then comes to, and has no effects.
func TestSimulationAgreesProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		level := rapid.SampledFrom(flow.Levels())
		w := world{carries: level.Draw(rt, "carries"), escalation: rapid.SampledFrom([]policy.Escalation{policy.EscalationAsk, policy.EscalationAuto, policy.EscalationDeny}).Draw(rt, "escalation")}
		for i := range rapid.IntRange(0, 4).Draw(rt, "rules") {
			r := rule(rapid.SampledFrom([]policy.Action{policy.Block, policy.Hold, policy.Redact}).Draw(rt, "action"), rapid.SampledFrom([]string{"", "session.level > INTERNAL", `tool.args.q == "x"`, `tool.server == "crm"`}).Draw(rt, "when"))
			r.Name, r.Hook = string(rune('a'+i)), rapid.SampledFrom([]policy.Hook{policy.PreToolCall, policy.MCPToolCall}).Draw(rt, "hook")
			if rapid.Bool().Draw(rt, "rated") {
				r.Rate = &policy.Rate{Limit: rapid.IntRange(1, 3).Draw(rt, "limit"), Per: time.Hour}
			}
			w.rules = append(w.rules, r)
		}
		m := w.monitor(rt)
		for i := range rapid.IntRange(1, 8).Draw(rt, "calls") {
			call := crm(level.Draw(rt, "server"), flow.NewLabel(level.Draw(rt, "taint"), flow.Untrusted), rapid.SampledFrom([]string{`{}`, `{"q":"x"}`, `{"q":"token=abc"}`}).Draw(rt, "args"))
			call.CallID = string(rune('a' + i))
			for range rapid.IntRange(1, 3).Draw(rt, "simulations") {
				m.Ask(call, false)
			}
			simulated, simulatedArgs := m.Ask(call, false)
			actual, args := m.Ask(call, true)
			require.Equal(rt, simulated, actual)
			require.Equal(rt, simulatedArgs, args)
		}
	})
}

func BenchmarkAsk(b *testing.B) {
	m := world{carries: flow.Restricted, escalation: policy.EscalationAsk}.monitor(b)
	call := crm(flow.Internal, flow.Bottom(), `{"q":"what is the deadline?"}`)
	for b.Loop() {
		m.Ask(call, true)
	}
}

// Known secrets never leave by a channel, in whatever form, and a text that is still being written is not shown when it may end within one.
func TestSecretsDoNotLeave(t *testing.T) {
	t.Parallel()
	secrets, err := policy.NewSecrets([]policy.Secret{{Name: "crm", Value: "crm-secret-1", Level: flow.Public, Tools: []string{"*"}}}, []string{"bot-token-12345"})
	require.NoError(t, err)
	g := policy.NewGate(map[string]policy.Sink{"discord": {Level: flow.Restricted}}, nil, nil).Hiding(secrets)
	e := discordGroup()
	e.Text = "the key is crm-secret-1, the token bot-token-12345"
	d := g.Decide(e)
	require.Equal(t, policy.Redact, d.Action)
	require.Equal(t, "the key is [secret:crm], the token [secret]", d.Redacted(e.Text))
	e.Text = "nothing of it"
	require.Equal(t, policy.Allow, g.Decide(e).Action)
	in, err := policy.NewMonitor(policy.MonitorConfig{Secrets: secrets, Escalation: policy.EscalationAuto, SinkLevel: g.SinkLevel, Now: time.Now})
	require.NoError(t, err)
	d = in.Enter(policy.Entry{Record: sessions.Record{Clearance: flow.Restricted}, Label: flow.Bottom(), Texts: []string{"it is crm-secret-1"}})
	require.Equal(t, "it is [secret:crm]", d.Redacted("it is crm-secret-1"), "no model is shown one that somebody says")
	e.Partial, e.Text = true, "the key is crm-sec"
	require.NotEqual(t, policy.Allow, g.Decide(e).Action)
	e.Text = "the key is crm"
	require.Equal(t, policy.Allow, g.Decide(e).Action)
}

// What a call may let its session learn or tell is what the session knows, what the tool and its secrets have, and, where other
// sessions' content is read, all that it may learn. What is not known is no level.
func TestYesLevelOfACall(t *testing.T) {
	t.Parallel()
	secrets, err := policy.NewSecrets([]policy.Secret{{Name: "vault", Value: "a-long-value", Level: flow.Restricted}}, nil)
	require.NoError(t, err)
	m, err := policy.NewMonitor(policy.MonitorConfig{
		Escalation: policy.EscalationAuto, SinkLevel: func(sessions.Route) flow.Level { return flow.Public }, Now: time.Now, Secrets: secrets,
	})
	require.NoError(t, err)
	source := flow.NewLabel(flow.Internal, flow.Untrusted)
	for name, c := range map[string]struct {
		taint flow.Level
		flow  sessions.ToolFlow
		args  string
		want  flow.Level
	}{
		"nothing is read":         {flow.Public, sessions.ToolFlow{Reads: sessions.FlowNone, Writes: sessions.FlowDelivery}, `{}`, flow.Public},
		"the session knows more":  {flow.Internal, sessions.ToolFlow{Reads: sessions.FlowNone, Writes: sessions.FlowDelivery}, `{}`, flow.Internal},
		"a server says more":      {flow.Public, sessions.ToolFlow{Reads: sessions.FlowOutside, Source: source, Writes: sessions.FlowOutside}, `{}`, flow.Internal},
		"a server says less":      {flow.Confidential, sessions.ToolFlow{Reads: sessions.FlowOutside, Source: source, Writes: sessions.FlowOutside}, `{}`, flow.Confidential},
		"a server without label":  {flow.Public, sessions.ToolFlow{Reads: sessions.FlowOutside, Writes: sessions.FlowOutside}, `{}`, flow.Level{}},
		"other sessions are read": {flow.Public, sessions.ToolFlow{Reads: sessions.FlowSession, Writes: sessions.FlowSession}, `{}`, flow.Confidential},
		"memories are read":       {flow.Public, sessions.ToolFlow{Reads: sessions.FlowMemory, Writes: sessions.FlowMemory}, `{}`, flow.Confidential},
		"an agent reports":        {flow.Public, sessions.ToolFlow{Reads: sessions.FlowNone, Writes: sessions.FlowAgent}, `{}`, flow.Confidential},
		"a secret is used":        {flow.Public, sessions.ToolFlow{Reads: sessions.FlowOutside, Source: source, Writes: sessions.FlowOutside}, `{"key":"{{secret:vault}}"}`, flow.Restricted},
		"an unknown secret":       {flow.Public, sessions.ToolFlow{Reads: sessions.FlowNone, Writes: sessions.FlowNone}, `{"key":"{{secret:none}}"}`, flow.Public},
	} {
		record := sessions.Record{Taint: flow.NewLabel(c.taint, flow.Trusted), Clearance: flow.Confidential}
		require.Equal(t, c.want, m.ApprovalLevel(sessions.MonitoredCall{Record: record, Tool: sessions.Tool{Flow: c.flow}, Args: []byte(c.args)}), name)
	}
}
