package policy_test

import (
	"encoding/base64"
	"fmt"
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

// Each of the 4×4 cases, on each kind of place that can have a level.
func TestTheFlowMatrixHoldsOnEverySink(t *testing.T) {
	t.Parallel()
	group := sessions.Route{Channel: "slack", Account: "a", ChatType: sessions.Group, Conversation: "C1", Space: "T1"}
	direct := sessions.Route{Channel: "slack", Account: "a", ChatType: sessions.Direct, Conversation: "D1", Peer: "U1"}
	const top = "channel"
	kinds := map[string]struct {
		route  sessions.Route
		oldest sessions.ConversationID
		set    func(*policy.Sink, flow.Level)
	}{
		top:                    {route: group, set: func(s *policy.Sink, l flow.Level) { s.Level = l }},
		"account":              {route: group, set: func(s *policy.Sink, l flow.Level) { s.Accounts["a"] = l }},
		"account, direct":      {route: direct, set: func(s *policy.Sink, l flow.Level) { s.Accounts["a"] = l }},
		"space":                {route: group, set: func(s *policy.Sink, l flow.Level) { s.Spaces["T1"] = l }},
		"conversation":         {route: group, set: func(s *policy.Sink, l flow.Level) { s.Conversations["C1"] = l }},
		"group *":              {route: group, set: func(s *policy.Sink, l flow.Level) { s.Conversations["*"] = l }},
		"recipient":            {route: direct, set: func(s *policy.Sink, l flow.Level) { s.Recipients["U1"] = l }},
		"recipient's chat":     {route: direct, set: func(s *policy.Sink, l flow.Level) { s.Recipients["D1"] = l }},
		"recipient, a group":   {route: group, set: func(s *policy.Sink, l flow.Level) { s.Recipients["C1"] = l }},
		"old id, conversation": {route: group, oldest: "C0", set: func(s *policy.Sink, l flow.Level) { s.Conversations["C0"] = l }},
		"old id, recipient":    {route: group, oldest: "C0", set: func(s *policy.Sink, l flow.Level) { s.Recipients["C0"] = l }},
		"others stand unchanged": {route: group, set: func(s *policy.Sink, l flow.Level) {
			s.Level, s.Recipients["U1"], s.Conversations["C9"] = l, flow.Public, flow.Public
		}},
	}
	for name, kind := range kinds {
		for _, src := range flow.Levels() {
			for _, dst := range flow.Levels() {
				sink := policy.Sink{
					Level: flow.Restricted, Accounts: map[string]flow.Level{}, Spaces: map[string]flow.Level{},
					Conversations: map[sessions.ConversationID]flow.Level{}, Recipients: map[string]flow.Level{},
				}
				kind.set(&sink, dst)
				g := policy.NewGate(map[string]policy.Sink{"slack": sink}, nil, nil)
				for _, k := range []string{"reply", "message", "announce", policy.KindNotice, policy.KindCommand} {
					d := g.Decide(policy.Egress{Label: flow.NewLabel(src, flow.Trusted), Kind: k, Route: kind.route, Oldest: kind.oldest})
					require.Equal(t, src.Rank() <= dst.Rank(), d.Passes(), "%s: a %s that is %s to %s: %s", name, k, src, dst, d.Reason)
					require.Equal(t, policy.RuleFlow, d.Rules[0].Rule)
				}
			}
		}
	}
}

// An external person hears what is PUBLIC, whatever the channel carries, and what nobody knows is external.
func TestWhatIsNotKnownIsPublic(t *testing.T) {
	t.Parallel()
	g := policy.NewGate(map[string]policy.Sink{"slack": {
		Level: flow.Restricted, Recipients: map[string]flow.Level{"UBOB": flow.Public, "UANN": flow.Restricted}, Conversations: map[sessions.ConversationID]flow.Level{"C1": flow.Restricted},
	}}, nil, nil)
	for name, c := range map[string]struct {
		route   sessions.Route
		unheard bool
		want    flow.Level
	}{
		"external":                  {sessions.Route{Channel: "slack", ChatType: sessions.Direct, Conversation: "D1", Peer: "UBOB"}, false, flow.Public},
		"external in a group":       {sessions.Route{Channel: "slack", ChatType: sessions.Group, Conversation: "C1", Peer: "UBOB"}, false, flow.Restricted},
		"known":                     {sessions.Route{Channel: "slack", ChatType: sessions.Direct, Conversation: "D2", Peer: "U2"}, false, flow.Restricted},
		"never heard":               {sessions.Route{Channel: "slack", ChatType: sessions.Direct, Conversation: "D2", Peer: "U2"}, true, flow.Public},
		"never heard, but listed":   {sessions.Route{Channel: "slack", ChatType: sessions.Direct, Conversation: "D3", Peer: "UANN"}, true, flow.Restricted},
		"group never heard":         {sessions.Route{Channel: "slack", ChatType: sessions.Group, Conversation: "C2"}, true, flow.Public},
		"group, listed":             {sessions.Route{Channel: "slack", ChatType: sessions.Group, Conversation: "C1"}, true, flow.Restricted},
		"channel that nobody knows": {sessions.Route{Channel: "fax", ChatType: sessions.Direct, Conversation: "1"}, false, flow.Public},
	} {
		for _, l := range flow.Levels() {
			d := g.Decide(policy.Egress{Label: flow.NewLabel(l, flow.Trusted), Kind: "message", Route: c.route, UnknownPlace: c.unheard})
			require.Equal(t, l.Rank() <= c.want.Rank(), d.Passes(), "%s, %s: %s", name, l, d.Reason)
			if !d.Passes() && c.unheard {
				require.Contains(t, d.Reason, "list the place under channels.slack.groups or recipients")
			}
		}
	}
}

func ruled(t require.TestingT, rules ...policy.Rule) *policy.Gate {
	compiled, err := condition.NewRules(rules)
	require.NoError(t, err)
	return policy.NewGate(map[string]policy.Sink{"telegram": {Level: flow.Internal}}, nil, compiled)
}

func said(text string) policy.Egress {
	return policy.Egress{
		ID: "dlv_1", Now: time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC), Text: text, Label: flow.NewLabel(flow.Public, flow.Trusted), Kind: "reply",
		Route: sessions.Route{Channel: "telegram", Account: "default", ChatType: sessions.Direct, Conversation: "1001"},
	}
}

// The order is flow check, send policy, rules; what forbids ends it.
func TestRulesComeLast(t *testing.T) {
	t.Parallel()
	g := ruled(t, policy.Rule{Name: "words", Hook: policy.PreOutput, When: `text.contains("secret")`, Action: policy.Block, Message: "not outside"})
	d := g.Decide(said("a secret"))
	require.Equal(t, policy.Block, d.Action)
	require.Equal(t, "not outside", d.Reason)
	require.Equal(t, []string{"flow", "override", "sendPolicy.default", "policy.rules.words"}, names(d))
	d = g.Decide(said("nothing"))
	require.Equal(t, policy.Allow, d.Action)
	require.Equal(t, []string{"flow", "override", "sendPolicy.default", "policy.rules.words"}, names(d), "what did not apply was looked at, too")

	notice := said("a secret")
	notice.Kind = policy.KindNotice
	require.Equal(t, policy.Block, g.Decide(notice).Action, "the gateway's own words are asked about")
	above := said("a secret")
	above.Label = flow.NewLabel(flow.Restricted, flow.Trusted)
	require.Equal(t, []string{"flow"}, names(g.Decide(above)))
	silent := said("a secret")
	silent.Override = sessions.SendDeny
	require.Equal(t, []string{"flow", "override"}, names(g.Decide(silent)))
}

func names(d policy.Decision) (rules []string) {
	for _, r := range d.Rules {
		rules = append(rules, r.Rule)
	}
	return rules
}

func TestToRedactTwiceIsToRedactOnce(t *testing.T) {
	t.Parallel()
	g := ruled(t,
		policy.Rule{Name: "cards", Hook: policy.PreOutput, Action: policy.Redact, Redact: `\b(?:\d[ -]?){13,16}\b`},
		policy.Rule{Name: "words", Hook: policy.PreOutput, Action: policy.Redact, Redact: `(?i)[a-z]+red[a-z]*`})
	d := g.Decide(said("pay 4111 1111 1111 1111"))
	require.Equal(t, policy.Redact, d.Action)
	require.True(t, d.Passes())
	once := d.Redacted("pay 4111 1111 1111 1111, Fredy and [redacted]hundred")
	require.Equal(t, "pay [redacted], [redacted] and [redacted][redacted]", once)
	require.Equal(t, once, d.Redacted(once))

	_, err := condition.NewRules([]policy.Rule{{Name: "empty", Hook: policy.PreOutput, Action: policy.Redact, Redact: `x*`}})
	require.ErrorContains(t, err, "matches the empty text")
}

// A rule that redacts is recorded as what it came to, in each piece by itself. What it takes out it still does.
func TestWhatIsNotThereIsNotTakenOut(t *testing.T) {
	t.Parallel()
	words := policy.Rule{Name: "words", Hook: policy.PreOutput, Action: policy.Redact, Redact: `^(?:secret|\[redacted\])$`}
	for name, c := range map[string]struct {
		pieces  []string
		partial bool
		want    policy.Action
	}{
		"nothing":              {[]string{"hello"}, false, policy.Allow},
		"all of it":            {[]string{"secret"}, false, policy.Redact},
		"one of its pieces":    {[]string{"hello", "secret"}, false, policy.Redact},
		"a line, and no piece": {[]string{"hello\nsecret"}, false, policy.Allow},
		"taken out already":    {[]string{"[redacted]"}, false, policy.Allow},
		"it may yet come":      {[]string{"hello"}, true, policy.Redact},
	} {
		e := said(strings.Join(c.pieces, "\n"))
		e.Parts, e.Partial = c.pieces, c.partial
		d := ruled(t, words).Decide(e)
		require.Equal(t, c.want, d.Action, name)
		last := d.Rules[len(d.Rules)-1]
		require.True(t, last.Matched, name)
		require.Equal(t, c.want, last.Action, name)
		require.Equal(t, "[redacted]", d.Redacted("secret"), "whatever was decided about the rest")
	}
	held := ruled(t, words, policy.Rule{Name: "wait", Hook: policy.PreOutput, Action: policy.Hold})
	for text, want := range map[string]policy.Action{"hello": policy.Allow, "secret": policy.Redact} {
		d := held.Decide(said(text))
		require.Equal(t, policy.Hold, d.Action)
		d.Approve("telegram:1001")
		require.Equal(t, want, d.Action)
	}
}

// What is still being written may yet become what a rule is about.
func TestRulesAboutTheTextApplyToItsBeginning(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rule policy.Rule
		want policy.Action
	}{
		"word that may come":     {policy.Rule{Action: policy.Block, When: `text.contains("secret")`}, policy.Block},
		"word elsewhere":         {policy.Rule{Action: policy.Block, When: `output.channel == "slack" && text.contains("secret")`}, policy.Allow},
		"word elsewhere, turned": {policy.Rule{Action: policy.Block, When: `text.contains("secret") && output.channel == "slack"`}, policy.Allow},
		"long":                   {policy.Rule{Action: policy.Hold, When: `size(text) > 1000`}, policy.Hold},
		"whatever it says":       {policy.Rule{Action: policy.Redact, Redact: `\d{16}`}, policy.Redact},
		"other hours":            {policy.Rule{Action: policy.Block, When: `now.getHours() >= 22`}, policy.Allow},
		"this hour":              {policy.Rule{Action: policy.Block, When: `now.getHours() == 12`}, policy.Block},
		"walk over words":        {policy.Rule{Action: policy.Block, When: `text.split(" ").exists(w, w == "x")`}, policy.Block},
	} {
		c.rule.Name, c.rule.Hook = "r", policy.PreOutput
		e := said("the beginn")
		e.Partial = true
		require.Equal(t, c.want, ruled(t, c.rule).Decide(e).Action, name)
	}
}

func TestADeliveryCountsOnce(t *testing.T) {
	t.Parallel()
	g := ruled(t, policy.Rule{Name: "few", Hook: policy.PreOutput, Action: policy.Block, Rate: &policy.Rate{Limit: 1, Per: time.Hour, By: policy.RateByConversation}})
	first, second := said("a"), said("b")
	second.ID = "dlv_2"
	for range 3 {
		require.Equal(t, policy.Allow, g.Decide(second).Action, "a look counts nothing")
	}
	first.Effects, second.Effects = true, true
	require.Equal(t, policy.Allow, g.Decide(first).Action)
	first.Now = first.Now.Add(time.Minute)
	require.Equal(t, policy.Allow, g.Decide(first).Action, "tried again")
	require.Equal(t, policy.Block, g.Decide(second).Action)
	elsewhere := second
	elsewhere.Route.Conversation = "1002"
	require.Equal(t, policy.Allow, g.Decide(elsewhere).Action)
}

// What the check says is what happens: for any gate, rules and texts.
func TestALookSaysWhatASendDoes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := ruled(t, anyRules(t)...)
		start := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
		for i := range rapid.IntRange(1, 12).Draw(t, "texts") {
			e := said(rapid.SampledFrom([]string{"", "hello", "a secret", "4111111111111111"}).Draw(t, "text"))
			e.ID = fmt.Sprintf("dlv_%d", rapid.IntRange(0, i).Draw(t, "id"))
			start = start.Add(time.Duration(rapid.IntRange(0, 90).Draw(t, "minutes")) * time.Minute)
			e.Now = start
			e.Label = flow.NewLabel(rapid.SampledFrom(flow.Levels()).Draw(t, "level"), flow.Trusted)
			e.Kind = rapid.SampledFrom([]string{"reply", "message", policy.KindNotice}).Draw(t, "kind")
			e.UnknownPlace = rapid.Bool().Draw(t, "unheard")
			e.Route.Channel = rapid.SampledFrom([]string{"telegram", "fax"}).Draw(t, "channel")
			look := g.Decide(e)
			again := g.Decide(e)
			e.Effects = true
			sent := g.Decide(e)
			require.True(t, look.Same(&again), "%+v\n%+v", look, again)
			require.True(t, look.Same(&sent), "%+v\n%+v", look, sent)
			require.Equal(t, look.Terms, sent.Terms)
			require.Equal(t, look.Redacted(e.Text), sent.Redacted(e.Text))
		}
	})
}

func anyRules(t *rapid.T) []policy.Rule {
	var rules []policy.Rule
	for i := range rapid.IntRange(0, 5).Draw(t, "rules") {
		r := policy.Rule{
			Name: fmt.Sprint("r", i), Hook: policy.PreOutput, Action: rapid.SampledFrom([]policy.Action{policy.Block, policy.Hold, policy.Redact}).Draw(t, "action"),
			When: rapid.SampledFrom([]string{
				"", `text.contains("secret")`, `output.sink > PUBLIC`, `output.kind == "reply"`, `now.getHours() < 6`, `output.channel == "fax"`, `size(text) / size(text) == 1`,
			}).Draw(t, "when"),
		}
		if r.Action == policy.Redact {
			r.Redact = `\d{16}`
		}
		if rapid.Bool().Draw(t, "rated") {
			r.Rate = &policy.Rate{
				Limit: rapid.IntRange(1, 3).Draw(t, "limit"), Per: time.Hour,
				By: rapid.SampledFrom([]policy.RateBy{policy.RateByAll, policy.RateByConversation}).Draw(t, "by"),
			}
		}
		rules = append(rules, r)
	}
	return rules
}

// A password is known in the header that a server says back, wherever it begins in it.
func TestSecretsInTheBase64OfMore(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-hunter2"
	secrets, err := policy.NewSecrets(nil, []string{secret})
	require.NoError(t, err)
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.RawURLEncoding} {
		for _, before := range []string{"", "a", "ab", "abc:", "user:"} {
			for _, after := range []string{"", "x", "xy", "xyz"} {
				text := secrets.Redact("Basic " + encoding.EncodeToString([]byte(before+secret+after)))
				require.Contains(t, text, "[secret]", before+"|"+after)
				for _, piece := range strings.Split(strings.TrimPrefix(text, "Basic "), "[secret]") {
					raw, _ := base64.RawStdEncoding.DecodeString(strings.TrimRight(piece, "="))
					require.NotContains(t, string(raw), "hunter2")
				}
			}
		}
	}
	require.Equal(t, "nothing of it", secrets.Redact("nothing of it"))
}
