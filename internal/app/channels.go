package app

import (
	"context"
	"errors"

	"sluice/adapters"
	"sluice/adapters/discord"
	"sluice/adapters/slack"
	"sluice/adapters/telegram"
	"sluice/adapters/webchat"
	"sluice/internal/config"
	"sluice/internal/supervisor"
	"sluice/store"
)

// newAccounts makes the adapters of all accounts: those of the configuration, the page and the nodes.
func newAccounts(a *App) (*supervisor.Accounts, error) {
	c := &supervisor.Accounts{}
	all, err := configured(c, a, a.cfg)
	c.Set(all, webchat.New(a.bus.Emit, a.now), a.nodes.Adapter)
	return c, err
}

// configured returns the adapters of a configuration's accounts. Accounts with unchanged settings keep their adapters.
func configured(c *supervisor.Accounts, a *App, cfg *config.Config) (supervisor.Set, error) {
	all, of := supervisor.Set{}, cfg.Channels
	return all, errors.Join(
		supervisor.Open(c, all, "telegram", of.Telegram.Accounts, func(name string, t config.TelegramAccount) (adapters.Adapter, error) {
			return telegram.New(telegramConfig(a, name, t))
		}),
		supervisor.Open(c, all, "slack", of.Slack.Accounts, func(name string, s config.SlackAccount) (adapters.Adapter, error) {
			return slack.New(slackConfig(a, name, s))
		}),
		supervisor.Open(c, all, "discord", of.Discord.Accounts, func(name string, d config.DiscordAccount) (adapters.Adapter, error) {
			return discord.New(discordConfig(a, name, d))
		}),
	)
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
