package discord_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/adapters/discord"
	"sluice/adapters/discord/discordtest"
)

func TestNewNamesEveryFault(t *testing.T) {
	t.Parallel()
	_, err := discord.New(discord.Config{
		Token: "Bot secret-of-mine", APIBase: "discord.com", GatewayURL: "https://discord.com", Shards: -1, FileHosts: []string{"https://x/"},
	})
	for _, part := range []string{"token", "apiBase", "gatewayURL", "shards", "fileHosts"} {
		require.ErrorContains(t, err, part)
	}
	require.NotContains(t, err.Error(), "secret-of-mine")
}

func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	const token = "a-token-that-nobody-should-see"
	cfg := discord.Config{Token: token, APIBase: "http://127.0.0.1:1"}
	text := fmt.Sprintf("%v %+v %#v", cfg, cfg, cfg)
	raw, err := json.Marshal(struct{ Token adapters.Secret }{token})
	require.NoError(t, err)
	cfg.Log = slog.New(slog.DiscardHandler)
	a, err := discord.New(cfg)
	require.NoError(t, err)
	_, err = a.Probe(t.Context())
	require.Error(t, err)
	require.NotContains(t, text+string(raw)+err.Error()+fmt.Sprint(a.State()), token)
}

// The library's addresses, dialer and codec are variables of the process. Two accounts use
// none of them, and share nothing: neither tokens nor limits nor what they know.
func TestAccountsShareNothing(t *testing.T) {
	t.Parallel()
	api, dialer := discordgo.EndpointAPI, *websocket.DefaultDialer
	one := newSetup(t, discordtest.Options{Token: "the-token-of-the-first-bot"}, nil)
	two := newSetup(t, discordtest.Options{Token: "the-token-of-the-second-bot"}, func(c *discord.Config) { c.Account = "second" })
	one.run(t)
	two.run(t)
	one.srv.Say(discordtest.General, ada, "to one")
	two.srv.Say(discordtest.General, ada, "to two")
	require.Equal(t, []string{"to one"}, texts(one.inbox.wait(t, 1)))
	require.Equal(t, "second", two.inbox.wait(t, 1)[0].Route.Account)

	one.srv.Exhaust(discordtest.General, 1e12)
	_, err := one.adapter.Send(t.Context(), out(group(), "from one"))
	require.NoError(t, err)
	_, err = two.adapter.Send(t.Context(), out(group(), "from two"))
	require.NoError(t, err, "the limits of one are not those of the other")

	one.srv.Revoke()
	require.Equal(t, adapters.Auth, adapters.AsFailure(<-one.runErr).Kind)
	two.srv.Say(discordtest.General, ada, "still there?")
	require.Equal(t, []string{"to two", "still there?"}, texts(two.inbox.wait(t, 2)))
	require.Equal(t, adapters.Connected, two.adapter.State().Status)
	require.Equal(t, api, discordgo.EndpointAPI)
	require.Equal(t, dialer.HandshakeTimeout, websocket.DefaultDialer.HandshakeTimeout)
}

// With one registry for all accounts.
func TestAccountsShareMetrics(t *testing.T) {
	t.Parallel()
	one := newSetup(t, discordtest.Options{}, nil)
	cfg := one.cfg
	cfg.Account = "second"
	_, err := discord.New(cfg)
	require.NoError(t, err)
}

func TestGatewayURLOfTheConfiguration(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	s.cfg.GatewayURL, s.cfg.Shards = s.srv.GatewayURL(), 1
	s.restart(t)
	s.run(t)
	require.Empty(t, s.srv.Calls("/gateway/bot"), "nobody was asked")
}

// A stored session's address is somebody else's: the token is not sent there.
func TestForeignResumeAddress(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	for _, address := range []string{"ws://evil.example.org", "wss://evil-discord.gg", "wss://x.discord.gg@evil.org", "http://gateway.discord.gg", "", "%"} {
		require.False(t, discord.Trusted(s.srv.GatewayURL(), address), address)
	}
	require.True(t, discord.Trusted(s.srv.GatewayURL(), "wss://gateway-us-east1-b.discord.gg"))
	require.True(t, discord.Trusted(s.srv.GatewayURL(), s.srv.GatewayURL()+"/resume"))
}

func TestProbe(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	self, err := s.adapter.Probe(t.Context())
	require.NoError(t, err)
	require.Equal(t, "Sluice", self.Name)
	s.srv.Revoke()
	_, err = s.adapter.Probe(t.Context())
	require.Equal(t, adapters.Auth, adapters.AsFailure(err).Kind)
	require.ErrorContains(t, err, "Reset Token")
}

func TestFindByName(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	r, err := s.adapter.Find(t.Context(), "#General")
	require.NoError(t, err)
	require.EqualValues(t, discordtest.General, r.Conversation)
	require.Equal(t, discordtest.GuildID, r.Space)
	r, err = s.adapter.Find(t.Context(), discordtest.ThreadID)
	require.NoError(t, err)
	require.EqualValues(t, discordtest.General, r.Conversation)
	require.EqualValues(t, discordtest.ThreadID, r.Thread)
	r, err = s.adapter.Find(t.Context(), "@person1002")
	require.NoError(t, err)
	require.EqualValues(t, discordtest.DirectID(1002), r.Conversation)
	s.srv.OpenChannel("6900", "general")
	_, err = s.adapter.Find(t.Context(), "#general")
	require.ErrorContains(t, err, "several channels or people have this name")
}

func TestMembersOfPlaces(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	all, err := s.adapter.Members(t.Context(), direct(ada), 10)
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.EqualValues(t, "1001", all[0].ID)
	thread := group()
	thread.Thread = discordtest.ThreadID
	all, err = s.adapter.Members(t.Context(), thread, 10)
	require.NoError(t, err)
	require.Len(t, all, 3)
	s.srv.HideMembers()
	_, err = s.adapter.Members(t.Context(), group(), 10)
	require.ErrorContains(t, err, "Server Members")
	require.Equal(t, adapters.Permanent, adapters.AsFailure(err).Kind)
	_, err = s.adapter.Find(t.Context(), "@person1002")
	require.Equal(t, adapters.Permanent, adapters.AsFailure(err).Kind)
}

func TestFailuresSayWhatWasCalled(t *testing.T) {
	t.Parallel()
	s := newSetup(t, discordtest.Options{}, nil)
	_, err := s.adapter.Send(t.Context(), out(group(), ""))
	require.ErrorContains(t, err, "call POST /channels/{}/messages: discord answered 400 (code 50006): Cannot send an empty message")
	f, ok := errors.AsType[*adapters.Failure](err)
	require.True(t, ok)
	require.Equal(t, adapters.Permanent, f.Kind)
	require.True(t, strings.HasPrefix(f.Error(), "permanent: "))
}
