package address_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/sessions/address"
)

func TestKeys(t *testing.T) {
	t.Parallel()
	direct := address.Route{Channel: "telegram", Account: "work", ChatType: address.Direct, Conversation: "7"}
	group := address.Route{Channel: "telegram", Account: "work", ChatType: address.Group, Conversation: "-100", Thread: "3"}
	thread := address.Route{Channel: "slack", Account: "default", ChatType: address.Channel, Conversation: "C0AB", Thread: "1.2"}
	for scope, want := range map[address.DMScope]string{
		"":                                 "agent:main:main",
		address.ScopeMain:                  "agent:main:main",
		address.ScopePerPeer:               "agent:main:direct:7",
		address.ScopePerChannelPeer:        "agent:main:telegram:direct:7",
		address.ScopePerAccountChannelPeer: "agent:main:telegram:work:direct:7",
	} {
		k := address.Keyer{Scope: scope}
		require.Equal(t, address.Key(want), k.Key("main", direct, "7"))
		require.Equal(t, address.Key("agent:main:telegram:group:-100:topic:3"), k.Key("main", group, "7"), "a group's key knows no scope")
		require.Equal(t, address.Key("agent:main:slack:channel:C0AB:thread:1.2"), k.Key("main", thread, "7"), "ids keep their case")
	}
}

func TestKeyKinds(t *testing.T) {
	t.Parallel()
	k := address.Keyer{}
	for key, want := range map[address.Key]address.KeyKind{
		"agent:main:main":                    address.KindMain,
		"agent:main:telegram:group:-1":       address.KindGroup,
		"agent:main:slack:channel:C0:thread": address.KindGroup,
		"agent:main:direct:7":                address.KindOther,
		"agent:main:direct:x:group:1":        address.KindOther,
		"agent:main:direct:group:1":          address.KindOther,
		"agent:main:slack:direct:x:group:1":  address.KindOther,
		"agent:main:http:sess_1":             address.KindOther,
		"cron:nightly":                       address.KindCron,
		"hook:1":                             address.KindHook,
		"node-7":                             address.KindNode,
	} {
		require.Equal(t, want, key.Kind(k), key)
	}
	require.Equal(t, "telegram:group:-1", address.Key("agent:main:telegram:group:-1").Bare())
	main, err := k.Resolve("main", "ops")
	require.NoError(t, err)
	require.Equal(t, address.Key("agent:ops:main"), main)
	global, err := k.Resolve("global", "ops")
	require.NoError(t, err)
	require.Equal(t, main, global, "the reserved word never shows")
}

// Each name of a main session means it, whatever its key is called.
func TestMainHasSeveralNames(t *testing.T) {
	t.Parallel()
	k := address.Keyer{MainKey: "home"}
	for name, want := range map[string]address.Key{
		"main": "agent:ops:home", "home": "agent:ops:home", "agent:ops:home": "agent:ops:home", "agent:ops:main": "agent:ops:home",
		"agent:dev:main": "agent:dev:home", "agent:ops:direct:main": "agent:ops:direct:main", "agent:ops:subagent:home": "agent:ops:subagent:home",
	} {
		got, err := k.Resolve(name, "ops")
		require.NoError(t, err, name)
		require.Equal(t, want, got, name)
	}
	_, err := address.Keyer{}.Resolve("home", "ops")
	require.Error(t, err)
}

// With scope global all that is said to an agent is one session.
func TestGlobalScope(t *testing.T) {
	t.Parallel()
	k := address.Keyer{Global: true, Scope: address.ScopePerPeer}
	for _, route := range []address.Route{
		{Channel: "telegram", Account: "work", ChatType: address.Direct, Conversation: "7"},
		{Channel: "telegram", Account: "work", ChatType: address.Group, Conversation: "-100", Thread: "3"},
		{Channel: "slack", Account: "default", ChatType: address.Channel, Conversation: "C0AB"},
	} {
		key := k.Key("ops", route, "7")
		require.Equal(t, address.Key("agent:ops:main"), key)
		require.Equal(t, address.KindMain, key.Kind(k))
	}
}

func TestKeysThatAreNone(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", "global", "unknown", "agent:main:global", "agent:main:unknown", "agent:main:subagent", "agent:main:subagent:", "agent:", "agent:main", "agent:main:",
		"agent::main", "agent:Main:main", "agent:-a:main", "agent:a b:main", "agent:main::x", "cron:", "hook:", "node-", "Main", "agent:main:a b", "agent:main:\u00a0\u0000",
		"agent:" + strings.Repeat("a", 65) + ":main", "cron:" + strings.Repeat("a", 600),
	} {
		_, err := address.ParseKey(s)
		require.Error(t, err, s)
	}
}

// What a keyer makes of platforms' ids is a key, and the ids stand in it as the platforms spell them.
func TestMadeKeysParseProperty(t *testing.T) {
	t.Parallel()
	id := rapid.StringMatching(`[A-Za-z0-9!@#.:_-]{0,10}[A-Za-z0-9]`)
	rapid.Check(t, func(t *rapid.T) {
		k := address.Keyer{
			Scope:   rapid.SampledFrom([]address.DMScope{address.ScopeMain, address.ScopePerPeer, address.ScopePerChannelPeer, address.ScopePerAccountChannelPeer}).Draw(t, "scope"),
			MainKey: rapid.SampledFrom([]string{"", "main", "home"}).Draw(t, "mainKey"),
		}
		route := address.Route{
			Channel: rapid.SampledFrom([]string{"telegram", "slack"}).Draw(t, "channel"), Account: "default", Conversation: address.ConversationID(id.Draw(t, "conversation")),
			ChatType: rapid.SampledFrom([]address.ChatType{address.Direct, address.Group, address.Channel}).Draw(t, "type"),
		}
		if rapid.Bool().Draw(t, "threaded") {
			route.Thread = address.ThreadID(id.Draw(t, "thread"))
		}
		peer := address.UserID(id.Draw(t, "peer"))
		key := k.Key("ops", route, peer)
		parsed, err := k.Resolve(string(key), "other")
		require.NoError(t, err)
		require.Equal(t, key, parsed, "a key names its own session")
		require.Equal(t, "ops", key.Agent())
		if route.ChatType != address.Direct {
			require.Equal(t, address.KindGroup, key.Kind(k))
			require.Contains(t, key, string(route.Conversation))
			require.Contains(t, key, string(route.Thread))
		}
	})
}

func TestKeysOfWhatNoChatBegan(t *testing.T) {
	t.Parallel()
	for key, kind := range map[address.Key]address.KeyKind{
		"cron:nightly":                        address.KindCron,
		"hook:9f3c":                           address.KindHook,
		"node-Kitchen":                        address.KindNode,
		address.SubAgentKey("ops", "9f3c-11"): address.KindOther,
	} {
		parsed, err := address.ParseKey(string(key))
		require.NoError(t, err)
		require.Equal(t, kind, parsed.Kind(address.Keyer{}))
		require.Equal(t, kind == address.KindOther, parsed.SubAgent())
		require.True(t, parsed.Unattended())
	}
	for _, key := range []address.Key{"agent:main:main", "agent:main:telegram:group:-100", "agent:cron:main"} {
		require.False(t, key.Unattended(), key)
	}
}

func FuzzParseKey(f *testing.F) {
	for _, s := range []string{"agent:main:main", "cron:x", "hook:1", "node-1", "global", "agent:", "agent:a:", "agent:a:b c", "main", "agent:a:global", "agent:a:home", "agent:a:subagent:1", "agent:a:x:group:1:topic:2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		key, err := address.ParseKey(s)
		if err != nil {
			require.Empty(t, key)
			return
		}
		require.Equal(t, s, string(key), "a key is what was written")
		require.NotContains(t, []string{"global", "unknown"}, s)
		require.NotContains(t, []string{"global", "unknown", ""}, key.Bare())
		again, err := address.Keyer{MainKey: "home"}.Resolve(s, "ops")
		require.NoError(t, err)
		require.Equal(t, key.Agent(), again.Agent(), "no name leads to another agent")
		if again != key {
			require.Contains(t, []string{"main", "home"}, key.Bare())
		}
		if agent := key.Agent(); agent != "" {
			require.Equal(t, s, "agent:"+agent+":"+key.Bare())
		}
	})
}

func FuzzParseIDs(f *testing.F) {
	f.Add("sess_0123456789ab")
	f.Add("run_00000000000000000000000000000000")
	f.Fuzz(func(t *testing.T, s string) {
		if id, err := address.ParseID(s); err == nil {
			require.Len(t, string(id), len("sess_")+12)
		}
		if id, err := address.ParseRunID(s); err == nil {
			require.Len(t, string(id), len("run_")+32)
		}
		if id, err := address.ParseMessageID(s); err == nil {
			require.Len(t, string(id), len("msg_")+32)
		}
	})
}

func TestMadeIDsParse(t *testing.T) {
	t.Parallel()
	_, err := address.ParseID(string(address.NewID()))
	require.NoError(t, err)
	first, second := address.NewRunID(), address.NewRunID()
	_, err = address.ParseRunID(string(first))
	require.NoError(t, err)
	require.Less(t, first, second, "ids sort by time")
	_, err = address.ParseMessageID(string(address.NewMessageID()))
	require.NoError(t, err)
}

// Two different conversations never share a lane, whatever is in their ids.
func TestLanesAreDistinctProperty(t *testing.T) {
	t.Parallel()
	piece := rapid.StringMatching(`[a|%:7C]{0,3}`)
	rapid.Check(t, func(rt *rapid.T) {
		draw := func(name string) address.Route {
			return address.Route{
				Channel: piece.Draw(rt, name), Account: piece.Draw(rt, name),
				Conversation: address.ConversationID(piece.Draw(rt, name)), Thread: address.ThreadID(piece.Draw(rt, name)),
			}
		}
		a, b := draw("a"), draw("b")
		require.Equal(rt, a == b, a.Lane() == b.Lane())
		require.Less(rt, a.Lane().Partition(16), 16)
		_, err := address.ParseID(string(a.Lane()))
		require.Error(rt, err, "a conversation's lane is never a session's")
		answered := a
		answered.ReplyTo, answered.Title = "9", "x"
		require.Equal(rt, a.Lane(), answered.Lane())
	})
}

func TestLinkedIdentitiesShareAKey(t *testing.T) {
	t.Parallel()
	links := map[string]string{"telegram:1001": "ada", "slack:U1": "ada"}
	telegram := address.Route{Channel: "telegram", Account: "default", ChatType: address.Direct}
	slack := address.Route{Channel: "slack", Account: "work", ChatType: address.Direct}
	for scope, want := range map[address.DMScope][3]address.Key{
		address.ScopeMain:                  {"agent:a:main", "agent:a:main", "agent:a:main"},
		address.ScopePerPeer:               {"agent:a:direct:ada", "agent:a:direct:ada", "agent:a:direct:1001"},
		address.ScopePerChannelPeer:        {"agent:a:telegram:direct:ada", "agent:a:slack:direct:ada", "agent:a:slack:direct:1001"},
		address.ScopePerAccountChannelPeer: {"agent:a:telegram:default:direct:ada", "agent:a:slack:work:direct:ada", "agent:a:slack:work:direct:1001"},
	} {
		k := address.Keyer{Scope: scope, Links: links}
		got := [3]address.Key{k.Key("a", telegram, "1001"), k.Key("a", slack, "U1"), k.Key("a", slack, "1001")}
		require.Equal(t, want, got, "an id counts on its own channel only")
	}
}

func TestConversationOfAKey(t *testing.T) {
	t.Parallel()
	for key, want := range map[address.Key]address.Key{
		"agent:main:telegram:group:-1:topic:7":   "agent:main:telegram:group:-1",
		"agent:main:slack:channel:C1:thread:1.2": "agent:main:slack:channel:C1",
		"agent:main:slack:channel:C1":            "agent:main:slack:channel:C1",
		"agent:main:slack:direct:U1:thread:1":    "agent:main:slack:direct:U1:thread:1",
		"agent:main:slack:group::thread:1":       "agent:main:slack:group::thread:1",
		"agent:main:main":                        "agent:main:main",
		"cron:a:b:group:x:thread:1":              "cron:a:b:group:x:thread:1",
	} {
		require.Equal(t, want, key.Conversation(), key)
	}
}
