package policy_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/policy"
	"sluice/policy/flow"
	"sluice/sessions"
)

// The advice names what holds the text back: raising anything else changes nothing.
func TestBlockedFlowNamesWhatToRaise(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sink      policy.Sink
		want, not []string
	}{
		"channel": {
			policy.Sink{Level: flow.Public},
			[]string{"channels.discord.classification"},
			[]string{"classification of"},
		},
		"conversation": {
			policy.Sink{Level: flow.Restricted, Conversations: map[sessions.ConversationID]flow.Level{"42": flow.Internal}},
			[]string{"the classification of conversation 42"},
			[]string{"channels.discord.classification"},
		},
		"account": {
			policy.Sink{Level: flow.Restricted, Accounts: map[string]flow.Level{"default": flow.Internal}},
			[]string{"channels.discord.accounts.default.classification"},
			[]string{"channels.discord.classification"},
		},
		"all of them": {
			policy.Sink{
				Level: flow.Internal, Accounts: map[string]flow.Level{"default": flow.Public},
				Conversations: map[sessions.ConversationID]flow.Level{"42": flow.Internal},
			},
			[]string{"channels.discord.classification", "channels.discord.accounts.default.classification", "the classification of conversation 42"},
			nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := discordGroup()
			e.Label = flow.NewLabel(flow.Confidential, flow.Trusted)
			d := policy.NewGate(map[string]policy.Sink{"discord": c.sink}, nil, nil).Decide(e)
			require.Equal(t, policy.Block, d.Action)
			for _, s := range c.want {
				require.Contains(t, d.Reason, s)
			}
			for _, s := range c.not {
				require.NotContains(t, d.Reason, s)
			}
		})
	}
}

// A rule matches exactly if each of its fields does, said here a second time and more plainly.
func FuzzSendPolicy(f *testing.F) {
	f.Add("discord", "group", "42", "discord:", "agent:main:", "agent:main:discord:group:42", true)
	f.Add("", "dm", "", "", "", "cron:nightly", false)
	f.Add("Telegram", "crowd", "-100", "agent:", "x", "", true)
	f.Fuzz(func(t *testing.T, channel, chatType, to, keyPrefix, rawKeyPrefix, key string, deny bool) {
		action := policy.Allow
		if deny {
			action = policy.Block
		}
		match := policy.SendMatch{
			Channel: channel, ChatType: chatType, To: to, KeyPrefix: keyPrefix, RawKeyPrefix: rawKeyPrefix,
		}
		send, err := policy.NewSendPolicy("", []policy.SendRule{{Match: match, Action: action}})
		kind := strings.ToLower(chatType)
		if kind == "dm" {
			kind = "direct"
		}
		known := kind == "" || sessions.ChatType(kind).Valid()
		require.Equal(t, known, err == nil, "%v", err)
		if err != nil {
			return
		}
		e := discordGroup()
		e.Key = sessions.Key(key)
		want := (channel == "" || strings.EqualFold(channel, "discord")) && (kind == "" || kind == "group") && (to == "" || to == "42") &&
			(strings.HasPrefix(key, keyPrefix) || strings.HasPrefix(e.Key.Bare(), keyPrefix)) && strings.HasPrefix(key, rawKeyPrefix)
		d := policy.NewGate(nil, send, nil).Decide(e)
		require.Equal(t, want && deny, d.Action == policy.Block, "%+v", d)
		require.NotEmpty(t, d.Reason)
		last := d.Rules[len(d.Rules)-1]
		require.True(t, last.Matched, "the last rule looked at decided")
		require.Equal(t, d.Action, last.Action)
	})
}
