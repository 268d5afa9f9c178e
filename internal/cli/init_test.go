package cli_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/cli"
	"sluice/internal/config"
	"sluice/policy/flow"
)

// written is what init writes for some answers.
func written(t *testing.T, typed, secrets string) string {
	t.Helper()
	return writtenAt(t, t.TempDir()+"/sluice.yaml", typed, secrets)
}

func writtenAt(t *testing.T, path, typed, secrets string) string {
	t.Helper()
	c := newConsole(t, "init", "--config", path)
	c.Terminal, c.Stdin = true, strings.NewReader(typed)
	hidden := strings.Split(secrets, "\n")
	c.Secret = func() (string, error) { s := hidden[0]; hidden = hidden[1:]; return s, nil }
	c.Loader.Getenv = func(string) (string, bool) { return "1:a", true }
	require.Equal(t, cli.ExitDone, cli.Execute(t.Context(), c.Deps), c.err.String())
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

func TestInitAsksAndWritesWhatFits(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		typed, secrets string
		want           []string
	}{
		"all embedded":  {"\n\n", "", []string{"default: offline/guide", "# telegram:"}},
		"bot and model": {"telegram\n1001\nopenai\n\n", "1:abc\nsk-${x}\n", []string{`"telegram:1001"`, `token: "${file:sluice-secrets/telegram-token}"`, `apiKey: "${file:sluice-secrets/openai-api-key}"`, `default: "openai/gpt-5-mini"`}},
		"references":    {"telegram\n\nanthropic\nm\n", "${TELEGRAM_TOKEN}\n${KEY}\n", []string{`token: "${TELEGRAM_TOKEN}"`, `apiKey: "${KEY}"`}},
		"mistyped":      {"telegramm\n\nopnai\noffline\n", "", []string{"default: offline/guide"}},
		"asked again":   {"telegram\n@ada\n1001\n\n", "\nno token\n1:abc\n", []string{`["webchat:local", "telegram:1001"]`, `token: "${file:sluice-secrets/telegram-token}"`}},
		"all channels": {
			"telegram, slack discord\n1\nU1\n2\n\n", "1:abc\nxoxb-1\nxapp-1\ndiscord-token-123456\n",
			[]string{`"telegram:1", "slack:U1", "discord:2"`, `botToken: "${file:sluice-secrets/slack-bot-token}", appToken: "${file:sluice-secrets/slack-app-token}"`, `token: "${file:sluice-secrets/discord-token}"`, "\n  dmScope: per-account-channel-peer\n"},
		},
		"own server": {"\nlocal\n\nllama\n", "", []string{`baseURL: "http://127.0.0.1:11434/v1"`, `default: "local/llama"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := written(t, test.typed, test.secrets)
			for _, want := range test.want {
				require.Contains(t, text, want)
			}
		})
	}
}

// Secrets stand in files that only their owner can read, and neither in the configuration nor on the screen; the
// configuration with the references works.
func TestInitKeepsSecretsOutOfTheFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := dir + "/sluice.yaml"
	c := newConsole(t, "init", "--config", path)
	c.Terminal, c.Stdin = true, strings.NewReader("telegram\n1001\nopenai\n\n")
	hidden := []string{"1:abc", "sk-${x}-secret"}
	c.Secret = func() (string, error) { s := hidden[0]; hidden = hidden[1:]; return s, nil }
	require.Equal(t, cli.ExitDone, cli.Execute(t.Context(), c.Deps), c.err.String())
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, secret := range []string{"1:abc", "}-secret", "sk-$"} {
		require.NotContains(t, string(text), secret)
		require.NotContains(t, c.out.String(), secret)
	}
	for _, name := range []string{path, dir + "/sluice-secrets/telegram-token", dir + "/sluice-secrets/openai-api-key"} {
		info, err := os.Stat(name)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), name)
	}
	cfg, err := c.Loader.Load(path)
	require.NoError(t, err)
	require.Equal(t, config.Secret("sk-${x}-secret"), cfg.Models.Providers["openai"].APIKey)
	require.Equal(t, config.Secret("1:abc"), cfg.Channels.Telegram.Accounts["default"].Token)

	again := newConsole(t, "init", "--config", dir+"/other.yaml")
	again.Terminal, again.Stdin = true, strings.NewReader("telegram\n1001\n\n")
	again.Secret = func() (string, error) { return "2:def", nil }
	require.Equal(t, cli.ExitFailed, cli.Execute(t.Context(), again.Deps))
	require.Contains(t, again.err.String(), "sluice-secrets/telegram-token: ", "a secret that is there is not written over")
	require.NoFileExists(t, dir+"/other.yaml")
	kept, err := os.ReadFile(dir + "/sluice-secrets/telegram-token")
	require.NoError(t, err)
	require.Equal(t, "1:abc\n", string(kept))
}

func TestInitWritesNothingThatDoesNotLoad(t *testing.T) {
	t.Parallel()
	path := t.TempDir() + "/sluice.yaml"
	c := newConsole(t, "init", "--config", path)
	c.Terminal, c.Stdin = true, strings.NewReader("\nlocal\nnowhere\nx\n")
	require.Equal(t, cli.ExitUsage, cli.Execute(t.Context(), c.Deps))
	require.Contains(t, c.err.String(), "models.providers.local.baseURL: ")
	require.NoFileExists(t, path)
}

// An example is a key behind a # at its place, with the lines below it that are indented behind theirs.
var (
	example     = regexp.MustCompile(`(?m)^( *)# ([A-Za-z]+:.*(?:\n *#  .*)*)$`)
	commentMark = regexp.MustCompile(`(?m)^( *)# `)
)

func uncommented(text string) string {
	return example.ReplaceAllStringFunc(text, func(lines string) string { return commentMark.ReplaceAllString(lines, "$1") })
}

// Each example of what init writes works when it is no comment any more, alone and together with all others.
func TestInitsExamplesWork(t *testing.T) {
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
			loader := config.Loader{Home: t.TempDir(), Dir: t.TempDir(), Getenv: func(name string) (string, bool) {
				if token, ok := tokens[name]; ok {
					return token, true
				}
				return "1:a", !strings.HasPrefix(name, "SLUICE_STATE")
			}}
			path := t.TempDir() + "/sluice.yaml"
			parse := func(text string) *config.Config {
				c, err := loader.Parse(path, []byte(text))
				require.NoError(t, err, text)
				return c
			}
			text := writtenAt(t, path, test.typed, test.secrets)
			found := example.FindAllStringIndex(text, -1)
			require.Len(t, found, test.examples)
			for _, at := range found {
				parse(text[:at[0]] + uncommented(text[at[0]:at[1]]) + text[at[1]:])
			}
			c := parse(uncommented(text))
			require.Equal(t, flow.Confidential, c.Policy.Clearance)
			require.Len(t, c.Policy.Rules, 3)
			require.Equal(t, flow.Internal, c.DefaultAgent().WorkspaceLevel)
			for _, p := range c.Channels.Platforms() {
				require.Equal(t, flow.Internal, p.Access.Classification, p.Name)
			}
		})
	}
}
