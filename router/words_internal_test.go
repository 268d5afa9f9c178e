package router

import (
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/announce"
	"sluice/router/approvals"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/router/place"
	"sluice/router/work"
	"sluice/sessions"
)

// Each command is in the menu, under its name and with what it does.
func TestMenuOfCommands(t *testing.T) {
	t.Parallel()
	menu := Commands()
	require.Len(t, menu, len(commandTable()))
	for i, c := range commandTable() {
		require.Equal(t, adapters.Command{Name: c.name, Description: c.help}, menu[i])
		require.NotEqual(t, c.run == nil, c.order == nil, "/%s is carried out in one way", c.name)
	}
}

// What /send counts for is said in the platform's own words.
func TestReachOfSend(t *testing.T) {
	t.Parallel()
	group := sessions.Route{Channel: "slack", ChatType: sessions.Channel}
	thread, topic := group, sessions.Route{Channel: "telegram", ChatType: sessions.Group, Thread: "1"}
	thread.Thread = "1"
	direct := sessions.Route{Channel: "slack", ChatType: sessions.Direct}
	for _, c := range []struct {
		route sessions.Route
		keyer sessions.Keyer
		want  string
	}{
		{group, sessions.Keyer{}, "in this channel and its threads"},
		{thread, sessions.Keyer{}, "in this thread"},
		{topic, sessions.Keyer{}, "in this topic"},
		{direct, sessions.Keyer{Scope: sessions.ScopePerPeer}, "in this chat"},
		{direct, sessions.Keyer{Scope: sessions.ScopeMain}, "in all direct chats of this session"},
		{group, sessions.Keyer{Scope: sessions.ScopeMain}, "in this channel and its threads"},
		{group, sessions.Keyer{Global: true}, "in all conversations, which are one session"},
	} {
		require.Equal(t, c.want, reachWord(c.route, c.keyer))
	}
	require.Empty(t, followWord("slack", 0))
	require.Contains(t, followWord("slack", 1), "1 thread that had a setting of its own.")
	require.Contains(t, followWord("telegram", 2), "2 topics that had a setting of their own.")
	require.Contains(t, followWord("slack", sessionsBelowMost), "say it again")
	require.NotContains(t, followWord("slack", sessionsBelowMost-1), "say it again")
}

func TestStateOfATask(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	task := func(change func(*announce.Exchange)) ledger.Exchange {
		x := announce.Exchange{Phase: announce.Ended, Started: now.Add(-time.Hour), Ended: now.Add(-90 * time.Second)}
		change(&x)
		return ledger.Exchange{Exchange: x}
	}
	for want, x := range map[string]ledger.Exchange{
		"begun 1h0m0s ago":             task(func(x *announce.Exchange) { x.Phase = announce.Asking }),
		"done, and writing its report": task(func(x *announce.Exchange) { x.Phase = announce.Announcing }),
		"success 1m30s ago":            task(func(x *announce.Exchange) { x.Status, x.Outcome = "success", announce.Announced }),
		"announced 1m30s ago":          task(func(x *announce.Exchange) { x.Outcome = announce.Announced }),
		"stopped 1m30s ago":            task(func(x *announce.Exchange) { x.Status, x.Outcome = "success", announce.Stopped }),
	} {
		require.Equal(t, want, taskState(x, now))
	}
	for id, want := range map[string]string{"": "", "abc": "abc", "12345678": "12345678", "x12345678": "12345678"} {
		require.Equal(t, want, shortID(id))
	}
	tasks := []ledger.Exchange{{Exchange: announce.Exchange{ID: "xch_1234"}}, {Exchange: announce.Exchange{ID: "xch_5234"}}, {Exchange: announce.Exchange{ID: "xch_9999"}}}
	require.Empty(t, namedBy(tasks, "234"), "an id of three characters names none")
	require.Len(t, namedBy(tasks, "1234"), 1)
	require.Len(t, namedBy(tasks, "9999"), 1)
	require.Empty(t, namedBy(tasks, "0000"))
}

// Others are told the magnitude of a count, which they are at once when it is reached.
func TestMagnitude(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{
		0: "less than 1,000", 999: "less than 1,000", 1000: "more than 1,000", 9_999: "more than 1,000", 10_000: "more than 10,000",
		100_000: "more than 100,000", 1_000_000: "more than 1 million", 10_000_000: "more than 10 million", 1 << 40: "more than 10 million",
	} {
		require.Equal(t, want, magnitude(n), n)
	}
}

// wholeConfig has all that a router needs.
func wholeConfig() Config {
	return Config{
		Store: &ledger.Store{}, Bus: struct{ Bus }{}, Models: struct{ Models }{}, Gate: struct{ outbound.Gate }{}, Monitor: struct{ Monitor }{},
		Adapters: func(string, string) (adapters.Adapter, bool) { return nil, false }, Settings: &place.Settings{}, Partitions: 1,
		Now: time.Now, Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
	}
}

func TestNewWantsAllItIsMadeOf(t *testing.T) {
	t.Parallel()
	whole := wholeConfig()
	r, err := New(whole)
	require.NoError(t, err)
	require.Equal(t, 4*time.Second, r.grace)
	for name, without := range map[string]func(*Config){
		"store": func(c *Config) { c.Store = nil }, "bus": func(c *Config) { c.Bus = nil }, "models": func(c *Config) { c.Models = nil },
		"gate": func(c *Config) { c.Gate = nil }, "monitor": func(c *Config) { c.Monitor = nil }, "adapters": func(c *Config) { c.Adapters = nil },
		"settings": func(c *Config) { c.Settings = nil }, "now": func(c *Config) { c.Now = nil }, "log": func(c *Config) { c.Log = nil },
		"registerer": func(c *Config) { c.Registerer = nil },
	} {
		c := whole
		without(&c)
		_, err := New(c)
		require.ErrorContains(t, err, "a required field is not set", name)
	}
	whole.Partitions = 0
	_, err = New(whole)
	require.ErrorContains(t, err, "at least one partition")
}

// New settings count at once.
func TestConfigure(t *testing.T) {
	t.Parallel()
	r, err := New(wholeConfig())
	require.NoError(t, err)
	r.Employ(struct{ work.Agent }{})
	settings := &place.Settings{Agent: "main", Keyer: sessions.Keyer{Scope: sessions.ScopeMain}}
	r.Configure(settings)
	require.Same(t, settings, r.settings.Load())
	require.Equal(t, place.SharedMain(settings.Keyer), (&approvals.Pairings{Composer: &outbound.Composer{Settings: r.settings.Load}}).SharedMain())
}
