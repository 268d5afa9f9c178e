package router_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/outbound"
	"sluice/sessions"
)

// platforms are those where a group can be silenced, each with how a group of it looks.
func platforms() map[string]sessions.Route {
	return map[string]sessions.Route{
		"telegram": {ChatType: sessions.Group, Conversation: "-100"},
		"slack":    {ChatType: sessions.Channel, Conversation: "C1", Space: "T1"},
		"discord":  {ChatType: sessions.Channel, Conversation: "41", Space: "7"},
	}
}

// onPlatform makes the router judge by the real gate, on one more channel.
func onPlatform(t *testing.T, channel string, rules ...policy.SendRule) func(*bundle) {
	t.Helper()
	send, err := policy.NewSendPolicy(policy.Allow, rules)
	require.NoError(t, err)
	gate := policy.NewGate(map[string]policy.Sink{channel: {Level: flow.Public}}, send, nil)
	return func(b *bundle) {
		b.gate.forbid = func(e policy.Egress) *policy.Decision {
			d := gate.Decide(e)
			return &d
		}
		b.settings.Owners = []string{channel + ":owner"}
		b.settings.Channels[channel] = b.settings.Channels["test"]
	}
}

// at is a message that mentions the bot in a place.
func at(channel string, place sessions.Route, id, who, text string) adapters.Inbound {
	m := inGroup(string(place.Conversation), who, id, text, true)
	m.Route.Channel, m.Route.ChatType, m.Route.Space = channel, place.ChatType, place.Space
	return m
}

// check asks what the gate would decide about an answer in a place, as policy check does.
func (b *bundle) check(channel string, place sessions.Route) policy.Decision {
	b.t.Helper()
	d, err := b.Sender.CheckPolicy(b.t.Context(), outbound.Check{Channel: channel, ChatType: place.ChatType, To: string(place.Conversation)})
	require.NoError(b.t, err)
	return d
}

// matched are the rules that a decision was made by.
func matched(d policy.Decision) (rules []string) {
	for _, r := range d.Rules {
		if r.Matched {
			rules = append(rules, r.Rule)
		}
	}
	return rules
}

func TestSendOffInAGroupOfEachPlatform(t *testing.T) {
	t.Parallel()
	for channel, group := range platforms() {
		t.Run(channel, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBundle(t, onPlatform(t, channel))
				other := group
				other.Conversation += "2"
				n := 0
				say := func(place sessions.Route, who, text string) []string {
					n++
					b.hear(at(channel, place, fmt.Sprint(n), who, text))
					synctest.Wait()
					return b.chat.texts(string(place.Conversation))
				}
				require.Len(t, say(group, "owner", "/send off"), 1, "the command is answered")
				require.Len(t, say(group, "ann", "are you there?"), 1, "silent there")
				require.Len(t, say(other, "ann", "and here?"), 1, "not elsewhere")
				direct := in("owner", "d1", "and to me?")
				direct.Route.Channel = channel
				b.hear(direct)
				require.Contains(t, b.last("owner"), "and to me?")

				d := b.check(channel, group)
				require.Equal(t, policy.Block, d.Action)
				require.Equal(t, []string{"override"}, matched(d))
				require.Equal(t, policy.Allow, b.check(channel, other).Action)

				require.Len(t, say(group, "ann", "/send on"), 1, "nobody else may")
				require.Len(t, say(group, "owner", "/send on"), 2, "the owner is heard")
				require.Len(t, say(group, "ann", "and now?"), 3)
				require.Equal(t, policy.Allow, b.check(channel, group).Action)
			})
		})
	}
}

func TestTheSameRuleFromTheConfiguration(t *testing.T) {
	t.Parallel()
	for channel, group := range platforms() {
		t.Run(channel, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				rule := policy.SendRule{Match: policy.SendMatch{Channel: channel, ChatType: string(group.ChatType)}, Action: policy.Block}
				b := newBundle(t, onPlatform(t, channel, rule))
				b.hear(at(channel, group, "1", "ann", "are you there?"))
				synctest.Wait()
				require.Empty(t, b.chat.texts(string(group.Conversation)))
				direct := in("ann", "2", "and to me?")
				direct.Route.Channel = channel
				b.hear(direct)
				require.Contains(t, b.last("ann"), "and to me?")
				d := b.check(channel, group)
				require.Equal(t, policy.Block, d.Action)
				require.Equal(t, []string{"sendPolicy.rules[0]"}, matched(d))

				b.hear(at(channel, group, "3", "owner", "/send on"))
				require.Contains(t, b.last(string(group.Conversation)), "Sending is on")
				b.hear(at(channel, group, "4", "ann", "and now?"))
				require.Contains(t, b.last(string(group.Conversation)), "and now?", "the session's own word comes first")
				require.Equal(t, []string{"override"}, matched(b.check(channel, group)))
			})
		})
	}
}

// A direct chat may have an id of its own, and its session the person's: what is sent there is still judged by it.
func TestSendOffInADirectChatWithAnIDOfItsOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t) // dmScope per-peer
		b.hear(in("owner", "1", "/send off"))
		require.Contains(t, b.last("owner"), "Sending is off")
		d, err := b.Sender.CheckPolicy(t.Context(), outbound.Check{Channel: "test", ChatType: sessions.Direct, To: "chat-owner"})
		require.NoError(t, err)
		require.Equal(t, "override", d.Reason)
		sent, err := b.Sender.Send(t.Context(), outbound.Proactive{Channel: "test", To: "chat-owner", Text: "by the way"})
		require.NoError(t, err)
		require.Equal(t, policy.Block, sent.Decision.Action)
	})
}
