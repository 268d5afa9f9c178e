package config

import (
	"maps"
	"slices"

	"sluice/policy/flow"
)

// Channels are the chat platforms.
type Channels struct {
	Telegram Telegram `yaml:"telegram" doc:"Telegram bots. Enabled when there is an account."`
	Slack    Slack    `yaml:"slack" doc:"Slack apps. Enabled when there is an account."`
	Discord  Discord  `yaml:"discord" doc:"Discord bots. Enabled when there is an account."`
	Webchat  Webchat  `yaml:"webchat" doc:"The chat on the gateway's own web page."`
}

// Telegram is the Telegram channel.
type Telegram struct {
	Access   `yaml:",inline"`
	Accounts map[string]TelegramAccount `yaml:"accounts" doc:"Bots by a name of your choice; \"default\" is used where no account is named."`
}

// TelegramAccount is one bot.
type TelegramAccount struct {
	Token        Secret `yaml:"token" doc:"Token from @BotFather, <bot id>:<secret>. Required."`
	APIBase      string `yaml:"apiBase" doc:"Bot API server."`
	Mode         string `yaml:"mode" enum:"polling,webhook" doc:"polling: the gateway polls Telegram. webhook: Telegram posts to webhookURL."`
	WebhookURL   string `yaml:"webhookURL" doc:"Public https address of /channels/telegram/<account>. Default in mode webhook: derived from gateway.publicURL; without it, and with an apiBase of your own, from gateway.listen."`
	Secret       Secret `yaml:"secret" doc:"Secret that Telegram sends with each update, 1 to 256 of A-Z a-z 0-9 _ -. Required in mode webhook."`
	RichMessages string `yaml:"richMessages" enum:"off,auto,on" doc:"Send native rich messages. off: never. auto: where HTML would lose structure. on: always."`
	LinkPreviews bool   `yaml:"linkPreviews" doc:"Show link previews in replies."`

	Classification flow.Level `yaml:"classification,omitempty" doc:"Highest level for this account, sent and received, if lower than the channel's. Default: the channel's."`
}

// Slack is the Slack channel.
type Slack struct {
	Access   `yaml:",inline"`
	Accounts map[string]SlackAccount `yaml:"accounts" doc:"Apps by a name of your choice, one for each workspace; \"default\" is used where no account is named."`
}

// SlackAccount is one app in one workspace.
type SlackAccount struct {
	BotToken      Secret `yaml:"botToken" doc:"Bot User OAuth Token, xoxb-…. Required."`
	AppToken      Secret `yaml:"appToken" doc:"App-level token with connections:write, xapp-…. Required in mode socket."`
	SigningSecret Secret `yaml:"signingSecret" doc:"Secret with which Slack signs its requests. Required in mode http."`
	Mode          string `yaml:"mode" enum:"socket,http" doc:"socket: the gateway connects to Slack. http: Slack posts events, commands and buttons to /channels/slack/<account>."`
	APIBase       string `yaml:"apiBase" doc:"Web API server."`
	ReplyInThread bool   `yaml:"replyInThread" doc:"Reply to a channel message in a thread below it, with its own session. Off: reply in the channel."`

	Classification flow.Level `yaml:"classification,omitempty" doc:"Highest level for this account, sent and received, if lower than the channel's. Default: the channel's."`
}

// Discord is the Discord channel.
type Discord struct {
	Access   `yaml:",inline"`
	Accounts map[string]DiscordAccount `yaml:"accounts" doc:"Bots by a name of your choice; \"default\" is used where no account is named."`
}

// DiscordAccount is one bot.
type DiscordAccount struct {
	Token      Secret `yaml:"token" doc:"Bot token from the developer portal. Required."`
	APIBase    string `yaml:"apiBase" doc:"REST API server, with its version."`
	GatewayURL string `yaml:"gatewayURL" doc:"Address of the event gateway. Empty: as the API says."`
	Shards     int    `yaml:"shards" min:"0" max:"1000" doc:"Connections that share the bot's guilds. 0: as many as Discord recommends."`

	Classification flow.Level `yaml:"classification,omitempty" doc:"Highest level for this account, sent and received, if lower than the channel's. Default: the channel's."`
}

// Webchat is the web page.
type Webchat struct {
	Enabled        bool       `yaml:"enabled" doc:"Serve the chat."`
	Classification flow.Level `yaml:"classification" doc:"Highest level that the page may show, and the level of what is typed there. Default: the highest of the other channels, so that a session shared with them can reply on both."`
}

// Platform is what all chat platforms have in common.
type Platform struct {
	Name     string // key under channels
	Access   Access
	Accounts []string // sorted; empty: the channel is off
	// the accounts' own levels; invalid where the channel's level applies
	Levels map[string]flow.Level
}

// Platforms returns the chat platforms with accounts, in the order of the reference.
func (c *Channels) Platforms() []Platform {
	return []Platform{
		platform("telegram", c.Telegram.Access, c.Telegram.Accounts, func(a TelegramAccount) flow.Level { return a.Classification }),
		platform("slack", c.Slack.Access, c.Slack.Accounts, func(a SlackAccount) flow.Level { return a.Classification }),
		platform("discord", c.Discord.Access, c.Discord.Accounts, func(a DiscordAccount) flow.Level { return a.Classification }),
	}
}

func platform[A any](name string, access Access, accounts map[string]A, level func(A) flow.Level) Platform {
	p := Platform{Name: name, Access: access, Accounts: slices.Sorted(maps.Keys(accounts)), Levels: map[string]flow.Level{}}
	for account, a := range accounts {
		p.Levels[account] = level(a)
	}
	return p
}
