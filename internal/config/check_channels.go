package config

import (
	"fmt"

	"sluice/internal/pattern"
)

// idShape is the form of a platform's ids, with an example for error messages.
type idShape struct {
	user, group, recipient *pattern.Pattern
	userLike               string
	groupLike              string
}

// isUser reports whether an id can be a person's. If the form is not known, any id can.
func (s idShape) isUser(id string) bool { return s.user == nil || s.user.MatchString(id) }

// isGroup does the same for ids of groups.
func (s idShape) isGroup(id string) bool { return s.group == nil || s.group.MatchString(id) }

// isRecipient does the same for all destinations: people, groups, and direct chats with their own ids.
func (s idShape) isRecipient(id string) bool {
	return s.recipient == nil || s.recipient.MatchString(id)
}

var idShapes = map[string]idShape{
	"telegram": {pattern.New(`^[0-9]+$`), pattern.New(`^-[0-9]+$`), pattern.New(`^-?[0-9]+$`), "1001", "-1001234567890"},
	"slack":    {pattern.New(`^[UW][A-Z0-9]+$`), pattern.New(`^[CG][A-Z0-9]+$|^team:[TE][A-Z0-9]+$`), pattern.New(`^[UWCGD][A-Z0-9]+$`), "U024BE7LH", "C024BE91L"},
	"discord":  {pattern.New(`^[0-9]+$`), pattern.New(`^(guild:)?[0-9]+$`), pattern.New(`^[0-9]+$`), "80351110224678912", "41771983423143937"},
}

// webchatUser is the user id of everyone on the page.
const webchatUser = "local"

var (
	snowflake     = pattern.New(`^[0-9]+$`)
	tokenShape    = pattern.New(`^[0-9]+:[A-Za-z0-9_-]+$`)
	secretShape   = pattern.New(`^[A-Za-z0-9_-]{1,256}$`)
	slackBotShape = pattern.New(`^xoxb-`)
	discordShape  = pattern.New(`^[A-Za-z0-9._-]{20,200}$`) // not strict: Discord has changed the form of its tokens before
	slackAppShape = pattern.New(`^xapp-`)
	teamShape     = pattern.New(`^[TE][A-Z0-9]+$`)
	nodeShape     = pattern.New(`^[a-z0-9][a-z0-9-]*$`)
)

func (k checker) channels() {
	for _, p := range k.c.Channels.Platforms() {
		k.platform(p)
	}
	for name, a := range k.c.Channels.Telegram.Accounts {
		k.telegramAccount(join("channels.telegram.accounts", name), a)
	}
	for name, a := range k.c.Channels.Slack.Accounts {
		k.slackAccount(join("channels.slack.accounts", name), a)
	}
	for name, a := range k.c.Channels.Discord.Accounts {
		k.discordAccount(join("channels.discord.accounts", name), a)
	}
}

// platform checks the keys that all platforms share.
func (k checker) platform(p Platform) {
	path, shape := "channels."+p.Name, idShapes[p.Name]
	_, given := k.places[path]
	_, said := k.places[path+".accounts"] // an empty list is a deliberate setting, and the output of config show
	k.must(!given || said, path, "has no account: add accounts.default with its token, or remove it")
	for _, name := range p.Accounts {
		k.must(accountShape.MatchString(name), join(path+".accounts", name), "want a name of A-Z a-z 0-9 _ -")
	}
	for i, id := range p.Access.AllowFrom {
		k.must(id == "*" || shape.isUser(id), fmt.Sprintf("%s.allowFrom[%d]", path, i), "%q: want a user id such as %q, or \"*\"", id, shape.userLike)
	}
	for id, g := range p.Access.Groups {
		at := join(path+".groups", id)
		k.must(id == "*" || shape.isGroup(id), at, "want the id of a group such as %q, or \"*\"", shape.groupLike)
		k.group(at, p.Name, g)
	}
	for id, r := range p.Access.Recipients {
		at := join(path+".recipients", id)
		k.must(shape.isRecipient(id), at, "want the id of a person such as %q, or of a conversation", shape.userLike)
		k.must(r.External != r.Classification.Valid(), at, "want external: true, or a classification")
	}
}

// group checks the access settings of a group.
func (k checker) group(path, channel string, g Group) {
	shape := idShapes[channel]
	for i, id := range g.AllowFrom {
		k.must(id == "*" || shape.isUser(id), fmt.Sprintf("%s.allowFrom[%d]", path, i), "%q: want a user id such as %q, or \"*\"", id, shape.userLike)
	}
	k.must(len(g.AllowRoles) == 0 || channel == "discord", path+".allowRoles", "only Discord has roles: use allowFrom")
	for i, id := range g.AllowRoles {
		k.must(snowflake.MatchString(id), fmt.Sprintf("%s.allowRoles[%d]", path, i), "%q: want the id of a role (a number); in developer mode, the role's menu copies it", id)
	}
}

func (k checker) telegramAccount(path string, a TelegramAccount) {
	k.must(a.Token != "", path+".token", "is missing: get one from @BotFather")
	k.must(tokenShape.MatchString(a.Token.Reveal()), path+".token", "want <bot id>:<secret> as @BotFather gives it")
	k.must(isURL(a.APIBase, "http", "https"), path+".apiBase", "%q: want an http or https address", a.APIBase)
	if a.Mode != "webhook" {
		return
	}
	k.must(isURL(a.WebhookURL, "http", "https"), path+".webhookURL", "mode webhook needs the public https address: set it, or gateway.publicURL")
	k.must(secretShape.MatchString(a.Secret.Reveal()), path+".secret", "mode webhook needs 1 to 256 characters of A-Z a-z 0-9 _ -")
}

func (k checker) slackAccount(path string, a SlackAccount) {
	k.must(a.BotToken != "", path+".botToken", "is missing: find it under OAuth & Permissions after you install the app")
	k.must(slackBotShape.MatchString(a.BotToken.Reveal()), path+".botToken", "want a bot token, xoxb-…")
	k.must(isURL(a.APIBase, "http", "https"), path+".apiBase", "%q: want an http or https address", a.APIBase)
	if a.Mode == "http" {
		k.must(a.SigningSecret != "", path+".signingSecret", "is missing: mode http needs it; find it under Basic Information of the app")
		return
	}
	k.must(a.AppToken != "", path+".appToken", "is missing: mode socket needs it; create an app-level token with connections:write under Basic Information of the app")
	k.must(slackAppShape.MatchString(a.AppToken.Reveal()), path+".appToken", "want an app-level token, xapp-…")
}

func (k checker) discordAccount(path string, a DiscordAccount) {
	k.must(a.Token != "", path+".token", "is missing: find it under Bot of the application in the developer portal")
	k.must(discordShape.MatchString(a.Token.Reveal()), path+".token", "want the bot token of the developer portal, without the word Bot")
	k.must(isURL(a.APIBase, "http", "https"), path+".apiBase", "%q: want an http or https address", a.APIBase)
	k.must(a.GatewayURL == "" || isURL(a.GatewayURL, "ws", "wss"), path+".gatewayURL", "%q: want a ws or wss address, or nothing", a.GatewayURL)
}
