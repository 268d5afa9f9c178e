package app_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters/discord/discordtest"
	"sluice/adapters/slack/slacktest"
)

func TestSlackThroughTheGateway(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"socket", "http"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			slack := slacktest.Start(t, slacktest.Options{HTTP: mode == "http"})
			g := start(t, `owners: ["slack:`+slacktest.Person(1)+`"]
models: { default: offline/echo }
channels:
  slack:
    accounts:
      default: { botToken: `+slacktest.BotToken+`, appToken: `+slacktest.AppToken+`, signingSecret: `+slacktest.SigningSecret+`, mode: `+mode+`, apiBase: "`+slack.URL()+`" }
`)
			slack.Callback(g.url("/channels/slack/default"))
			slack.Say(1, "hello <@"+slacktest.Person(1)+"> &amp; all")
			shown, err := slack.WaitShown(t.Context(), slacktest.DirectID(1), 1)
			require.NoError(t, err)
			require.Contains(t, shown[0].Text, "echo: hello")
			require.Contains(t, shown[0].Text, "&amp; all")
			require.NoError(t, slack.WaitConfirmed(t.Context()))

			g.end()
			slack.Say(1, "still there?")
			g.begin()
			slack.Callback(g.url("/channels/slack/default"))
			shown, err = slack.WaitShown(t.Context(), slacktest.DirectID(1), 2)
			require.NoError(t, err)
			require.Equal(t, "echo: still there?", shown[1].Text)
			require.Empty(t, slack.Violations())
		})
	}
}

// decision is the gate's, as policy check shows it.
type decision struct {
	Action, Reason string
	Rules          []struct {
		Rule    string
		Matched bool
	}
}

func (g *gateway) check(t *testing.T, query string) decision {
	t.Helper()
	resp := g.call(http.MethodGet, "/v1/policy/check?"+query, "")
	raw, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode, "%s", raw)
	var d decision
	require.NoError(t, json.Unmarshal(raw, &d), "%s", raw)
	return d
}

// awaitBlocked waits until the gate has held back a text. It has to ask: nobody is told of what was not sent.
func (g *gateway) awaitBlocked(t *testing.T, text string) {
	t.Helper()
	deadline, tick := time.After(patience), time.NewTicker(10*time.Millisecond)
	defer tick.Stop()
	for {
		raw, err := io.ReadAll(g.call(http.MethodGet, "/v1/deliveries?status=blocked", "").Body)
		require.NoError(t, err)
		if strings.Contains(string(raw), text) {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%q was not held back: %s", text, raw)
		}
	}
}

// The owner silences the bot in a group: it goes on elsewhere, and still hears that it may speak again.
func TestOwnerSilencesADiscordGroup(t *testing.T) {
	t.Parallel()
	discord := discordtest.Start(t, discordtest.Options{})
	g := start(t, `owners: ["discord:1"]
models: { default: offline/echo }
channels:
  discord:
    groups: { "`+discordtest.General+`": { requireMention: false } }
    accounts: { default: { token: "`+discord.Token()+`", apiBase: "`+discord.URL()+`" } }
`)
	say := func(channel, text string) { discord.Say(channel, 1, text) }
	awaits := func(channel string, n int, text string) {
		t.Helper()
		shown, err := discord.WaitShown(t.Context(), channel, n)
		require.NoError(t, err)
		require.Len(t, shown, n)
		require.Contains(t, shown[n-1].Content, text)
	}
	group := "channel=discord&chatType=group&to=" + discordtest.General
	say(discordtest.General, "one")
	awaits(discordtest.General, 1, "one")
	require.Equal(t, "allow", g.check(t, group).Action)
	say(discordtest.General, "/send off")
	awaits(discordtest.General, 2, "Sending is off")
	say(discordtest.General, "two")
	g.awaitBlocked(t, "two") // by what holds when it would be sent: not after the next word of the owner
	say(discordtest.DirectID(1), "here?")
	awaits(discordtest.DirectID(1), 1, "here?")
	silenced := g.check(t, group)
	require.Equal(t, "block", silenced.Action)
	require.Contains(t, silenced.Reason, "/send")
	say(discordtest.General, "/send on")
	awaits(discordtest.General, 3, "Sending is on")
	say(discordtest.General, "three")
	awaits(discordtest.General, 4, "three")
	require.Empty(t, discord.Violations())
}

func TestConfigSilencesDiscordGroups(t *testing.T) {
	t.Parallel()
	discord := discordtest.Start(t, discordtest.Options{})
	g := start(t, `owners: ["discord:1"]
models: { default: offline/echo }
session: { sendPolicy: { rules: [{ match: { channel: discord, chatType: group }, action: deny }] } }
channels:
  discord:
    groupPolicy: open
    accounts: { default: { token: "`+discord.Token()+`", apiBase: "`+discord.URL()+`" } }
`)
	discord.Say(discordtest.General, 1, "<@"+discordtest.BotID+"> one")
	discord.Say(discordtest.DirectID(1), 1, "here?")
	shown, err := discord.WaitShown(t.Context(), discordtest.DirectID(1), 1)
	require.NoError(t, err)
	require.Contains(t, shown[0].Content, "here?")
	blocked := g.check(t, "channel=discord&chatType=group&to="+discordtest.General)
	require.Equal(t, "block", blocked.Action)
	require.Contains(t, blocked.Reason, "sendPolicy.rules[0]")
	require.Equal(t, "allow", g.check(t, "channel=discord&chatType=direct&to="+discordtest.DirectID(1)).Action)
	require.Empty(t, discord.Shown(discordtest.General))
	require.Empty(t, discord.Violations())
}
