package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"sluice/internal/config"
)

// answers are what init asks for.
type answers struct {
	Telegram string // bot token; empty for none
	SlackBot string // bot token; empty for none
	SlackApp string // app-level token
	Discord  string // bot token; empty for none
	Owners   []string
	Provider string // offline, openai, anthropic or local
	Model    string // without the provider
	APIKey   string
	BaseURL  string
}

// secretsDir is the folder beside the configuration in which init keeps secrets, each in a file.
const secretsDir = "sluice-secrets"

// keptSecret is an answer that is kept in a file of its own.
type keptSecret struct {
	name  string // of the file
	value *string
}

// secrets are the answers that nobody else may read.
func (got *answers) secrets() []keptSecret {
	return []keptSecret{
		{"telegram-token", &got.Telegram},
		{"slack-bot-token", &got.SlackBot},
		{"slack-app-token", &got.SlackApp},
		{"discord-token", &got.Discord},
		{got.Provider + "-api-key", &got.APIKey},
	}
}

// keepSecrets writes secrets into files beside the configuration and puts references in their places. What is a reference
// already stays. The files that it has written are given in any case.
func keepSecrets(dir string, secrets []keptSecret, over bool) (written []string, err error) {
	for _, s := range secrets {
		if *s.value == "" || isReference(*s.value) {
			continue
		}
		if err := os.MkdirAll(filepath.Join(dir, secretsDir), 0o700); err != nil {
			return written, fmt.Errorf("make folder for secrets: %w", err)
		}
		name := filepath.Join(secretsDir, s.name)
		path := filepath.Join(dir, name)
		if err := writeFile(path, []byte(*s.value+"\n"), over); err != nil {
			return written, err
		}
		written = append(written, path)
		*s.value = "${file:" + filepath.ToSlash(name) + "}"
	}
	return written, nil
}

// isReference reports whether an answer names a variable or a file and is no secret itself.
func isReference(answer string) bool {
	return strings.HasPrefix(answer, "${") && strings.HasSuffix(answer, "}")
}

func (a *app) initCommand() *cobra.Command {
	var yes, force bool
	cmd := &cobra.Command{
		Use: "init", Short: "Write a commented sluice.yaml, asking for what it needs", Args: cobra.NoArgs,
		Long: "Write a commented configuration to --config (default ./" + config.FileName + "), mode 0600, asking for what it needs.\nSecrets are not shown as they are typed. Each is kept in a file of the folder " + secretsDir + " beside it; an answer such as ${TELEGRAM_TOKEN} or ${file:/path} stays a reference.",
		RunE: a.run(func(ctx context.Context, _ []string) error { return a.init(ctx, yes, force) }),
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "ask nothing: web chat and the offline model")
	cmd.Flags().BoolVar(&force, "force", false, "write over a file that is there")
	return cmd
}

func (a *app) init(_ context.Context, yes, force bool) error {
	path := orText(a.configPath, config.FileName)
	if _, err := os.Lstat(path); err == nil && !force {
		return fmt.Errorf("%s is there already: --force writes over it", path)
	}
	got := answers{Provider: config.OfflineProvider}
	if !yes {
		if !a.Terminal {
			return usageError{"nobody can be asked, this is no terminal: use --yes for the defaults"}
		}
		if err := a.ask(&got); err != nil {
			return err
		}
	}
	text, err := got.yaml()
	if err != nil {
		return err
	}
	if _, err := a.Loader.Parse(path, text); err != nil {
		return err // what was answered does not fit
	}
	kept, err := keepSecrets(filepath.Dir(path), got.secrets(), force)
	if err == nil {
		err = a.writeConfig(path, got, force)
	}
	if err != nil {
		for _, file := range kept {
			err = errors.Join(err, os.Remove(file))
		}
		return err
	}
	for _, file := range kept {
		fmt.Fprintf(a.Stdout, "Wrote %s, which only you can read.\n", file)
	}
	_, err = fmt.Fprintf(a.Stdout, "Wrote %s. Next: sluice serve\n", path)
	return err
}

// writeConfig writes the configuration as it is to be, if that works.
func (a *app) writeConfig(path string, got answers, force bool) error {
	text, err := got.yaml()
	if err != nil {
		return err
	}
	if _, err := a.Loader.Parse(path, text); err != nil {
		return err
	}
	return writeFile(path, text, force)
}

// writeFile writes a file that only its owner can read.
func writeFile(path string, text []byte, over bool) (err error) {
	if over {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("write configuration: %w", err)
		}
	}
	f, err := os.OpenFile(filepath.Clean(path), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = f.Write(text)
	if err := errors.Join(err, f.Close()); err != nil {
		return errors.Join(fmt.Errorf("write configuration: %w", err), os.Remove(path))
	}
	return nil
}

// ask asks one question after the other.
func (a *app) ask(got *answers) (err error) {
	if a.Typing != nil {
		typing, err := a.Typing()
		if err != nil {
			return fmt.Errorf("use the terminal: %w", err)
		}
		plain := a.Stdout
		a.typing, a.Stdout = typing, typing
		defer func() {
			a.typing, a.Stdout = nil, plain
			err = errors.Join(err, typing.Close())
		}()
	}
	in := bufio.NewReader(a.Stdin)
	if err = a.askChannels(in, got); err != nil {
		return err
	}
	if got.Provider, err = a.askProvider(in); err != nil {
		return err
	}
	return a.askModel(in, got)
}

// askChannels asks for the platforms, and for what each of them needs.
func (a *app) askChannels(in *bufio.Reader, got *answers) error {
	names, err := a.askNames(in)
	if err != nil {
		return err
	}
	for _, name := range names {
		switch name {
		case "telegram":
			err = a.askChannel(in, got, "telegram", "user id (@userinfobot tells it)", secretQuestion{"Telegram bot token from @BotFather", &got.Telegram})
		case "slack":
			err = a.askChannel(in, got, "slack", "member id (your profile's menu: Copy member ID)",
				secretQuestion{"Slack bot token, xoxb-…", &got.SlackBot}, secretQuestion{"Slack app-level token, xapp-…", &got.SlackApp})
		case "discord":
			err = a.askChannel(in, got, "discord", "user id (developer mode, Copy User ID)", secretQuestion{"Discord bot token", &got.Discord})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// askNames asks until it gets channels that there are.
func (a *app) askNames(in *bufio.Reader) ([]string, error) {
	for {
		line, err := a.question(in, "Channels besides the web page: telegram, slack, discord, several with commas (empty: none)", "", false)
		if err != nil {
			return nil, err
		}
		names := strings.FieldsFunc(strings.ToLower(line), func(r rune) bool { return r == ',' || r == ' ' })
		unknown := slices.IndexFunc(names, func(name string) bool { return !slices.Contains([]string{"telegram", "slack", "discord"}, name) })
		if unknown < 0 {
			return names, nil
		}
		fmt.Fprintf(a.Stdout, "There is no channel %q here.\n", names[unknown])
	}
}

// secretQuestion is one secret that a channel needs.
type secretQuestion struct {
	text   string
	answer *string
}

// askChannel asks for what a channel needs until it fits.
func (a *app) askChannel(in *bufio.Reader, got *answers, channel, who string, secrets ...secretQuestion) error {
	before := got.Owners
	for {
		got.Owners = slices.Clone(before)
		for _, s := range secrets {
			if err := a.askSecret(in, s); err != nil {
				return err
			}
		}
		owner, err := a.question(in, "Your "+who+"; empty: pair later", "", false)
		if err != nil {
			return err
		}
		if owner != "" {
			got.Owners = append(got.Owners, channel+":"+owner)
		}
		faults, err := a.faultsOf(*got)
		if err != nil || len(faults) == 0 {
			return err
		}
		for _, f := range faults {
			fmt.Fprintf(a.Stdout, "%s: %s\n", f.Path, f.Text)
		}
	}
}

// askSecret asks until there is an answer.
func (a *app) askSecret(in *bufio.Reader, s secretQuestion) (err error) {
	for *s.answer = ""; *s.answer == ""; {
		if *s.answer, err = a.question(in, s.text, "", true); err != nil {
			return err
		}
	}
	return nil
}

// faultsOf are those of a configuration with the answers that there are by now.
func (a *app) faultsOf(got answers) (config.Faults, error) {
	text, err := got.yaml()
	if err != nil {
		return nil, err
	}
	_, err = a.Loader.Parse(orText(a.configPath, config.FileName), text)
	faults, _ := errors.AsType[config.Faults](err) // nil without faults
	return faults, nil
}

// askProvider asks until it gets a provider that there is.
func (a *app) askProvider(in *bufio.Reader) (string, error) {
	for {
		got, err := a.question(in, "Model provider: offline, openai, anthropic, or local for a server of yours", config.OfflineProvider, false)
		if err != nil || slices.Contains([]string{config.OfflineProvider, "openai", "anthropic", "local"}, got) {
			return got, err
		}
		fmt.Fprintf(a.Stdout, "There is no provider %q here.\n", got)
	}
}

func (a *app) askModel(in *bufio.Reader, got *answers) error {
	model := map[string]string{"openai": "gpt-5-mini", "anthropic": "claude-sonnet-4-5", "local": "llama3.2"}[got.Provider]
	var err error
	switch got.Provider {
	case config.OfflineProvider:
		return nil
	case "openai", "anthropic":
		got.APIKey, err = a.question(in, "API key", "", true)
	case "local":
		got.BaseURL, err = a.question(in, "Address of its Chat Completions API", "http://127.0.0.1:11434/v1", false)
	}
	if err != nil {
		return err
	}
	got.Model, err = a.question(in, "Model", model, false)
	return err
}

// question asks for one line; secret ones are not shown as they are typed.
func (a *app) question(in *bufio.Reader, text, otherwise string, secret bool) (string, error) {
	if otherwise != "" {
		text += " [" + otherwise + "]"
	}
	var answer string
	var err error
	if a.typing == nil {
		fmt.Fprint(a.Stdout, text+": ")
	}
	switch {
	case a.typing != nil:
		answer, err = a.typing.Ask(text+": ", secret)
	case secret && a.Secret != nil:
		answer, err = a.Secret()
		fmt.Fprintln(a.Stdout)
	default:
		answer, err = in.ReadString('\n')
	}
	if secret && answer != "" {
		fmt.Fprintf(a.Stdout, "  taken, %d characters\n", utf8.RuneCountInString(strings.TrimSpace(answer)))
	}
	if err != nil && (!errors.Is(err, io.EOF) || answer == "") {
		return "", fmt.Errorf("read answer: %w", err)
	}
	return orText(strings.TrimSpace(answer), otherwise), nil
}

// yaml fills in the template.
func (got answers) yaml() ([]byte, error) {
	t, err := template.New(config.FileName).Funcs(template.FuncMap{"quote": quote}).Parse(initTemplate)
	if err != nil {
		return nil, fmt.Errorf("read template: %w", err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, got); err != nil {
		return nil, fmt.Errorf("write configuration: %w", err)
	}
	return out.Bytes(), nil
}

// quote writes a text so that YAML and the loader read it as it stands. A whole reference stays one.
func quote(s string) (string, error) {
	if !isReference(s) {
		s = strings.ReplaceAll(s, "${", "$${")
	}
	data, err := json.Marshal(s)
	return string(data), err
}

const initTemplate = `# Sluice's configuration. Every key: docs/configuration.md. "sluice config check" finds what is wrong with it.
# ${NAME} stands for an environment variable, ${file:/path} for a file's text.

gateway:
  listen: 127.0.0.1:8484
  # token: "${SLUICE_TOKEN}" # of the API; without one a token is made and kept in <state>/token

# state: ~/.local/share/sluice # embedded database, bus files, token
# store: { url: "postgres://user@host/sluice" } # instead of the embedded SQLite
# bus: { url: "nats://a:4222,nats://b:4222" } # instead of the embedded NATS

# Who the gateway belongs to: <channel>:<user id>. Owners may use every command.
owners: ["webchat:local"{{range .Owners}}, {{quote .}}{{end}}]

channels:
  webchat: {} # the chat on the gateway's page
{{- if .Telegram}}
  telegram:
    dmPolicy: pairing # others get a code; "sluice pairing approve CODE" lets them in
    groupPolicy: allowlist
    # groups: { "-1001234567890": { requireMention: true, classification: PUBLIC } }
    # classification: INTERNAL # the most that is said through it, and the level of what is heard; default PUBLIC
    # recipients: { "1001": { external: true } } # told only what is PUBLIC, whatever the channel carries
    accounts:
      default: { token: {{quote .Telegram}} }
{{- else}}
  # telegram: # a bot: get a token from @BotFather
  #   classification: INTERNAL # the most that is said through it, and the level of what is heard; default PUBLIC
  #   accounts:
  #     default: { token: "${TELEGRAM_TOKEN}" }
{{- end}}
{{- if .SlackBot}}
  slack: # the app's manifest: docs/channels/slack.md
    dmPolicy: pairing
    groupPolicy: allowlist
    # groups: { "C024BE91L": { requireMention: true, classification: PUBLIC } }
    # classification: INTERNAL # the most that is said through it, and the level of what is heard; default PUBLIC
    # recipients: { "U024BE7LH": { external: true } } # told only what is PUBLIC, whatever the channel carries
    accounts:
      default: { botToken: {{quote .SlackBot}}, appToken: {{quote .SlackApp}} }
{{- else}}
  # slack: # an app: docs/channels/slack.md has its manifest
  #   classification: INTERNAL # the most that is said through it, and the level of what is heard; default PUBLIC
  #   accounts:
  #     default: { botToken: "${SLACK_BOT_TOKEN}", appToken: "${SLACK_APP_TOKEN}" }
{{- end}}
{{- if .Discord}}
  discord: # switch the Message Content intent on: docs/channels/discord.md
    dmPolicy: pairing
    groupPolicy: allowlist
    # groups: { "41771983423143937": { requireMention: true, classification: PUBLIC } }
    # classification: INTERNAL # the most that is said through it, and the level of what is heard; default PUBLIC
    # recipients: { "80351110224678912": { external: true } } # told only what is PUBLIC, whatever the channel carries
    accounts:
      default: { token: {{quote .Discord}} }
{{- else}}
  # discord: # a bot: docs/channels/discord.md
  #   classification: INTERNAL # the most that is said through it, and the level of what is heard; default PUBLIC
  #   accounts:
  #     default: { token: "${DISCORD_TOKEN}" }
{{- end}}

models:
{{- if eq .Provider "offline"}}
  default: offline/guide # a demonstration that needs no key, not an AI
  # providers:
  #   openai: { kind: openai, apiKey: "${OPENAI_API_KEY}" } # then: default: openai/<model>
  #   anthropic: { kind: anthropic, apiKey: "${ANTHROPIC_API_KEY}" }
  #   local: { kind: openai, baseURL: "http://127.0.0.1:11434/v1" } # any Chat Completions server
{{- else}}
  default: {{quote (print .Provider "/" .Model)}}
  providers:
{{- if eq .Provider "local"}}
    local: { kind: openai, baseURL: {{quote .BaseURL}} } # classification: INTERNAL in it bounds what it is told; default RESTRICTED
{{- else}}
    {{.Provider}}: { kind: {{.Provider}}, apiKey: {{quote .APIKey}} } # classification: INTERNAL in it bounds what it is told; default RESTRICTED
{{- end}}
{{- end}}

# agents:
#   list:
#     - id: main
#       name: Main
#       systemPrompt: "You are a helpful assistant."
#       permission: ask # tools that do more than read wait for your word; default auto
#       workspaceClassification: INTERNAL # of its files: who reads one has learnt that. Default: each is as secret as its conversation

session:
{{- if or .Telegram .SlackBot .Discord}}
  # Each person on each account has a session of their own. With main all private chats are one session, yours:
  # whoever is let in could ask for what you said there.
  dmScope: per-account-channel-peer
{{- else}}
  dmScope: main # all private chats are one session, yours; per-account-channel-peer before you let others in
{{- end}}
  queue: { mode: collect, debounceMs: 500 } # what waits while the agent works becomes one question

# Who may learn what: docs/policy.md. Levels are PUBLIC < INTERNAL < CONFIDENTIAL < RESTRICTED. A conversation rises to the level of what it
# reads, and tells nothing of that where less may be said, until /new. Rules come on top and can only tighten.
# policy:
#   escalation: ask # before a conversation learns more than may be said in it: ask an owner, auto (it rises, and can't answer there), deny
#   clearance: CONFIDENTIAL # the most that an owner's conversation may learn; default RESTRICTED
#   rules:
#     # Card numbers are taken out of all that is said.
#     - { name: cards, hook: PRE_OUTPUT, action: redact, redact: '\b\d(?:[ -]?\d){12,15}\b' }
#     # Commands wait for your word: by button, /approve, or "sluice approvals".
#     - { name: ask-exec, hook: PRE_TOOL_CALL, tools: [exec], action: require_approval, timeout: 30m, onTimeout: block }
#     # What strangers may have led to is looked at by you before it is said elsewhere.
#     - name: strangers
#       hook: PRE_OUTPUT
#       when: output.kind == "message" && session.trust == "untrusted"
#       action: require_approval
`
