package app

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters/discord"
	"sluice/adapters/slack"
	"sluice/adapters/telegram"
	"sluice/adapters/webchat"
	"sluice/internal/config"
	"sluice/policy/flow"
	"sluice/router/place"
	"sluice/sessions"
)

// What the file says of groups, guilds, people and bindings reaches the router and the gate.
func TestSettingsOfGroupsAndPeople(t *testing.T) {
	t.Parallel()
	c, err := config.Loader{Getenv: func(string) (string, bool) { return "", false }, Home: "/home/ann"}.Parse("sluice.yaml", []byte(`
channels:
  discord:
    classification: INTERNAL
    allowBots: mentions
    accounts: { default: { token: discord-token-123456 } }
    groups:
      "guild:7": { allowRoles: [70], classification: PUBLIC }
      42: { requireMention: false, allowFrom: [5], topics: { 43: } }
      "*":
session: { dmScope: per-peer, identityLinks: { ada: ["telegram:1001", "discord:5"] } }
agents: { list: [{ id: main }, { id: work }] }
bindings: [{ match: { guild: 7 }, agent: work }, { match: { team: T1 }, agent: main }]
limits: { maxMediaBytes: 4096 }
`))
	require.NoError(t, err)
	s := routerSettings(c)
	discord := s.Channels["discord"]
	require.Equal(t, place.BotsMentions, discord.AllowBots)
	require.Equal(t, []string{"70"}, discord.Spaces["7"].AllowRoles)
	require.True(t, discord.Spaces["7"].RequireMention)
	require.Equal(t, []string{"5"}, discord.Groups["42"].AllowFrom)
	require.Equal(t, map[string]place.TopicSettings{"43": {RequireMention: true}}, discord.Groups["42"].Topics)
	require.Contains(t, discord.Groups, "*")
	require.Len(t, discord.Groups, 2)
	require.Equal(t, "7", s.Bindings[0].Space)
	require.Equal(t, "T1", s.Bindings[1].Space)
	require.Equal(t, 4096, s.MaxMediaBytes)
	direct := sessions.Route{Channel: "discord", ChatType: sessions.Direct}
	require.Equal(t, sessions.Key("agent:main:direct:ada"), s.Keyer.Key("main", direct, "5"))

	gate, err := newGate(c, nil, nil)
	require.NoError(t, err)
	in := func(space string, conversation sessions.ConversationID) flow.Level {
		return gate.SinkLevel(sessions.Route{Channel: "discord", ChatType: sessions.Channel, Space: space, Conversation: conversation})
	}
	require.Equal(t, flow.Public, in("7", "70"))
	require.Equal(t, flow.Internal, in("8", "42"))
}

// Each age of the configuration reaches the router as itself.
func TestSettingsOfRetention(t *testing.T) {
	t.Parallel()
	day := 24 * time.Hour
	got := retention(config.Retention{Events: "1d", Runs: "2d", Deliveries: "3d", Sessions: "4d", Archived: "5d", Media: "6d"})
	require.Equal(t, place.Retention{Events: day, Runs: 2 * day, Deliveries: 3 * day, Sessions: 4 * day, Archived: 5 * day, Media: 6 * day}, got)
	require.Zero(t, retention(config.Retention{}), "nothing keeps for ever")
}

// What the configuration says of a platform is what the platform's adapter says of itself.
func TestTheConfigurationKnowsThePlatforms(t *testing.T) {
	t.Parallel()
	loader := config.Loader{Getenv: func(string) (string, bool) { return "", false }, Home: "/home/ann"}
	c, err := loader.Parse("sluice.yaml", []byte(`
channels:
  telegram: { accounts: { default: { token: "1:a" } } }
  slack: { accounts: { default: { botToken: xoxb-1, appToken: xapp-1 } } }
  discord: { accounts: { default: { token: discord-token-123456 } } }
`))
	require.NoError(t, err)
	require.Equal(t, telegram.DefaultAPIBase, c.Channels.Telegram.Accounts["default"].APIBase)
	require.Equal(t, slack.DefaultAPIBase, c.Channels.Slack.Accounts["default"].APIBase)
	require.Equal(t, discord.DefaultAPIBase, c.Channels.Discord.Accounts["default"].APIBase)
	require.Equal(t, []string{sessions.Principal(webchat.Channel, webchat.Person)}, c.Owners)
	_, err = loader.Parse("sluice.yaml", []byte("bindings: [{ match: { channel: webchat, peer: "+webchat.Person+" }, agent: main }]"))
	require.NoError(t, err, "the person of the page is one for bindings")
}
