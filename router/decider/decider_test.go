package decider

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

// A named token decides where its role, its level and the terms say so, and about nothing that its own words led to.
func TestWhatATokenMayDecide(t *testing.T) {
	t.Parallel()
	const ops, owner = "webchat:token:ops", "webchat:local"
	reader, above, own := "its role in gateway.tokens is reader", "approval could let the conversation learn or send", "its own message led to the request"
	left, strangers := "the decision is left to ", "untrusted text may have led to the request"
	for name, c := range map[string]struct {
		reader    bool
		level     flow.Level // of the token
		label     flow.Label
		reach     flow.Level
		approvers [][]string
		speaker   string
		want      string // how the refusal begins; empty: it may decide
	}{
		"an operator at its level":            {level: flow.Internal, label: trusted(flow.Internal), reach: flow.Internal, speaker: owner},
		"an operator above it":                {level: flow.Restricted, label: trusted(flow.Public), reach: flow.Confidential, speaker: owner},
		"nobody is known to have spoken":      {level: flow.Public, label: trusted(flow.Public), reach: flow.Public},
		"a reader of all levels":              {reader: true, level: flow.Restricted, label: trusted(flow.Public), reach: flow.Public, speaker: owner, want: reader},
		"a reader whom a rule names":          {reader: true, level: flow.Restricted, label: trusted(flow.Public), reach: flow.Public, approvers: [][]string{{ops}}, want: reader},
		"the label is above":                  {level: flow.Public, label: trusted(flow.Internal), reach: flow.Internal, speaker: owner, want: above},
		"a yes would bring in what is above":  {level: flow.Internal, label: trusted(flow.Public), reach: flow.Confidential, speaker: owner, want: above},
		"what a yes brings in is not known":   {level: flow.Restricted, label: trusted(flow.Public), speaker: owner, want: above},
		"the label is lost":                   {level: flow.Restricted, reach: flow.Public, speaker: owner, want: above},
		"its own level is lost":               {label: trusted(flow.Public), reach: flow.Public, speaker: owner, want: above},
		"a rule names it":                     {level: flow.Public, label: trusted(flow.Public), reach: flow.Public, approvers: [][]string{{"telegram:1", ops}}, speaker: owner},
		"a rule names it, above its level":    {level: flow.Public, label: trusted(flow.Public), reach: flow.Internal, approvers: [][]string{{ops}}, speaker: owner, want: above},
		"a rule names others":                 {level: flow.Restricted, label: trusted(flow.Public), reach: flow.Public, approvers: [][]string{{"telegram:1"}}, speaker: owner, want: left},
		"two rules, one names others":         {level: flow.Restricted, label: trusted(flow.Public), reach: flow.Public, approvers: [][]string{{ops}, {"telegram:1"}}, speaker: owner, want: left},
		"a rule names it, another the owners": {level: flow.Public, label: trusted(flow.Public), reach: flow.Public, approvers: [][]string{{ops}, {}}, speaker: owner},
		"a rule names nobody":                 {level: flow.Public, label: trusted(flow.Public), reach: flow.Public, approvers: [][]string{{}}, speaker: owner},
		"its own run":                         {level: flow.Restricted, label: untrusted(flow.Public), reach: flow.Public, speaker: ops, want: own},
		"its own run, and a rule names it":    {level: flow.Restricted, label: untrusted(flow.Public), reach: flow.Public, approvers: [][]string{{ops}}, speaker: ops, want: own},
		"strangers' words":                    {level: flow.Restricted, label: untrusted(flow.Public), reach: flow.Public, speaker: "telegram:7", want: strangers},
		"strangers' words, a rule names it":   {level: flow.Restricted, label: untrusted(flow.Public), reach: flow.Public, approvers: [][]string{{ops}}, speaker: "telegram:7"},
		"nobody knows whose words, and named": {level: flow.Restricted, label: untrusted(flow.Public), reach: flow.Public, approvers: [][]string{{ops}}, want: strangers},
	} {
		token := Token{Principal: ops, Level: c.level, Operator: !c.reader}
		got := token.refusal(ledger.Approval{Label: c.label, Terms: sessions.Terms{Level: c.reach, Approvers: c.approvers}}, c.speaker)
		if c.want == "" {
			require.Empty(t, got, name)
			continue
		}
		require.Contains(t, got, c.want, name)
	}
}

func trusted(l flow.Level) flow.Label { return flow.NewLabel(l, flow.Trusted) }

func untrusted(l flow.Level) flow.Label { return flow.NewLabel(l, flow.Untrusted) }

// Who may decide alone: owners, unless a rule names others; then who is in each of the lists.
func TestAmong(t *testing.T) {
	t.Parallel()
	owners := []string{"slack:ann", "test:owner"}
	for name, c := range map[string]struct {
		lists [][]string
		want  []string
	}{
		"no rule":                     {nil, []string{"test:owner", "slack:ann"}},
		"a rule for owners":           {[][]string{{}}, []string{"test:owner", "slack:ann"}},
		"a rule names others":         {[][]string{{"slack:bob", "test:eve"}}, []string{"test:eve", "slack:bob"}},
		"two rules, one is in both":   {[][]string{{"test:eve", "test:bob"}, {"test:bob"}}, []string{"test:bob", "test:bob"}},
		"an owner who is in the list": {[][]string{{}, {"slack:ann"}}, []string{"slack:ann", "slack:ann"}},
		"nobody is in both":           {[][]string{{"test:eve"}, {"test:bob"}}, nil},
		"a token has no chat":         {[][]string{{"webchat:token:ops"}}, nil},
	} {
		require.Equal(t, c.want, Among(owners, sessions.Terms{Approvers: c.lists}, "test"), name)
	}
	require.Equal(t, []string{"slack:ann", "webchat:local"}, Among([]string{"webchat:local", "slack:ann"}, sessions.Terms{}, ""), "the page last")
	require.EqualValues(t, "token:ops", TokenUser("ops"))
}
