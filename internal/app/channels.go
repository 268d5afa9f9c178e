package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"

	"sluice/adapters"
	"sluice/adapters/discord"
	"sluice/adapters/slack"
	"sluice/adapters/telegram"
	"sluice/adapters/webchat"
	"sluice/internal/config"
	"sluice/internal/supervisor"
	"sluice/store"
)

// channels has the adapters of all accounts. Safe for concurrent use.
type channels struct {
	byName atomic.Pointer[map[accountName]*channel]
}

// accountName names an account.
type accountName struct{ channel, account string }

// channel is the adapter of an account with the settings that it was made of.
type channel struct {
	adapter adapters.Adapter
	made    any
}

func newChannels(a *App) (*channels, error) {
	c := &channels{}
	all, err := c.of(a, a.cfg)
	for _, fixed := range []adapters.Adapter{webchat.New(a.bus.Emit, a.now), a.nodes.Adapter} {
		all[accountName{fixed.Channel(), fixed.Account()}] = &channel{adapter: fixed}
	}
	c.byName.Store(&all)
	return c, err
}

// of returns the adapters of a configuration's accounts. Those whose settings are the same as now are the same.
func (c *channels) of(a *App, cfg *config.Config) (map[accountName]*channel, error) {
	all, configured := map[accountName]*channel{}, cfg.Channels
	return all, errors.Join(
		accounts(c, all, "telegram", configured.Telegram.Accounts, func(name string, t config.TelegramAccount) (adapters.Adapter, error) {
			return telegram.New(telegramConfig(a, name, t))
		}),
		accounts(c, all, "slack", configured.Slack.Accounts, func(name string, s config.SlackAccount) (adapters.Adapter, error) {
			return slack.New(slackConfig(a, name, s))
		}),
		accounts(c, all, "discord", configured.Discord.Accounts, func(name string, d config.DiscordAccount) (adapters.Adapter, error) {
			return discord.New(discordConfig(a, name, d))
		}),
	)
}

// accounts creates the adapters of a platform's accounts that are new or have changed.
func accounts[T any](c *channels, all map[accountName]*channel, platform string, of map[string]T, open func(name string, account T) (adapters.Adapter, error)) error {
	for name, account := range of {
		at := accountName{platform, name}
		if now := c.at(at); now != nil && reflect.DeepEqual(now.made, account) {
			all[at] = now
			continue
		}
		adapter, err := open(name, account)
		if err != nil {
			return fmt.Errorf("channels.%s.accounts.%s: %w", platform, name, err)
		}
		all[at] = &channel{adapter, account}
	}
	return nil
}

func (c *channels) at(p accountName) *channel {
	if now := c.byName.Load(); now != nil {
		return (*now)[p]
	}
	return nil
}

// all are the adapters, in the order of their names.
func (c *channels) all() []adapters.Adapter {
	now := *c.byName.Load()
	places := slices.SortedFunc(maps.Keys(now), func(a, b accountName) int {
		return cmp.Or(strings.Compare(a.channel, b.channel), strings.Compare(a.account, b.account))
	})
	out := make([]adapters.Adapter, len(places))
	for i, p := range places {
		out[i] = now[p].adapter
	}
	return out
}

// put replaces the adapters of the configured accounts. Accounts that are new start, those that are gone end, and those
// that have changed get their new adapter under their lease.
func (c *channels) put(next map[accountName]*channel, accounts *supervisor.Supervisor) {
	before := *c.byName.Load()
	for p, one := range before {
		if one.made == nil {
			next[p] = one // not configured
		}
	}
	c.byName.Store(&next)
	for p, one := range next {
		if before[p] != one {
			accounts.Put(one.adapter)
		}
	}
	for p := range before {
		if next[p] == nil {
			accounts.Remove(p.channel, p.account)
		}
	}
}

// find returns the adapter of an account, for the router.
func (c *channels) find(name, account string) (adapters.Adapter, bool) {
	found := c.at(accountName{name, account})
	if found == nil {
		return nil, false
	}
	return found.adapter, true
}

func telegramConfig(a *App, name string, t config.TelegramAccount) telegram.Config {
	return telegram.Config{
		Account: name, Token: t.Token, APIBase: t.APIBase, Mode: telegram.Mode(t.Mode),
		WebhookURL: t.WebhookURL, WebhookSecret: t.Secret,
		RichMessages: telegram.RichMode(t.RichMessages), LinkPreviews: t.LinkPreviews,
		Now: a.now, Log: a.log, Registerer: a.registry,
	}
}

func slackConfig(a *App, name string, s config.SlackAccount) slack.Config {
	return slack.Config{
		Account: name, BotToken: s.BotToken, AppToken: s.AppToken, SigningSecret: s.SigningSecret,
		Mode: slack.Mode(s.Mode), APIBase: s.APIBase, ReplyInThread: s.ReplyInThread,
		Now: a.now, Log: a.log, Registerer: a.registry,
	}
}

func discordConfig(a *App, name string, d config.DiscordAccount) discord.Config {
	return discord.Config{
		Account: name, Token: d.Token, APIBase: d.APIBase, GatewayURL: d.GatewayURL, Shards: d.Shards,
		Cursors: cursors{a.store, "discord/" + name},
		Now:     a.now, Log: a.log, Registerer: a.registry,
	}
}

// cursors stores an account's position in its platform's events.
type cursors struct {
	store   *store.DB
	account string
}

// Load implements [discord.Cursors].
func (c cursors) Load(ctx context.Context) (map[string]string, error) {
	return c.store.Cursors(ctx, c.account)
}

// Save implements [discord.Cursors].
func (c cursors) Save(ctx context.Context, name, value string) error {
	return c.store.SaveCursor(ctx, c.account, name, value)
}
