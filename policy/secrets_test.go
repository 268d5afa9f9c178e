package policy_test

import (
	"encoding/base64"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/policy"
	"sluice/policy/flow"
	"sluice/sessions"
)

func TestSecretsThatCanNotBe(t *testing.T) {
	t.Parallel()
	for want, secret := range map[string]policy.Secret{
		"secrets.a b: a name has letters, digits, dots, - and _, 64 at most": {Name: "a b", Value: "value-1", Level: flow.Public},
		"secrets.a.classification: is required":                              {Name: "a", Value: "value-1"},
		`secrets.a.tools: "[": want a name, or a pattern with *`:             {Name: "a", Value: "value-1", Level: flow.Public, Tools: []string{"ok", "["}},
	} {
		_, err := policy.NewSecrets([]policy.Secret{secret}, nil)
		require.EqualError(t, err, want)
	}
}

// What is shorter than six bytes stands in any text.
func TestShortSecretsAreNotLookedFor(t *testing.T) {
	t.Parallel()
	s, err := policy.NewSecrets(nil, []string{"12345"})
	require.NoError(t, err)
	require.Equal(t, "a 12345", s.Redact("a 12345"))
	s, err = policy.NewSecrets(nil, []string{"123456"})
	require.NoError(t, err)
	require.Equal(t, "a [secret]", s.Redact("a 123456"))
	require.Equal(t, "[secret]", s.Redact(base64.StdEncoding.EncodeToString([]byte("123456"))))
}

// Of two secrets that begin alike the longer one is found whole, in whatever order they were given.
func TestLongerSecretIsFoundWhole(t *testing.T) {
	t.Parallel()
	short := policy.Secret{Name: "short", Value: "abcdefgh", Level: flow.Public}
	long := policy.Secret{Name: "long", Value: "abcdefghijkl", Level: flow.Public}
	for _, both := range [][]policy.Secret{{short, long}, {long, short}} {
		s, err := policy.NewSecrets(both, nil)
		require.NoError(t, err)
		require.Equal(t, "[secret:long] [secret:short]", s.Redact("abcdefghijkl abcdefgh"))
	}
}

// Each reason for which a secret is not given is recorded, and none of them is told.
func TestWhyASecretIsNotGiven(t *testing.T) {
	t.Parallel()
	w := world{carries: flow.Restricted, escalation: policy.EscalationAuto, secrets: []policy.Secret{
		{Name: "key", Value: "value-of-key", Level: flow.Internal, Tools: []string{"mcp_crm_*"}},
		{Name: "other", Value: "value-of-other", Level: flow.Internal, Tools: []string{"mcp_mail_*"}},
	}}
	inside := sessions.ToolFlow{Reads: sessions.FlowSession, Writes: sessions.FlowSession}
	for name, c := range map[string]struct {
		secret string
		change func(*policy.Call)
		detail string
	}{
		"given":               {"key", func(*policy.Call) {}, "key"},
		"unknown":             {"lost", func(*policy.Call) {}, "lost: no secret has this name"},
		"of another tool":     {"other", func(*policy.Call) {}, "other: its list of tools does not name this one"},
		"above the clearance": {"key", func(c *policy.Call) { c.Record.Clearance = flow.Public; c.Tool.Flow.Source = flow.Bottom() }, "key: it is above the session's clearance"},
		"kept inside": {
			"key", func(c *policy.Call) { c.Tool.Flow = inside },
			"key: the tool stores what it gets at the level of the session, which may be below the secret's",
		},
		"above the place": {"key", func(c *policy.Call) { c.Tool.Flow.Sink = flow.Public }, "key: it is above the level of the tool"},
	} {
		call := crm(flow.Internal, flow.Bottom(), `{"q":"{{secret:`+c.secret+`}}"}`)
		c.change(&call)
		d, args := w.monitor(t).Ask(call, true)
		given := name == "given"
		last := d.Rules[len(d.Rules)-1]
		require.Equal(t, policy.CheckResult{Rule: policy.RuleSecret, Matched: !given, Action: policy.Block, Detail: c.detail}, last, name)
		if given {
			require.JSONEq(t, `{"q":"value-of-key"}`, string(args))
			continue
		}
		require.Equal(t, policy.Block, d.Action, name)
		require.Equal(t, `there is no secret "`+c.secret+`" for mcp_crm_find`, d.Reason, name)

		told := d
		told.HideSecrets()
		require.Equal(t, c.secret, told.Rules[len(told.Rules)-1].Detail, "%s: who reads the decision is told the name alone", name)
		require.Equal(t, c.detail, d.Rules[len(d.Rules)-1].Detail, "%s: what is recorded stays", name)
		if len(d.Rules) > 1 {
			require.Equal(t, d.Rules[0], told.Rules[0], "%s: other checks stay", name)
		}
	}
}

// The hook about secrets fires where a secret is named, once for each, and nowhere else.
func TestSecretHookFiresForEachSecret(t *testing.T) {
	t.Parallel()
	w := world{carries: flow.Restricted, escalation: policy.EscalationAuto, secrets: []policy.Secret{
		{Name: "a", Value: "value-of-a", Level: flow.Internal, Tools: []string{"*"}}, {Name: "b", Value: "value-of-b", Level: flow.Internal, Tools: []string{"*"}},
	}, rules: []policy.Rule{{Name: "b", Hook: policy.SecretAccess, When: `secret.name == "b" && secret.level == INTERNAL`, Action: policy.Hold}}}
	count := func(args string) (fired int, action policy.Action) {
		d, _ := w.monitor(t).Ask(crm(flow.Internal, flow.Bottom(), args), true)
		for _, r := range d.Rules {
			if r.Rule == "policy.rules.b" {
				fired++
			}
		}
		return fired, d.Action
	}
	fired, action := count(`{"q":"none"}`)
	require.Equal(t, []any{0, policy.Allow}, []any{fired, action})
	fired, action = count(`{"q":"{{secret:a}} {{secret:a}}"}`)
	require.Equal(t, []any{1, policy.Allow}, []any{fired, action})
	fired, action = count(`{"q":"{{secret:a}}","r":["{{ secret: b }}"]}`)
	require.Equal(t, []any{2, policy.Hold}, []any{fired, action})
}

// In the base64 of more than itself a secret is found wherever it begins, and no more is taken out than what hangs on it alone.
func TestSecretWithinBase64(t *testing.T) {
	t.Parallel()
	s, err := policy.NewSecrets(nil, []string{"123456"})
	require.NoError(t, err)
	encode := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	require.Equal(t, "[secret]"+encode("xyz"), s.Redact(encode("123456xyz")))
	odd, err := policy.NewSecrets(nil, []string{"1234567"})
	require.NoError(t, err)
	require.Equal(t, "[secret]"+encode("7xyz"), odd.Redact(encode("1234567xyz")), "its last byte hangs on what follows")
	require.Equal(t, "eD[secret]Nnl6", s.Redact(encode("x123456yz")), "the first and the last group hang on what is around it")
}

// A text that is still being written may end within a secret: with its first six bytes at least.
func TestUnfinishedTextThatEndsWithinASecret(t *testing.T) {
	t.Parallel()
	s, err := policy.NewSecrets(nil, []string{"secret-value"})
	require.NoError(t, err)
	g := ruled(t).Hiding(s)
	for text, want := range map[string]policy.Action{
		"it is secret-valu": policy.Redact, "it is secret": policy.Redact, "it is secre": policy.Allow, "secret, it is": policy.Allow,
	} {
		e := said(text)
		e.Partial = true
		require.Equal(t, want, g.Decide(e).Action, text)
		e.Partial = false
		require.Equal(t, policy.Allow, g.Decide(e).Action, "%s: it is finished", text)
	}
}

// Without secrets a reference is a text like any other.
func TestNoSecrets(t *testing.T) {
	t.Parallel()
	m, err := policy.NewMonitor(policy.MonitorConfig{Escalation: policy.EscalationAuto, SinkLevel: func(sessions.Route) flow.Level { return flow.Restricted }, Now: clock})
	require.NoError(t, err)
	args := `{"q":"{{secret:key}}"}`
	d, got := m.Ask(crm(flow.Public, flow.Bottom(), args), true)
	require.Equal(t, policy.Allow, d.Action)
	require.Equal(t, args, string(got))
}
