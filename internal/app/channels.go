package app

import (
	"maps"
	"slices"

	"sluice/adapters"
	"sluice/adapters/telegram"
	"sluice/adapters/webchat"
	"sluice/internal/config"
)

// channels are the adapters of all accounts.
type channels struct {
	all    []adapters.Adapter
	byName map[[2]string]adapters.Adapter // channel, account
}

func newChannels(a *App) (*channels, error) {
	c := &channels{byName: map[[2]string]adapters.Adapter{}}
	accounts := a.cfg.Channels.Telegram.Accounts
	for _, name := range slices.Sorted(maps.Keys(accounts)) {
		bot, err := telegram.New(telegramConfig(a, name, accounts[name]))
		if err != nil {
			return nil, err
		}
		c.add(bot)
	}
	c.add(webchat.New(a.bus.Emit, a.now))
	return c, nil
}

func (c *channels) add(a adapters.Adapter) {
	c.all = append(c.all, a)
	c.byName[[2]string{a.Channel(), a.Account()}] = a
}

// find is the router's way to the adapters.
func (c *channels) find(channel, account string) (adapters.Adapter, bool) {
	a, ok := c.byName[[2]string{channel, account}]
	return a, ok
}

func telegramConfig(a *App, name string, t config.TelegramAccount) telegram.Config {
	return telegram.Config{
		Account: name, Token: telegram.Secret(t.Token.Reveal()), APIBase: t.APIBase, Mode: telegram.Mode(t.Mode),
		WebhookURL: t.WebhookURL, WebhookSecret: telegram.Secret(t.Secret.Reveal()),
		RichMessages: telegram.RichMode(t.RichMessages), LinkPreviews: t.LinkPreviews,
		Now: a.now, Log: a.log, Registerer: a.registry,
	}
}
