package config_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/config"
	"sluice/internal/config/scalar"
	"sluice/policy/flow"
)

// loader knows only the given variables, each "NAME=text".
func loader(t *testing.T, env ...string) config.Loader {
	t.Helper()
	vars := map[string]string{}
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		vars[name] = value
	}
	return config.Loader{
		Getenv: func(name string) (string, bool) { v, ok := vars[name]; return v, ok },
		Home:   "/home/ann", Dir: t.TempDir(),
	}
}

// faults parses what is wrong.
func faults(t *testing.T, text string, env ...string) []string {
	t.Helper()
	_, err := loader(t, env...).Parse("sluice.yaml", []byte(text))
	require.Error(t, err)
	return strings.Split(err.Error(), "\n")
}

func parsed(t *testing.T, text string, env ...string) *config.Config {
	t.Helper()
	c, err := loader(t, env...).Parse("sluice.yaml", []byte(text))
	require.NoError(t, err)
	return c
}

func TestDefaultsAloneAreComplete(t *testing.T) {
	t.Parallel()
	c, err := loader(t).Load("")
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:8484", c.Gateway.Listen)
	require.Equal(t, "/home/ann/.local/share/sluice", c.State)
	require.Equal(t, []string{"webchat:local"}, c.Owners)
	require.True(t, c.Channels.Webchat.Enabled)
	require.Empty(t, c.Channels.Telegram.Accounts)
	require.Equal(t, "main", c.Session.DMScope)
	require.Equal(t, config.Queue{Mode: "collect", Cap: 20, Drop: "old", DebounceMs: 500}, c.Session.Queue)
	require.Equal(t, 24*time.Hour, c.Limits.DeliveryLife.Std())
	agent := c.DefaultAgent()
	require.Equal(t, "main", agent.ID)
	require.Equal(t, "offline/guide", agent.Model)
}

func TestWholeTreeIsRead(t *testing.T) {
	t.Parallel()
	c := parsed(t, `
gateway:
  listen: 0.0.0.0:9000
  publicURL: https://bot.example/
  allowedHosts: [bot.example]
  classification: confidential
  tokens: [{ name: ops, token: hush-hush-hush-hush, classification: INTERNAL, role: operator }, { name: board, token: hush-hush-hush-0 }]
state: /var/lib/sluice
store: { url: "postgres://u:p@db/sluice" }
bus: { url: "nats://a:4222,nats://b:4222" }
owners: ["telegram:1001"]
channels:
  telegram:
    classification: internal
    dmPolicy: open
    allowFrom: [1001, "*"]
    groups: { "-100200": { requireMention: false, classification: PUBLIC }, "*": }
    accounts:
      default: { token: "1:a" }
      hook: { token: "2:b", mode: webhook, secret: s3cret }
  webchat:
models:
  default: local/llama
  providers: { local: { kind: openai, baseURL: "http://127.0.0.1:11434/v1", classification: CONFIDENTIAL, contextWindow: 8192 } }
agents:
  list: [{ id: main }, { id: work, default: true, name: Work, model: offline/guide }]
bindings: [{ match: { channel: telegram, group: -100200 }, agent: main }, { match: { peer: laptop-x7k2 }, agent: work }]
session:
  dmScope: per-channel-peer
  queue: { mode: followup, cap: 5, drop: new, debounceMs: 0 }
  sendPolicy: { default: deny, rules: [{ match: { channel: telegram, chatType: group }, action: allow }] }
  runTimeout: 90s
`)
	require.Equal(t, flow.Confidential, c.Gateway.Classification)
	require.Equal(t, []config.APIToken{
		{Name: "ops", Token: "hush-hush-hush-hush", Classification: flow.Internal, Role: "operator"},
		{Name: "board", Token: "hush-hush-hush-0", Classification: flow.Public, Role: "viewer"},
	}, c.Gateway.Tokens, "the least, unless it says more")
	telegram := c.Channels.Telegram
	require.Equal(t, flow.Internal, telegram.Classification)
	require.Equal(t, []string{"1001", "*"}, telegram.AllowFrom)
	require.Equal(t, config.Group{Classification: flow.Public}, telegram.Groups["-100200"])
	require.Equal(t, config.Group{RequireMention: true, Classification: flow.Internal}, telegram.Groups["*"])
	require.Equal(t, "https://api.telegram.org", telegram.Accounts["default"].APIBase)
	require.Equal(t, "https://bot.example/channels/telegram/hook", telegram.Accounts["hook"].WebhookURL)
	require.Equal(t, flow.Internal, c.Channels.Webchat.Classification, "the page follows the other channels")
	require.Equal(t, "work", c.DefaultAgent().ID)
	require.Equal(t, "local/llama", c.Agents.List[0].Model)
	require.Equal(t, "-100200", c.Bindings[0].Match.Group)
	require.Equal(t, 90*time.Second, c.Session.RunTimeout.Std())
	require.Equal(t, "deny", c.Session.SendPolicy.Default)
}

// References need no quotes, not even inside { }, and faults behind them keep their places.
func TestReferencesNeedNoQuotes(t *testing.T) {
	t.Parallel()
	l := loader(t, "T=1:a", "S=a, b: {c}")
	_, err := l.Parse("sluice.yaml", []byte(`gateway: {token: ${T}}
channels: { telegram: { accounts: { default: { token: ${T}, apiBase: "http://x/${T}" }, "b": { token: '$${T}' } } } }
`))
	require.ErrorContains(t, err, "sluice.yaml:2:103: channels.telegram.accounts.b.token: want <bot id>:<secret>")
	for written, want := range map[string]string{
		"${S}": "a, b: {c}", `"$${T} {}"`: "${T} {}", "'a {b}'": "a {b}",
		"\ue000": "\ue000", `"\uE000\U0000e001"`: "\ue000\ue001", // what stands for braces while YAML is read
	} {
		c, err := l.Parse("sluice.yaml", []byte("agents: {defaults: {systemPrompt: "+written+"}}\n"))
		require.NoError(t, err, written)
		require.Equal(t, want, c.Agents.Defaults.SystemPrompt)
	}
}

func TestFiveMistakesAreReportedTogetherWithTheirPlaces(t *testing.T) {
	t.Parallel()
	got := faults(t, `gateway:
  listen: nowhere
chanels: {}
channels:
  telegram:
    dmPolicy: friends
    accounts:
      default: { token: "${TELEGRAM_TOKEN}" }
session:
  queue: { cap: many }
`)
	require.Equal(t, []string{
		`sluice.yaml:2:11: gateway.listen: "nowhere": want address:port, for example 127.0.0.1:8484`,
		`sluice.yaml:3:1: chanels: is not a key of the configuration: did you mean channels?`,
		`sluice.yaml:6:15: channels.telegram.dmPolicy: want pairing, allowlist, open or disabled`,
		`sluice.yaml:8:25: channels.telegram.accounts.default.token: the environment variable TELEGRAM_TOKEN is not set: set it, or remove ${TELEGRAM_TOKEN}`,
		`sluice.yaml:10:17: session.queue.cap: want a whole number from 1 to 1000, not a text`,
	}, got)
}

// The gateway makes its own token, so the variable for it need not be set.
func TestTheTokensVariableMayBeUnset(t *testing.T) {
	t.Parallel()
	const text = "gateway: { token: ${SLUICE_TOKEN} }\n"
	require.Empty(t, parsed(t, text).Gateway.Token.Reveal())
	require.Equal(t, "a-token-of-the-owner", parsed(t, text, "SLUICE_TOKEN=a-token-of-the-owner").Gateway.Token.Reveal())
	require.Len(t, faults(t, "gateway: { token: \"x${SLUICE_TOKEN}\", tokens: [{ name: a, token: ${SLUICE_TOKEN} }] }\n"), 2, "only the whole value")
}

// tooShort is said of a token that can be guessed from other machines.
const tooShort = ": is too short: want at least 16 characters, because gateway.listen, gateway.publicURL, gateway.allowedHosts or bus.listen lets other machines reach the gateway. Generate one, for example with `openssl rand -base64 32`"

func TestFaults(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ text, want string }{
		"no YAML":           {"a: [", "sluice.yaml:1:1: is not YAML: did not find expected node content"},
		"a list":            {"[]", "sluice.yaml:1:1: want keys with values, not a list"},
		"two documents":     {"state: /a\n---\nstate: /b", "sluice.yaml:2:1: has a second document: keep one"},
		"key twice":         {"state: /a\nlog: {}\nstate: /b", "sluice.yaml:3:1: state: is repeated: it is already set in line 1"},
		"no app":            {"channels:\n  slack: {}", "sluice.yaml:2:3: channels.slack: has no account: add accounts.default with its token, or remove it"},
		"a person's token":  {"channels: { slack: { accounts: { a: { botToken: xoxp-1, appToken: xapp-1 } } } }", "sluice.yaml:1:49: channels.slack.accounts.a.botToken: want a bot token, xoxb-…"},
		"no app token":      {"channels: { slack: { accounts: { a: { botToken: xoxb-1 } } } }", "sluice.yaml:1:34: channels.slack.accounts.a.appToken: is missing: mode socket needs it; create an app-level token with connections:write under Basic Information of the app"},
		"no secret":         {"channels: { slack: { accounts: { a: { botToken: xoxb-1, mode: http } } } }", "sluice.yaml:1:34: channels.slack.accounts.a.signingSecret: is missing: mode http needs it; find it under Basic Information of the app"},
		"no bot":            {"channels: { discord: { accounts: { a: {} } } }", "sluice.yaml:1:36: channels.discord.accounts.a.token: is missing: find it under Bot of the application in the developer portal"},
		"short bot token":   {"channels: { discord: { accounts: { a: { token: short } } } }", "sluice.yaml:1:48: channels.discord.accounts.a.token: want the bot token of the developer portal, without the word Bot"},
		"foreign group":     {"channels: { discord: { accounts: { a: { token: discord-token-123456 } }, groups: { general: {} } } }", "sluice.yaml:1:84: channels.discord.groups.general: want the id of a group such as \"41771983423143937\", or \"*\""},
		"unknown owner":     {"owners: [telegramm:1]", "sluice.yaml:1:10: owners[0]: no channel \"telegramm\": did you mean telegram?"},
		"no such ears":      {"media: { transcription: { provider: ears, model: w } }", "sluice.yaml:1:37: media.transcription.provider: want the name of a provider of kind openai in models.providers, not \"ears\""},
		"ears of no model":  {"models: { providers: { e: { kind: openai, apiKey: k } } }\nmedia: { transcription: { provider: e } }", "sluice.yaml:2:10: media.transcription.model: is missing, such as whisper-1"},
		"model of no ears":  {"media: { transcription: { model: w } }", "sluice.yaml:1:10: media.transcription.provider: is missing: name a provider of kind openai"},
		"far from any":      {"zzz: 1", "sluice.yaml:1:1: zzz: is not a key of the configuration: want one of gateway, state, store, bus, log, owners, channels, models, budgets, media, agents, bindings, session, tools, skills, mcp, policy, secrets, limits, telemetry, retention, cron, checks, alerts, targets, hooks, a2a, nodes"},
		"text for a list":   {"owners: telegram:1", "sluice.yaml:1:9: owners: want a list, not a text: write [ … ]"},
		"number for yes":    {"channels: { webchat: { enabled: 1 } }", "sluice.yaml:1:33: channels.webchat.enabled: want true or false, not a number"},
		"yes is a text":     {"channels: { webchat: { enabled: yes } }", "sluice.yaml:1:33: channels.webchat.enabled: want true or false, not a text"},
		"list for text":     {"state: [a]", "sluice.yaml:1:1: state: want a text (put it in quotes), not a list"},
		"level":             {"channels: { webchat: { classification: SECRET } }", "sluice.yaml:1:40: channels.webchat.classification: want PUBLIC, INTERNAL, CONFIDENTIAL or RESTRICTED"},
		"duration":          {"session: { runTimeout: 5 }", "sluice.yaml:1:24: session.runTimeout: want a time span such as 90s, 10m or 24h"},
		"no account":        {"channels: { telegram: {} }", "sluice.yaml:1:13: channels.telegram: has no account: add accounts.default with its token, or remove it"},
		"no token":          {"channels: { telegram: { accounts: { default: {} } } }", "sluice.yaml:1:37: channels.telegram.accounts.default.token: is missing: get one from @BotFather"},
		"no provider":       {"models: { default: opanai/x, providers: { openai: { kind: openai, apiKey: k } } }", "sluice.yaml:1:20: models.default: no provider \"opanai\" under models.providers: did you mean openai?"},
		"no key":            {"models: { providers: { openai: { kind: openai } } }", "sluice.yaml:1:24: models.providers.openai.apiKey: is missing: set it, or set baseURL for a server that needs no key"},
		"agent twice":       {"agents: { list: [{ id: a }, { id: a }] }", "sluice.yaml:1:35: agents.list[1].id: \"a\" is used twice: give each agent its own id"},
		"two defaults":      {"agents: { list: [{ id: a, default: true }, { id: b, default: true }] }", "sluice.yaml:1:62: agents.list[1].default: another agent is already the default: keep one"},
		"unbound":           {"bindings: [{ agent: mein }]", "sluice.yaml:1:21: bindings[0].agent: no agent \"mein\" in agents.list: did you mean main?"},
		"role elsewhere":    {"channels: { slack: { accounts: { a: { botToken: xoxb-1, appToken: xapp-1 } }, groups: { C1: { allowRoles: [1] } } } }", "sluice.yaml:1:95: channels.slack.groups.C1.allowRoles: only Discord has roles: use allowFrom"},
		"role by name":      {"channels: { discord: { accounts: { a: { token: discord-token-123456 } }, groups: { 1: { allowRoles: [mods] } } } }", "sluice.yaml:1:102: channels.discord.groups.1.allowRoles[0]: \"mods\": want the id of a role (a number); in developer mode, the role's menu copies it"},
		"foreign owner":     {"channels: { telegram: { accounts: { a: { token: '1:a' } } } }\nowners: [\"telegram:@ada\"]", "sluice.yaml:2:10: owners[0]: \"telegram:@ada\": want a user id such as \"1001\" after telegram:"},
		"foreign member":    {"channels: { discord: { accounts: { a: { token: discord-token-123456 } }, groups: { 1: { allowFrom: [ada] } } } }", "sluice.yaml:1:101: channels.discord.groups.1.allowFrom[0]: \"ada\": want a user id such as \"80351110224678912\", or \"*\""},
		"guild of another":  {"bindings: [{ match: { channel: slack, guild: 7 }, agent: main }]", "sluice.yaml:1:46: bindings[0].match.guild: only Discord has guilds: remove it, or set channel to discord"},
		"kind of a person":  {"bindings: [{ match: { channel: telegram, peer: 'direct:1003' }, agent: main }]", "sluice.yaml:1:48: bindings[0].match.peer: \"direct:1003\": want only the user id of a person, such as \"1001\""},
		"channel in peer":   {"bindings: [{ match: { peer: 'telegram:1003' }, agent: main }]", "sluice.yaml:1:29: bindings[0].match.peer: \"telegram:1003\": want only the user id of a person, such as \"1001\""},
		"group as a person": {"bindings: [{ match: { channel: slack, peer: C1 }, agent: main }]", "sluice.yaml:1:45: bindings[0].match.peer: \"C1\": want only the user id of a person, such as \"U024BE7LH\""},
		"web chat person":   {"bindings: [{ match: { channel: webchat, peer: ann }, agent: main }]", "sluice.yaml:1:47: bindings[0].match.peer: \"ann\": want \"local\", the user id of everyone in the web chat"},
		"group of the page": {"bindings: [{ match: { channel: webchat, group: ann }, agent: main }]", "sluice.yaml:1:48: bindings[0].match.group: the web chat has no groups: remove it, or set another channel"},
		"kind of a group":   {"bindings: [{ match: { group: 'group:-1' }, agent: main }]", "sluice.yaml:1:30: bindings[0].match.group: \"group:-1\": want only the id of a group or channel, such as \"-1001234567890\""},
		"guild as a group":  {"bindings: [{ match: { channel: discord, group: 'guild:7' }, agent: main }]", "sluice.yaml:1:48: bindings[0].match.group: \"guild:7\": want only the id of a group or channel, such as \"41771983423143937\""},
		"person as a group": {"bindings: [{ match: { channel: telegram, group: 1001 }, agent: main }]", "sluice.yaml:1:49: bindings[0].match.group: \"1001\": want only the id of a group or channel, such as \"-1001234567890\""},
		"name of a guild":   {"bindings: [{ match: { guild: 'guild:7' }, agent: main }]", "sluice.yaml:1:30: bindings[0].match.guild: \"guild:7\": want only the id of a guild, such as \"41771983423143937\""},
		"name of a team":    {"bindings: [{ match: { team: acme }, agent: main }]", "sluice.yaml:1:29: bindings[0].match.team: \"acme\": want only the id of a workspace, such as \"T024BE7LH\""},
		"two spaces":        {"bindings: [{ match: { guild: 7, team: T1 }, agent: main }]", "sluice.yaml:1:39: bindings[0].match.team: no conversation is in both a guild and a team: keep one"},
		"person is an id":   {"session: { identityLinks: { U1: [\"slack:U1\"] } }", "sluice.yaml:1:29: session.identityLinks.U1: want a name of a-z 0-9 _ - that begins with a letter"},
		"no channel":        {"owners: [':1001']", "sluice.yaml:1:10: owners[0]: \":1001\": want <channel>:<user id>, for example telegram:1001"},
		"bare id":           {"session: { identityLinks: { ada: [1001] } }", "sluice.yaml:1:35: session.identityLinks.ada[0]: \"1001\": want <channel>:<user id>, for example telegram:1001"},
		"two people":        {"session: { identityLinks: { ada: [\"slack:U1\"], bob: [\"slack:U1\"] } }", "sluice.yaml:1:54: session.identityLinks.bob[0]: slack:U1 is already ada: keep one"},
		"no action":         {"session: { sendPolicy: { rules: [{ match: { channel: telegram } }] } }", "sluice.yaml:1:34: session.sendPolicy.rules[0].action: is missing: want allow or deny"},
		"open reference":    {"state: ${A", "sluice.yaml:1:8: state: ${A has no }: close it, or write $${ for a plain ${"},
		"strange reference": {"state: \"${A-B}\"", "sluice.yaml:1:8: state: ${A-B}: want ${NAME}, ${file:/path} or ${credential:name}"},
		"unnamed token":     {"gateway: { tokens: [{ token: a }] }", "sluice.yaml:1:21: gateway.tokens[0].name: is missing"},
		"odd token name":    {"gateway: { tokens: [{ name: a b, token: a }] }", "sluice.yaml:1:29: gateway.tokens[0].name: \"a b\": want A-Z a-z 0-9 _ -"},
		"two of a name":     {"gateway: { tokens: [{ name: ops, token: a }, { name: ops, token: b }] }", "sluice.yaml:1:54: gateway.tokens[1].name: \"ops\" is used twice: give each token its own name"},
		"name, no token":    {"gateway: { tokens: [{ name: ops }] }", "sluice.yaml:1:21: gateway.tokens[0].token: is missing: generate one, for example with `openssl rand -base64 32`"},
		"the owner's token": {"gateway: { token: a, tokens: [{ name: ops, token: a }] }", "sluice.yaml:1:51: gateway.tokens[0].token: is the same as gateway.token: use different ones"},
		"another's token":   {"gateway: { tokens: [{ name: ops, token: a }, { name: eve, token: a }] }", "sluice.yaml:1:66: gateway.tokens[1].token: is the same as gateway.tokens[0]: use different ones"},
		"token with space":  {"gateway: { tokens: [{ name: ops, token: 'a b' }] }", "sluice.yaml:1:41: gateway.tokens[0].token: has a space or an unprintable character, which a header can't contain"},
		"bus to guess":      {"gateway: { token: abc }\nbus: { listen: 0.0.0.0:4222 }", "sluice.yaml:1:19: gateway.token" + tooShort},
		"two buses":         {"bus: { url: nats://a:4222, listen: 127.0.0.1:4222 }", "sluice.yaml:1:36: bus.listen: opens the embedded bus, and bus.url names another one: remove one of the two"},
		"bus without port":  {"bus: { listen: localhost }", "sluice.yaml:1:16: bus.listen: \"localhost\": want address:port, for example 127.0.0.1:4222"},
		"token to guess":    {"gateway: { listen: 0.0.0.0:8484, token: abc }", "sluice.yaml:1:41: gateway.token" + tooShort},
		"another to guess":  {"gateway: { listen: \":8484\", tokens: [{ name: ops, token: abc }] }", "sluice.yaml:1:58: gateway.tokens[0].token" + tooShort},
		"behind a proxy":    {"gateway: { publicURL: https://a.example, token: abc }", "sluice.yaml:1:49: gateway.token" + tooShort},
		"under a name":      {"gateway: { allowedHosts: [a.example], token: abc }", "sluice.yaml:1:46: gateway.token" + tooShort},
		"no such role":      {"gateway: { tokens: [{ name: ops, token: a, role: boss }] }", "sluice.yaml:1:50: gateway.tokens[0].role: want owner, operator, viewer, reader or sender"},
		"no such level":     {"gateway: { tokens: [{ name: ops, token: a, classification: SECRET }] }", "sluice.yaml:1:60: gateway.tokens[0].classification: want PUBLIC, INTERNAL, CONFIDENTIAL or RESTRICTED"},
		"no owner's level":  {"gateway: { classification: '' }", "sluice.yaml:1:12: gateway.classification: want PUBLIC, INTERNAL, CONFIDENTIAL or RESTRICTED"},
		"no file":           {"gateway: { token: \"${file:/nowhere/x}\" }", "sluice.yaml:1:19: gateway.token: the file /nowhere/x cannot be read: no such file or directory"},
		"mcp without place": {"mcp: { servers: { a: {} } }", "sluice.yaml:1:19: mcp.servers.a: has neither command nor url: set one of them"},
		"mcp in two places": {"mcp: { servers: { a: { command: [a], url: 'http://a' } } }", "sluice.yaml:1:19: mcp.servers.a: has a command and a url: keep one"},
		"mcp by a long way": {"mcp: { servers: { a: { url: 'ftp://a' } } }", "sluice.yaml:1:29: mcp.servers.a.url: want an http or https address"},
		"mcp name":          {"mcp: { servers: { a_b: { command: [a] } } }", "sluice.yaml:1:19: mcp.servers.a_b: want a name of at most 31 of a-z 0-9 -"},
		"mcp level":         {"mcp: { servers: { a: { command: [a], classification: SECRET } } }", "sluice.yaml:1:54: mcp.servers.a.classification: want PUBLIC, INTERNAL, CONFIDENTIAL or RESTRICTED"},
		"mcp no level":      {"mcp: { servers: { a: { command: [a], classification: '' } } }", "sluice.yaml:1:38: mcp.servers.a.classification: want PUBLIC, INTERNAL, CONFIDENTIAL or RESTRICTED"},
		"mcp env":           {"mcp: { servers: { a: { command: [a], env: { A=B: c } } } }", "sluice.yaml:1:45: mcp.servers.a.env.A=B: want a name of A-Z a-z 0-9 _"},
		"mcp header":        {"mcp: { servers: { a: { url: 'http://a', headers: { 'A B': c } } } }", "sluice.yaml:1:52: mcp.servers.a.headers[\"A B\"]: want the name of a header"},
		"mcp env of a url":  {"mcp: { servers: { a: { url: 'http://a', env: { A: c } } } }", "sluice.yaml:1:41: mcp.servers.a.env: is only for a command: remove it"},
		"tool pattern":      {"agents: { defaults: { tools: { allow: ['a['] } } }", "sluice.yaml:1:40: agents.defaults.tools.allow[0]: \"a[\": want a name, or a pattern with *"},
		"web host":          {"tools: { web: { allow: ['http://a/'] } }", "sluice.yaml:1:25: tools.web.allow[0]: \"http://a/\": want a host in small letters, or a pattern such as *.example.org, without scheme, path or port"},
		"too warm":          {"agents: { defaults: { temperature: 2.1 } }", "sluice.yaml:1:36: agents.defaults.temperature: want a number from 0 to 2 with at most two decimals, such as 0.7"},
		"warm in words":     {"agents: { list: [{ id: a, temperature: warm }] }", "sluice.yaml:1:40: agents.list[0].temperature: want a number from 0 to 2 with at most two decimals, such as 0.7"},
		"warm by default":   {"models: { default: a/m, providers: { a: { kind: anthropic, apiKey: k } } }\nagents: { defaults: { temperature: 1.01 } }", "sluice.yaml:2:36: agents.defaults.temperature: 1.01 is too high for a/m: want a number from 0 to 1, because models.providers.a is of kind anthropic"},
		"warm for one":      {"models: { providers: { a: { kind: anthropic, apiKey: k } } }\nagents: { list: [{ id: x, model: a/m, temperature: 2 }] }", "sluice.yaml:2:52: agents.list[0].temperature: 2 is too high for a/m: want a number from 0 to 1, because models.providers.a is of kind anthropic"},
		"endless answers":   {"agents: { defaults: { maxOutputTokens: 1000001 } }", "sluice.yaml:1:40: agents.defaults.maxOutputTokens: want a whole number from 0 to 1000000"},
		"no postgres":       {"store: { url: \"mysql://h/d\" }", "sluice.yaml:1:15: store.url: want postgres://user@host/database, or nothing for the embedded database"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, []string{test.want}, faults(t, test.text))
		})
	}
}

// A default can be written down: it then means the same.
func TestNoTimeIsATimeSpan(t *testing.T) {
	t.Parallel()
	c := parsed(t, `cron: { timezone: UTC, jobs: [ { id: a, schedule: "30 7 * * *", text: x, jitter: 0s, catchUp: { window: 0s } } ] }`)
	require.Equal(t, scalar.NoWait, c.Cron.Jobs[0].Jitter)
	require.Equal(t, scalar.NoWait, c.Cron.Jobs[0].CatchUp.Window)
}

// What the configuration does not give is shown as empty, and an empty time span leaves the default.
func TestAnEmptyTimeSpanIsTheDefault(t *testing.T) {
	t.Parallel()
	const job = `cron: { timezone: UTC, jobs: [ { id: a, every: 1h, text: x, timeout: "", jitter: "", deliver: { within: "" }, catchUp: { window: "" }, retry: { backoff: "" } } ] }`
	c := parsed(t, job+"\nsession: { runTimeout: \"\" }\nlimits: { deliveryLife: \"\" }\nalerts: { resolve_timeout: \"\" }")
	require.Equal(t, config.Default().Session.RunTimeout, c.Session.RunTimeout)
	require.Equal(t, config.Default().Limits.DeliveryLife, c.Limits.DeliveryLife)
	require.Equal(t, config.Default().Alerts.ResolveTimeout, c.Alerts.ResolveTimeout)
	require.Zero(t, c.Cron.Jobs[0].Timeout)
	require.Zero(t, c.Cron.Jobs[0].Jitter)
	text, err := c.Cron.Jobs[0].Timeout.MarshalText()
	require.NoError(t, err)
	require.Empty(t, text)
}

// An empty section alert of a hook means that no agent is asked, so one that is not given is not shown.
func TestWhatIsShownOfAHookIsWhatItDoes(t *testing.T) {
	t.Parallel()
	for section, want := range map[string]bool{"prompt: x, deliver: { to: [owner] }": false, "alert: {}": true} {
		c := parsed(t, `
alerts: { route: { receiver: me }, receivers: [{ name: me, targets: [owner] }] }
hooks: { backup: { secrets: [0123456789abcdef], `+section+` } }
owners: ["webchat:local"]
`)
		shown, err := c.YAML()
		require.NoError(t, err)
		require.Equal(t, want, strings.Contains(string(shown), "\n        alert:\n"), "%s", shown)
	}
}

func TestWebhookModeWantsItsAddressAndSecret(t *testing.T) {
	t.Parallel()
	got := strings.Join(faults(t, "channels: { telegram: { accounts: { default: { token: '1:a', mode: webhook } } } }"), "\n")
	require.Contains(t, got, "accounts.default.webhookURL: mode webhook needs")
	require.Contains(t, got, "accounts.default.secret: mode webhook needs")
}

// A Bot API server of one's own may be on this machine and posts without https.
func TestWebhookFromAnotherServer(t *testing.T) {
	t.Parallel()
	for gateway, want := range map[string]string{
		"{ listen: \"0.0.0.0:9000\" }": "http://127.0.0.1:9000/channels/telegram/default", "{ publicURL: \"https://bot.example.org/\" }": "https://bot.example.org/channels/telegram/default",
	} {
		c := parsed(t, "gateway: "+gateway+"\nchannels: { telegram: { accounts: { default: { token: '1:a', mode: webhook, secret: s, apiBase: 'http://127.0.0.1:8081' } } } }")
		require.Equal(t, want, c.Channels.Telegram.Accounts["default"].WebhookURL)
	}
}

func TestReferencesAreTextAndNeverYAML(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "prompt")
	require.NoError(t, os.WriteFile(file, []byte("x: [y]\n# no comment\n\n"), 0o600))
	c := parsed(t, "agents: { defaults: { systemPrompt: \"a ${file:"+file+"} $${B}\", model: \"${MODEL}\" } }\nsession: { queue: { cap: \"${CAP}\" } }",
		"MODEL=offline/guide", "CAP=7")
	require.Equal(t, "a x: [y]\n# no comment ${B}", c.Agents.Defaults.SystemPrompt)
	require.Equal(t, 7, c.Session.Queue.Cap)
}

func TestWhatAVariableHoldsIsNotExpandedAgain(t *testing.T) {
	t.Parallel()
	c := parsed(t, "agents: { defaults: { systemPrompt: \"${A}\" } }", "A=${B}", "B=secret")
	require.Equal(t, "${B}", c.Agents.Defaults.SystemPrompt)
}

func TestAPipeIsRefusedAndDoesNotBlock(t *testing.T) {
	t.Parallel()
	got := faults(t, "state: \"${file:/dev/zero}\"")
	require.Contains(t, got[0], "it is not a regular file")
}

func TestFaultsNeverTellASecret(t *testing.T) {
	t.Parallel()
	got := strings.Join(faults(t, `
gateway: { token: "hush hush" }
store: { url: "${URL}" }
log: { level: "${URL}" }
channels: { telegram: { accounts: { default: { token: "${TOKEN}" } } } }
`, "URL=mysql://u:hush@h/d", "TOKEN=hush"), "\n")
	require.NotContains(t, got, "hush")
	require.Equal(t, 4, strings.Count(got, "\n")+1)
}

// An address that overrides the configured one is what the tokens are judged by.
func TestListenIsOverriddenBeforeTheCheck(t *testing.T) {
	t.Parallel()
	l := loader(t)
	l.Listen = "0.0.0.0:8484"
	_, err := l.Parse("sluice.yaml", []byte("gateway: { token: abc }"))
	require.ErrorContains(t, err, "sluice.yaml:1:19: gateway.token"+tooShort)
	l.Listen = "localhost:1"
	c, err := l.Parse("sluice.yaml", []byte("gateway: { listen: 0.0.0.0:8484, token: abc }"))
	require.NoError(t, err)
	require.Equal(t, "localhost:1", c.Gateway.Listen)
}

func TestStateFolder(t *testing.T) {
	t.Parallel()
	require.Equal(t, "/srv/s", parsed(t, "state: /elsewhere", "SLUICE_STATE=/srv/s").State)
	require.Equal(t, "/home/ann/s", parsed(t, "state: ~/s").State)
	l := loader(t)
	l.Home = ""
	_, err := l.Load("")
	require.ErrorContains(t, err, "there is no home folder")
}

func TestAliasesArePutInButNotWithoutEnd(t *testing.T) {
	t.Parallel()
	c := parsed(t, "state: &s /srv/s\nagents: { defaults: { systemPrompt: *s } }")
	require.Equal(t, "/srv/s", c.Agents.Defaults.SystemPrompt)

	many := "owners: &o [" + strings.Repeat("x,", 60_000) + "]\nchannels: { telegram: { allowFrom: *o } }"
	_, err := loader(t).Parse("sluice.yaml", []byte(many))
	require.ErrorContains(t, err, "too large after its aliases are expanded")
}

func TestFind(t *testing.T) {
	t.Parallel()
	l := loader(t)
	path, err := l.Find("")
	require.NoError(t, err)
	require.Empty(t, path, "no file is fine")

	xdg := t.TempDir()
	write := func(path string) string {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		return path
	}
	inXDG := write(filepath.Join(xdg, "sluice", config.FileName))
	l = loader(t, "XDG_CONFIG_HOME="+xdg)
	require.Equal(t, inXDG, found(t, l, ""))
	inDir := write(filepath.Join(l.Dir, config.FileName))
	require.Equal(t, inDir, found(t, l, ""))
	named := write(filepath.Join(t.TempDir(), "other.yaml"))
	l.Getenv = func(string) (string, bool) { return named, true }
	require.Equal(t, named, found(t, l, ""))
	require.Equal(t, inXDG, found(t, l, inXDG))
	_, err = l.Find("/nowhere/sluice.yaml")
	require.ErrorContains(t, err, "does not exist")
}

func found(t *testing.T, l config.Loader, explicit string) string {
	t.Helper()
	path, err := l.Find(explicit)
	require.NoError(t, err)
	return path
}

func TestAFileThatCannotBeReadIsAFault(t *testing.T) {
	t.Parallel()
	_, err := loader(t).Load("/nowhere/sluice.yaml")
	require.EqualError(t, err, "/nowhere/sluice.yaml: cannot be read: no such file or directory")
	var f config.Faults
	require.ErrorAs(t, err, &f)
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "state: /a", "channels: { telegram: { accounts: { default: { token: \"${T}\" } } } }", "a: &a [*a]", "owners: [a, 1, true, null]",
		"? [a]\n: b", "<<: {}", "session: { queue: { cap: 0x10, mode: !!binary aGk= } }", "\xff\xfe", "{\"log\": {\"level\": \"info\"}}",
	} {
		f.Add(seed)
	}
	l := config.Loader{Getenv: func(string) (string, bool) { return "v", true }, Home: "/h", Dir: "."}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := l.Parse("f", []byte(text))
		if err != nil {
			var faults config.Faults
			require.ErrorAs(t, err, &faults)
			for _, fault := range faults {
				require.NotEmpty(t, fault.Text)
				require.Positive(t, fault.Line, fault.String())
			}
			return
		}
		_, err = c.YAML()
		require.NoError(t, err, "what was read can be shown")
		require.NotPanics(t, func() { c.DefaultAgent() })
	})
}

func TestGroupsTopicsRolesAndLinks(t *testing.T) {
	t.Parallel()
	c := parsed(t, `
channels:
  telegram:
    accounts: { default: { token: "1:a" } }
    groups: { "-100200": { topics: { 12: { requireMention: false }, 13: } } }
  discord:
    allowBots: mentions
    accounts: { default: { token: discord-token-123456 } }
    groups: { "guild:7": { allowRoles: [70], allowFrom: ["*"] }, 42: { requireMention: false } }
session: { identityLinks: { ada: ["telegram:1001", "slack:U1", "discord:42"] } }
bindings:
  - { match: { guild: 7 }, agent: main }
  - { match: { channel: slack, team: T1 }, agent: main }
  - { match: { channel: webchat, peer: local }, agent: main }
  - { match: { peer: local }, agent: main }
  - { match: { peer: U1 }, agent: main }
  - { match: { channel: telegram, peer: 1001 }, agent: main }
  - { match: { group: C1 }, agent: main }
  - { match: { channel: discord, group: 42 }, agent: main }
`)
	require.Equal(t, map[string]config.Topic{"12": {}, "13": {RequireMention: true}}, c.Channels.Telegram.Groups["-100200"].Topics)
	require.Equal(t, "off", c.Channels.Telegram.AllowBots)
	require.Equal(t, "mentions", c.Channels.Discord.AllowBots)
	guild := c.Channels.Discord.Groups["guild:7"]
	require.Equal(t, []string{"70"}, guild.AllowRoles)
	require.Equal(t, []string{"*"}, guild.AllowFrom)
	require.True(t, guild.RequireMention)
	require.Equal(t, []string{"telegram:1001", "slack:U1", "discord:42"}, c.Session.IdentityLinks["ada"])
	require.Equal(t, "7", c.Bindings[0].Match.Guild)
	require.Equal(t, "T1", c.Bindings[1].Match.Team)
	require.Equal(t, 20<<20, c.Limits.MaxMediaBytes)
}

func TestSecretsOfMCPServersAreHidden(t *testing.T) {
	t.Parallel()
	c := parsed(t, `
mcp:
  servers:
    files: { command: [files, /srv], env: { TOKEN: hush-1 }, tools: { deny: [write_*] } }
    far: { url: "https://mcp.example.org/?key=hush-2", headers: { Authorization: Bearer hush-3 }, classification: INTERNAL }
`)
	require.Equal(t, flow.Public, c.MCP.Servers["files"].Classification, "nothing but what is public, unless somebody says more")
	require.Equal(t, 60, c.MCP.Servers["files"].TimeoutSeconds)
	shown, err := c.YAML()
	require.NoError(t, err)
	require.NotContains(t, string(shown), "hush")
	require.Len(t, c.Secrets(), 3)
	require.False(t, c.Tools.Web.Enabled)
	require.Equal(t, flow.Public, c.Tools.Web.Classification)
}

// What a reference gives may be a secret: errors show the reference. All references of a file together are bounded.
func TestErrorsShowReferences(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "hush"), []byte("hush-of-a-\"file\"\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "long"), bytes.Repeat([]byte("x"), 60<<10), 0o600))
	l := config.Loader{Home: dir, Getenv: func(name string) (string, bool) { return "hush-of-the-environment", name == "HUSH" }}
	file := filepath.Join(dir, "sluice.yaml")
	_, err := l.Parse(file, []byte("gateway: { listen: \"${HUSH}\" }\nmodels: { default: \"a ${HUSH} b\" }\nowners: [\"${file:hush}\"]\n"))
	require.Error(t, err)
	require.NotContains(t, err.Error(), "hush-of")
	require.Contains(t, err.Error(), "${HUSH}")
	require.Contains(t, err.Error(), "${file:hush}")
	_, err = l.Parse(file, []byte("agents: { list: [{ id: a, systemPrompt: \""+strings.Repeat("${file:long}", 4)+"\" }] }\n"))
	require.NoError(t, err)
	_, err = l.Parse(file, []byte("agents: { list: [{ id: a, systemPrompt: \""+strings.Repeat("${file:long}", 200)+"\" }] }\n"))
	require.ErrorContains(t, err, "the references of the file give more than 8388608 bytes together")
}
