package setup_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/cli/setup"
	"sluice/internal/cli/terminal"
	"sluice/internal/config"
	"sluice/policy/flow"
)

// person answers the questions.
type person struct {
	*setup.Setup
	out bytes.Buffer
}

// answering is somebody who types the lines of typed, and those of secrets where nothing is shown.
func answering(t *testing.T, typed, secrets string) *person {
	t.Helper()
	p := &person{}
	hidden := strings.Split(secrets, "\n")
	p.Setup = &setup.Setup{
		Screen: terminal.Screen{Out: &p.out, Err: &p.out, Now: time.Now}, Input: strings.NewReader(typed), Terminal: true,
		Secret: func() (string, error) { s := hidden[0]; hidden = hidden[1:]; return s, nil },
		Loader: config.Loader{Home: t.TempDir(), Dir: t.TempDir(), Getenv: func(string) (string, bool) { return "1:a", true }},
		Path:   filepath.Join(t.TempDir(), "sluice.yaml"),
	}
	return p
}

// wrote runs the questions and returns the configuration.
func (p *person) wrote(t *testing.T) string {
	t.Helper()
	require.NoError(t, p.Run(t.Context(), false), p.out.String())
	text, err := os.ReadFile(p.Path)
	require.NoError(t, err)
	return string(text)
}

func TestAnswersBecomeAConfiguration(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		typed, secrets string
		want           []string
	}{
		"all embedded":  {"\n\n", "", []string{"default: offline/guide", "# telegram:", "\n  dmScope: main #"}},
		"bot and model": {"telegram\n1001\nopenai\n\n", "1:abc\nsk-${x}\n", []string{`"telegram:1001"`, `token: "${file:sluice-secrets/telegram-token}"`, `apiKey: "${file:sluice-secrets/openai-api-key}"`, `default: "openai/gpt-5-mini"`}},
		"references":    {"telegram\n\nanthropic\nm\n", "${TELEGRAM_TOKEN}\n${KEY}\n", []string{`token: "${TELEGRAM_TOKEN}"`, `apiKey: "${KEY}"`, `default: "anthropic/m"`}},
		"mistyped":      {"telegramm\n\nopnai\noffline\n", "", []string{"default: offline/guide"}},
		"asked again":   {"telegram\n@ada\n1001\n\n", "\nno token\n1:abc\n", []string{`["webchat:local", "telegram:1001"]`, `token: "${file:sluice-secrets/telegram-token}"`}},
		"named twice":   {"telegram Telegram\n1001\n\n", "1:abc\n", []string{`["webchat:local", "telegram:1001"]`}},
		"all channels": {
			"telegram, slack discord\n1\nU1\n2\n\n", "1:abc\nxoxb-1\nxapp-1\ndiscord-token-123456\n",
			[]string{`"telegram:1", "slack:U1", "discord:2"`, `botToken: "${file:sluice-secrets/slack-bot-token}", appToken: "${file:sluice-secrets/slack-app-token}"`, `token: "${file:sluice-secrets/discord-token}"`, "\n  dmScope: per-account-channel-peer\n"},
		},
		"own server": {"\nlocal\n\nllama\n", "", []string{`baseURL: "http://127.0.0.1:11434/v1"`, `default: "local/llama"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := answering(t, test.typed, test.secrets).wrote(t)
			for _, want := range test.want {
				require.Contains(t, text, want)
			}
		})
	}
}

// The whole conversation, as a person sees it.
func TestTheQuestions(t *testing.T) {
	t.Parallel()
	p := answering(t, "telegrm\ntelegram,slack\n1001\nU1\nopnai\nopenai\n\n", "\n1:abc\nxoxb-1\nxapp-1\nsk-1\n")
	p.wrote(t)
	dir := filepath.Dir(p.Path)
	require.Equal(t, `Channels besides web chat: telegram, slack, discord (comma-separated; Enter for none): Unknown channel "telegrm". Choose from telegram, slack and discord.
Channels besides web chat: telegram, slack, discord (comma-separated; Enter for none): Telegram bot token (from @BotFather): 
  Nothing was entered. Paste it and press Enter, or press Ctrl-C to stop without writing a file.
Telegram bot token (from @BotFather): 
  (5 characters)
Your Telegram user ID (@userinfobot tells you; Enter to pair later): Slack bot token (xoxb-...): 
  (6 characters)
Slack app-level token (xapp-...): 
  (6 characters)
Your Slack member ID (profile menu, Copy member ID; Enter to pair later): Model provider: offline (a demo), openai, anthropic, or local (your own server) [offline]: Unknown provider "opnai". Choose from offline, openai, anthropic and local.
Model provider: offline (a demo), openai, anthropic, or local (your own server) [offline]: OpenAI API key: 
  (4 characters)
Model [gpt-5-mini]: Wrote DIR/sluice-secrets/telegram-token, readable only by you.
Wrote DIR/sluice-secrets/slack-bot-token, readable only by you.
Wrote DIR/sluice-secrets/slack-app-token, readable only by you.
Wrote DIR/sluice-secrets/openai-api-key, readable only by you.
Wrote DIR/sluice.yaml. Start the gateway with: sluice serve --config DIR/sluice.yaml
`, strings.ReplaceAll(p.out.String(), dir, "DIR"))
}

// A mistake is told at once, with its place, and the channel is asked about again.
func TestAMistakeIsAskedAboutAgain(t *testing.T) {
	t.Parallel()
	p := answering(t, "telegram\nada\n1001\n\n", "1:abc\n")
	require.Contains(t, p.wrote(t), `"telegram:1001"`)
	require.Contains(t, p.out.String(), "owners[1]: ")
}

func TestYesAsksNothing(t *testing.T) {
	t.Parallel()
	p := answering(t, "", "")
	p.Terminal = false
	require.NoError(t, p.Run(t.Context(), true))
	require.Equal(t, "Wrote "+p.Path+". Start the gateway with: sluice serve --config "+p.Path+"\n", p.out.String())
	_, err := p.Loader.Load(p.Path)
	require.NoError(t, err)
}

func TestQuestionsNeedATerminal(t *testing.T) {
	t.Parallel()
	p := answering(t, "\n\n", "")
	p.Terminal = false
	var usage terminal.UsageError
	require.ErrorAs(t, p.Run(t.Context(), false), &usage)
	require.EqualError(t, usage, "init asks questions and needs a terminal: use --yes for the default answers")
	require.NoFileExists(t, p.Path)
}

// Input that ends before the last answer leaves nothing behind.
func TestAnEndedInputWritesNothing(t *testing.T) {
	t.Parallel()
	for _, typed := range []string{"", "telegram\n", "telegram\n1001\n", "\nlocal\n", "\nlocal\nhttp://127.0.0.1:1/v1\n"} {
		p := answering(t, typed, "1:abc\n")
		require.ErrorContains(t, p.Run(t.Context(), false), "read answer: EOF", typed)
		require.NoFileExists(t, p.Path)
		require.NoDirExists(t, filepath.Join(filepath.Dir(p.Path), setup.SecretsDir))
	}
	p := answering(t, "telegram\n", "")
	p.Secret = func() (string, error) { return "", errors.New("the terminal is gone") }
	require.ErrorContains(t, p.Run(t.Context(), false), "read answer: the terminal is gone")
	p = answering(t, "telegram\n1:abc\n1001\n\n", "")
	p.Secret = nil // no terminal can hide them
	require.Contains(t, p.wrote(t), "telegram-token")
}

// Secrets are in files that only their owner can read, and neither in the configuration nor on the screen. The
// configuration with the references works.
func TestSecretsStayOutOfTheConfiguration(t *testing.T) {
	t.Parallel()
	p := answering(t, "telegram\n1001\nopenai\n\n", "1:abc\nsk-${x}-secret")
	text := p.wrote(t)
	for _, secret := range []string{"1:abc", "}-secret", "sk-$"} {
		require.NotContains(t, text, secret)
		require.NotContains(t, p.out.String(), secret)
	}
	dir := filepath.Dir(p.Path)
	for _, name := range []string{p.Path, dir + "/sluice-secrets/telegram-token", dir + "/sluice-secrets/openai-api-key"} {
		info, err := os.Stat(name)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), name)
	}
	cfg, err := p.Loader.Load(p.Path)
	require.NoError(t, err)
	require.Equal(t, config.Secret("sk-${x}-secret"), cfg.Models.Providers["openai"].APIKey)
	require.Equal(t, config.Secret("1:abc"), cfg.Channels.Telegram.Accounts["default"].Token)
}

// Nothing that exists is written over without --force, and an attempt that fails removes what it wrote.
func TestFilesAreKept(t *testing.T) {
	t.Parallel()
	first := answering(t, "telegram\n1001\n\n", "1:abc")
	before := first.wrote(t)
	dir := filepath.Dir(first.Path)

	again := answering(t, "\n\n", "")
	again.Path = first.Path
	require.EqualError(t, again.Run(t.Context(), false), first.Path+" already exists: use --force to write over it")

	other := answering(t, "slack,telegram\nU1\n1001\n\n", "xoxb-1\nxapp-1\n2:def")
	other.Path = filepath.Join(dir, "other.yaml")
	require.EqualError(t, other.Run(t.Context(), false), filepath.Join(dir, "sluice-secrets", "telegram-token")+" already exists: use --force to write over it")
	require.NoFileExists(t, other.Path)
	require.NoFileExists(t, filepath.Join(dir, "sluice-secrets", "slack-bot-token"), "what the attempt wrote is removed")
	kept, err := os.ReadFile(filepath.Join(dir, "sluice-secrets", "telegram-token"))
	require.NoError(t, err)
	require.Equal(t, "1:abc\n", string(kept))
	text, err := os.ReadFile(first.Path)
	require.NoError(t, err)
	require.Equal(t, before, string(text))

	forced := answering(t, "telegram\n2002\n\n", "2:def")
	forced.Path, forced.Force = first.Path, true
	require.Contains(t, forced.wrote(t), "telegram:2002")
	kept, err = os.ReadFile(filepath.Join(dir, "sluice-secrets", "telegram-token"))
	require.NoError(t, err)
	require.Equal(t, "2:def\n", string(kept))
}

func TestAFolderThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	p := answering(t, "\n\n", "")
	p.Path = filepath.Join(t.TempDir(), "none", "sluice.yaml")
	require.ErrorContains(t, p.Run(t.Context(), false), "write file: ")

	p = answering(t, "telegram\n1\n\n", "1:abc")
	require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(p.Path), setup.SecretsDir), nil, 0o600))
	require.ErrorContains(t, p.Run(t.Context(), false), "make folder for secrets: ")

	p = answering(t, "\n\n", "")
	p.Force = true
	require.NoError(t, os.MkdirAll(filepath.Join(p.Path, "below"), 0o700))
	require.ErrorContains(t, p.Run(t.Context(), false), "replace file: ")
}

func TestAWrongAddressIsAskedAboutAgain(t *testing.T) {
	t.Parallel()
	p := answering(t, "\nlocal\nnowhere\nhttp://127.0.0.1:1/v1\nx\n", "")
	require.Contains(t, p.wrote(t), `baseURL: "http://127.0.0.1:1/v1"`)
	require.Contains(t, p.out.String(), "models.providers.local.baseURL: ")
}

// The platform is asked whether it knows a token. A person without a network can keep it.
func TestTokensAreTried(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		typed, secrets string
		shows, wants   string
	}{
		"known":              {"telegram\n1001\n\n", "1:abc\n", "  The bot is Plan\\u202e (@plan_bot).\n", "1:abc"},
		"unknown":            {"telegram\n\n1001\n\n", "1:typo\n1:abc\n", "  Token not confirmed: Telegram does not know this token\nUse the token anyway (yes or no) [no]: ", "1:abc"},
		"kept":               {"telegram\nyes\n1001\n\n", "1:typo\n", "  Token not confirmed: Telegram does not know this token\n", "1:typo"},
		"the shape is first": {"telegram\n1001\n\n", "typo\n1:abc\n", "channels.telegram.accounts.default.token: ", "1:abc"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := answering(t, c.typed, c.secrets)
			p.Probe = func(_ context.Context, cfg *config.Config, channel string) (string, error) {
				require.Equal(t, "telegram", channel)
				if cfg.Channels.Telegram.Accounts["default"].Token != "1:abc" {
					return "", errors.New("Telegram does not know this token")
				}
				return "Plan\u202e (@plan_bot)", nil
			}
			p.wrote(t)
			require.Contains(t, p.out.String(), c.shows)
			token, err := os.ReadFile(filepath.Join(filepath.Dir(p.Path), setup.SecretsDir, "telegram-token"))
			require.NoError(t, err)
			require.Equal(t, c.wants+"\n", string(token))
		})
	}
}

// keyboard is a terminal that was taken over.
type keyboard struct {
	bytes.Buffer
	answers []string
	closed  int
	fails   error
}

func (k *keyboard) Ask(prompt string, secret bool) (string, error) {
	k.WriteString(prompt)
	answer := k.answers[0]
	k.answers = k.answers[1:]
	if !secret {
		k.WriteString(answer)
	}
	k.WriteString("\n")
	return answer, nil
}

func (k *keyboard) Close() error { k.closed++; return k.fails }

func TestATerminalThatIsTakenOver(t *testing.T) {
	t.Parallel()
	p := answering(t, "", "")
	k := &keyboard{answers: []string{"telegrm", "telegram", "1:abc", "1001", ""}}
	p.Typing = func() (setup.Typing, error) { return k, nil }
	require.Contains(t, p.wrote(t), "telegram:1001")
	require.Equal(t, 1, k.closed, "the terminal is given back")
	require.Contains(t, k.String(), "Unknown channel \"telegrm\"")
	require.Contains(t, k.String(), "(5 characters)")
	require.NotContains(t, k.String()+p.out.String(), "1:abc")
	require.NotContains(t, p.out.String(), "Telegram bot token", "questions are only on the terminal")

	p = answering(t, "", "")
	p.Typing = func() (setup.Typing, error) { return nil, errors.New("no such device") }
	require.EqualError(t, p.Run(t.Context(), false), "use the terminal: no such device")

	p = answering(t, "", "")
	k = &keyboard{answers: []string{"", ""}, fails: errors.New("restore failed")}
	p.Typing = func() (setup.Typing, error) { return k, nil }
	require.EqualError(t, p.Run(t.Context(), false), "restore failed")
	require.NoFileExists(t, p.Path)
}

// An example is a key behind a # in its place, with the lines below it that are indented further.
var (
	example     = regexp.MustCompile(`(?m)^( *)# ([A-Za-z]+:.*(?:\n *#  .*)*)$`)
	commentMark = regexp.MustCompile(`(?m)^( *)# `)
)

func uncommented(text string) string {
	return example.ReplaceAllStringFunc(text, func(lines string) string { return commentMark.ReplaceAllString(lines, "$1") })
}

// Each example in the configuration works when its comment mark is removed, alone and together with all others.
func TestTheExamplesWork(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		typed, secrets string
		examples       int
	}{
		"all embedded": {"\n\n", "", 10},
		"all channels": {"telegram, slack discord\n1\nU1\n2\nanthropic\n\n", "1:abc\nxoxb-1\nxapp-1\ndiscord-token-123456\nsk\n", 15},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tokens := map[string]string{"SLACK_BOT_TOKEN": "xoxb-2", "SLACK_APP_TOKEN": "xapp-2", "DISCORD_TOKEN": "discord-token-654321"}
			p := answering(t, test.typed, test.secrets)
			p.Loader.Getenv = func(name string) (string, bool) {
				if token, ok := tokens[name]; ok {
					return token, true
				}
				return "1:a", !strings.HasPrefix(name, "SLUICE_STATE")
			}
			parse := func(text string) *config.Config {
				c, err := p.Loader.Parse(p.Path, []byte(text))
				require.NoError(t, err, text)
				return c
			}
			text := p.wrote(t)
			found := example.FindAllStringIndex(text, -1)
			require.Len(t, found, test.examples)
			for _, at := range found {
				parse(text[:at[0]] + uncommented(text[at[0]:at[1]]) + text[at[1]:])
			}
			c := parse(uncommented(text))
			require.Equal(t, flow.Confidential, c.Policy.Clearance)
			require.Len(t, c.Policy.Rules, 3)
			require.Equal(t, flow.Internal, c.DefaultAgent().WorkspaceLevel)
			for _, platform := range c.Channels.Platforms() {
				require.Equal(t, flow.Internal, platform.Access.Classification, platform.Name)
			}
		})
	}
}
