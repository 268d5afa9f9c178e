package policy_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/policy"
	"sluice/policy/flow"
	"sluice/sessions"
)

func discordGroup() policy.Egress {
	return policy.Egress{
		Label: flow.Bottom(), Agent: "main", Kind: "reply", Key: "agent:main:discord:group:42",
		Route: sessions.Route{Channel: "discord", Account: "default", ChatType: sessions.Group, Conversation: "42", Thread: "7"},
	}
}

func TestSendPolicyMatches(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		match policy.SendMatch
		want  bool
	}{
		"nothing":              {policy.SendMatch{}, true},
		"channel":              {policy.SendMatch{Channel: "Discord"}, true},
		"other channel":        {policy.SendMatch{Channel: "telegram"}, false},
		"chat type":            {policy.SendMatch{ChatType: "group"}, true},
		"dm is direct":         {policy.SendMatch{ChatType: "dm"}, false},
		"account":              {policy.SendMatch{Account: "default"}, true},
		"to":                   {policy.SendMatch{To: "42"}, true},
		"not to":               {policy.SendMatch{To: "4"}, false},
		"thread":               {policy.SendMatch{Thread: "7"}, true},
		"agent":                {policy.SendMatch{Agent: "main"}, true},
		"kind":                 {policy.SendMatch{Kind: "message"}, false},
		"key prefix, bare":     {policy.SendMatch{KeyPrefix: "discord:group:"}, true},
		"key prefix, raw":      {policy.SendMatch{KeyPrefix: "agent:main:"}, true},
		"raw key prefix":       {policy.SendMatch{RawKeyPrefix: "agent:main:"}, true},
		"raw key prefix, bare": {policy.SendMatch{RawKeyPrefix: "discord:"}, false},
		"all but one":          {policy.SendMatch{Channel: "discord", ChatType: "group", Agent: "other"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := policy.NewSendPolicy(policy.Allow, []policy.SendRule{{Match: c.match, Action: policy.Block}})
			require.NoError(t, err)
			d := policy.NewGate(nil, p, nil).Decide(discordGroup())
			require.Equal(t, c.want, d.Action == policy.Block, "%+v", d)
		})
	}
}

func TestPrecedence(t *testing.T) {
	t.Parallel()
	deny := policy.SendRule{Match: policy.SendMatch{ChatType: "group"}, Action: policy.Block}
	allow := policy.SendRule{Match: policy.SendMatch{Channel: "discord"}, Action: policy.Allow}
	for name, c := range map[string]struct {
		byDefault policy.Action
		rules     []policy.SendRule
		override  sessions.SendPolicy
		want      policy.Action
		by        string
	}{
		"no policy":              {"", nil, "", policy.Allow, "sendPolicy.default"},
		"default deny":           {policy.Block, nil, "", policy.Block, "sendPolicy.default"},
		"allow over default":     {policy.Block, []policy.SendRule{allow}, "", policy.Allow, "sendPolicy.rules[0]"},
		"deny over allow":        {policy.Allow, []policy.SendRule{allow, deny}, "", policy.Block, "sendPolicy.rules[1]"},
		"override over deny":     {policy.Block, []policy.SendRule{deny}, sessions.SendAllow, policy.Allow, "override"},
		"override over allow":    {policy.Allow, []policy.SendRule{allow}, sessions.SendDeny, policy.Block, "override"},
		"inherit looks at rules": {policy.Allow, []policy.SendRule{deny}, sessions.SendInherit, policy.Block, "sendPolicy.rules[0]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := policy.NewSendPolicy(c.byDefault, c.rules)
			require.NoError(t, err)
			e := discordGroup()
			e.Override = c.override
			d := policy.NewGate(nil, p, nil).Decide(e)
			require.Equal(t, c.want, d.Action)
			last := d.Rules[len(d.Rules)-1]
			require.Equal(t, c.by, last.Rule)
			require.True(t, last.Matched)
			require.Equal(t, policy.RuleFlow, d.Rules[0].Rule, "the flow check is always the first")
			require.NotEmpty(t, d.Reason)

			e.Kind = policy.KindNotice
			require.Equal(t, policy.Allow, policy.NewGate(nil, p, nil).Decide(e).Action, "a command always answers")
		})
	}
}

func TestBadRulesAreNamed(t *testing.T) {
	t.Parallel()
	_, err := policy.NewSendPolicy(policy.Allow, []policy.SendRule{{Action: policy.Allow}, {Match: policy.SendMatch{ChatType: "crowd"}, Action: policy.Block}})
	require.ErrorContains(t, err, `sendPolicy.rules[1].match.chatType: "crowd"`)
	_, err = policy.NewSendPolicy(policy.Allow, []policy.SendRule{{Action: "maybe"}})
	require.ErrorContains(t, err, "sendPolicy.rules[0].action")
	_, err = policy.NewSendPolicy("maybe", nil)
	require.ErrorContains(t, err, "sendPolicy.default")
}

// The whole lattice at one channel: 10 of the 16 pairs flow.
func TestFlowMatrix(t *testing.T) {
	t.Parallel()
	flows := 0
	for _, text := range flow.Levels() {
		for _, place := range flow.Levels() {
			g := policy.NewGate(map[string]policy.Sink{"discord": {Level: place}}, nil, nil)
			e := discordGroup()
			e.Label = flow.NewLabel(text, flow.Untrusted)
			d := g.Decide(e)
			require.Equal(t, place.Rank() >= text.Rank(), d.Action == policy.Allow)
			if d.Action == policy.Allow {
				flows++
				continue
			}
			require.Equal(t, policy.RuleFlow, d.Rules[len(d.Rules)-1].Rule)
			e.Override, e.Kind = sessions.SendAllow, policy.KindNotice
			require.Equal(t, policy.Block, g.Decide(e).Action, "no override lifts the flow check, not even for a notice")
		}
	}
	require.Equal(t, 10, flows)
}

func TestSinkLevel(t *testing.T) {
	t.Parallel()
	g := policy.NewGate(map[string]policy.Sink{"discord": {
		Level:         flow.Confidential,
		Accounts:      map[string]flow.Level{"ops": flow.Internal},
		Conversations: map[sessions.ConversationID]flow.Level{"42": flow.Public, "43": flow.Restricted, "44": {}},
	}, "fax": {}}, nil, nil)
	level := func(channel, account string, to sessions.ConversationID) flow.Level {
		return g.SinkLevel(sessions.Route{Channel: channel, Account: account, Conversation: to})
	}
	require.Equal(t, flow.Confidential, level("discord", "default", "1"))
	require.Equal(t, flow.Internal, level("discord", "ops", "1"))
	require.Equal(t, flow.Public, level("discord", "ops", "42"))
	require.Equal(t, flow.Confidential, level("discord", "default", "43"), "a place is never above its channel")
	require.Equal(t, flow.Confidential, level("discord", "default", "44"))
	require.Equal(t, flow.Public, level("fax", "default", "1"))
	require.Equal(t, flow.Public, level("pigeon", "default", "1"))
}

func TestInvalidLabelGoesNowhere(t *testing.T) {
	t.Parallel()
	e := discordGroup()
	e.Label = flow.Label{}
	g := policy.NewGate(map[string]policy.Sink{"discord": {Level: flow.Restricted}}, nil, nil)
	require.Equal(t, policy.Block, g.Decide(e).Action)
}

func anyEgress(t *rapid.T) policy.Egress {
	e := discordGroup()
	e.Route.Channel = rapid.SampledFrom([]string{"discord", "telegram"}).Draw(t, "channel")
	e.Route.ChatType = rapid.SampledFrom([]sessions.ChatType{sessions.Direct, sessions.Group, sessions.Channel}).Draw(t, "chatType")
	e.Kind = rapid.SampledFrom([]string{"reply", "message"}).Draw(t, "kind")
	return e
}

func anyRule(t *rapid.T, action policy.Action) policy.SendRule {
	return policy.SendRule{Action: action, Match: policy.SendMatch{
		Channel:  rapid.SampledFrom([]string{"", "discord", "telegram"}).Draw(t, "match channel"),
		ChatType: rapid.SampledFrom([]string{"", "dm", "group", "channel"}).Draw(t, "match type"),
		Kind:     rapid.SampledFrom([]string{"", "reply", "message"}).Draw(t, "match kind"),
	}}
}

// A matching deny wins whatever else there is and wherever it stands; decisions repeat.
func TestDenyWinsProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var rules []policy.SendRule
		for range rapid.IntRange(0, 6).Draw(rt, "rules") {
			rules = append(rules, anyRule(rt, rapid.SampledFrom([]policy.Action{policy.Allow, policy.Block}).Draw(rt, "action")))
		}
		e := anyEgress(rt)
		p, err := policy.NewSendPolicy(policy.Allow, rules)
		require.NoError(rt, err)
		g := policy.NewGate(nil, p, nil)
		d := g.Decide(e)
		require.True(rt, reflect.DeepEqual(d, g.Decide(e)))
		if d.Action == policy.Block {
			more, err := policy.NewSendPolicy(policy.Allow, append([]policy.SendRule{anyRule(rt, policy.Allow)}, rules...))
			require.NoError(rt, err)
			require.Equal(rt, policy.Block, policy.NewGate(nil, more, nil).Decide(e).Action, "no allow carves a hole into a deny")
		}
	})
}

func BenchmarkDecide(b *testing.B) {
	var rules []policy.SendRule
	for range 20 {
		rules = append(rules, policy.SendRule{Match: policy.SendMatch{Channel: "telegram", ChatType: "group"}, Action: policy.Block})
	}
	p, err := policy.NewSendPolicy(policy.Allow, rules)
	require.NoError(b, err)
	g, e := policy.NewGate(nil, p, nil), discordGroup()
	b.ReportAllocs()
	for b.Loop() {
		g.Decide(e)
	}
}

// A space's level binds its groups, and groups of which nobody says where they are.
func TestLevelOfASpace(t *testing.T) {
	t.Parallel()
	g := policy.NewGate(map[string]policy.Sink{"discord": {
		Level: flow.Confidential, Spaces: map[string]flow.Level{"7": flow.Public, "8": flow.Internal},
		Conversations: map[sessions.ConversationID]flow.Level{"80": flow.Public},
	}}, nil, nil)
	for _, c := range []struct {
		route sessions.Route
		want  flow.Level
	}{
		{sessions.Route{Space: "7", Conversation: "70"}, flow.Public},
		{sessions.Route{Space: "8", Conversation: "81"}, flow.Internal},
		{sessions.Route{Space: "8", Conversation: "80"}, flow.Public},
		{sessions.Route{Space: "9", Conversation: "90"}, flow.Confidential},
		{sessions.Route{Conversation: "90"}, flow.Public},
		{sessions.Route{ChatType: sessions.Direct, Conversation: "5"}, flow.Confidential},
	} {
		c.route.Channel = "discord"
		require.Equal(t, c.want, g.SinkLevel(c.route), "%+v", c.route)
	}
	d := g.Decide(policy.Egress{Route: sessions.Route{Channel: "discord", Space: "8", Conversation: "81"}, Label: flow.NewLabel(flow.Confidential, flow.Trusted)})
	require.Equal(t, policy.Block, d.Action)
	require.Contains(t, d.Reason, "guild or workspace")
}

// What is written about a conversation holds as well when it has got a new id.
func TestConversationWithANewID(t *testing.T) {
	t.Parallel()
	send, err := policy.NewSendPolicy(policy.Allow, []policy.SendRule{{Match: policy.SendMatch{To: "-9"}, Action: policy.Block}})
	require.NoError(t, err)
	g := policy.NewGate(map[string]policy.Sink{"telegram": {
		Level: flow.Confidential, Conversations: map[sessions.ConversationID]flow.Level{"-1": flow.Public},
	}}, send, nil)
	moved := func(oldest sessions.ConversationID) policy.Egress {
		return policy.Egress{
			Label: flow.NewLabel(flow.Internal, flow.Trusted), Kind: "reply", Oldest: oldest,
			Route: sessions.Route{Channel: "telegram", ChatType: sessions.Group, Conversation: "-1001"},
		}
	}
	require.Equal(t, policy.Allow, g.Decide(moved("")).Action)
	d := g.Decide(moved("-1"))
	require.Equal(t, policy.Block, d.Action)
	require.Contains(t, d.Reason, "the classification of conversation -1,")
	require.Equal(t, policy.Block, g.Decide(moved("-9")).Action, "a rule of the send policy too")
}

// The entry for all other groups bounds them, and nothing that is listed by itself.
func TestLevelOfOtherGroups(t *testing.T) {
	t.Parallel()
	g := policy.NewGate(map[string]policy.Sink{"discord": {
		Level: flow.Confidential, Spaces: map[string]flow.Level{"guild": flow.Confidential},
		Conversations: map[sessions.ConversationID]flow.Level{"*": flow.Public, "42": flow.Confidential},
	}}, nil, nil)
	for name, c := range map[string]struct {
		route  sessions.Route
		oldest sessions.ConversationID
		want   policy.Action
	}{
		"any other":        {sessions.Route{ChatType: sessions.Group, Conversation: "7"}, "7", policy.Block},
		"listed":           {sessions.Route{ChatType: sessions.Group, Conversation: "42"}, "42", policy.Allow},
		"listed as it was": {sessions.Route{ChatType: sessions.Group, Conversation: "8"}, "42", policy.Allow},
		"listed space":     {sessions.Route{ChatType: sessions.Group, Conversation: "7", Space: "guild"}, "7", policy.Allow},
		"direct":           {sessions.Route{ChatType: sessions.Direct, Conversation: "9"}, "9", policy.Allow},
	} {
		c.route.Channel = "discord"
		d := g.Decide(policy.Egress{Label: flow.NewLabel(flow.Internal, flow.Trusted), Kind: "reply", Route: c.route, Oldest: c.oldest})
		require.Equal(t, c.want, d.Action, "%s: %+v", name, d)
		if c.want == policy.Block {
			require.Contains(t, d.Reason, `the classification of group "*"`)
		}
	}
}

// A channel may look the levels of its conversations up; the lookup can only lower the channel's level.
func TestSinkLevelIsLookedUp(t *testing.T) {
	t.Parallel()
	g := policy.NewGate(map[string]policy.Sink{"node": {Level: flow.Confidential, Lookup: func(id sessions.ConversationID) flow.Level {
		return map[sessions.ConversationID]flow.Level{"low": flow.Internal, "high": flow.Restricted, "same": flow.Confidential}[id]
	}}}, nil, nil)
	for id, want := range map[sessions.ConversationID]flow.Level{"low": flow.Internal, "high": flow.Confidential, "same": flow.Confidential} {
		route := sessions.Route{Channel: "node", ChatType: sessions.Direct, Conversation: id}
		require.Equal(t, want, g.SinkLevel(route), id)
		d := g.Decide(policy.Egress{Route: route, Label: flow.NewLabel(flow.Confidential, flow.Trusted)})
		require.Equal(t, id == "low", d.Action == policy.Block, id)
	}
}
