package app

import (
	"context"
	"errors"
	"maps"
	"slices"

	"sluice/adapters"
	"sluice/adapters/discord"
	"sluice/adapters/slack"
	"sluice/adapters/telegram"
	"sluice/adapters/webchat"
	"sluice/internal/config"
	"sluice/store"
)

// channels has the adapters of all accounts.
type channels struct {
	all    []adapters.Adapter
	byName map[[2]string]adapters.Adapter // channel, account
}

func newChannels(a *App) (*channels, error) {
	c := &channels{byName: map[[2]string]adapters.Adapter{}}
	err := c.addPlatforms(a)
	c.add(webchat.New(a.bus.Emit, a.now))
	c.add(a.nodes.Adapter)
	return c, err
}

// addPlatforms creates the adapters of the configured accounts.
func (c *channels) addPlatforms(a *App) error {
	configured := a.cfg.Channels
	return errors.Join(
		addAccounts(c, configured.Telegram.Accounts, func(name string, t config.TelegramAccount) (adapters.Adapter, error) {
			return telegram.New(telegramConfig(a, name, t))
		}),
		addAccounts(c, configured.Slack.Accounts, func(name string, s config.SlackAccount) (adapters.Adapter, error) {
			return slack.New(slackConfig(a, name, s))
		}),
		addAccounts(c, configured.Discord.Accounts, func(name string, d config.DiscordAccount) (adapters.Adapter, error) {
			return discord.New(discordConfig(a, name, d))
		}),
	)
}

// addAccounts creates the adapters of a platform's accounts, in the order of their names.
func addAccounts[T any](c *channels, accounts map[string]T, open func(name string, account T) (adapters.Adapter, error)) error {
	for _, name := range slices.Sorted(maps.Keys(accounts)) {
		adapter, err := open(name, accounts[name])
		if err != nil {
			return err
		}
		c.add(adapter)
	}
	return nil
}

func (c *channels) add(a adapters.Adapter) {
	c.all = append(c.all, a)
	c.byName[[2]string{a.Channel(), a.Account()}] = a
}

// find returns the adapter of an account, for the router.
func (c *channels) find(channel, account string) (adapters.Adapter, bool) {
	a, ok := c.byName[[2]string{channel, account}]
	return a, ok
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
