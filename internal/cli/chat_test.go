package cli_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/cli"
	"sluice/internal/config"
)

// console is a command line in this process, against a fake gateway.
type console struct {
	cli.Deps
	fake     *fake
	out, err bytes.Buffer
	signals  chan os.Signal
}

func newConsole(t *testing.T, args ...string) *console {
	t.Helper()
	c := &console{fake: newFake(), signals: make(chan os.Signal, 2)}
	t.Cleanup(c.fake.Close)
	env := map[string]string{cli.EnvURL: c.fake.URL, cli.EnvToken: fakeToken}
	c.Deps = cli.Deps{
		Args: args, Version: "v1", Stdin: strings.NewReader(""), Stdout: &c.out, Stderr: &c.err, Now: time.Now, Signals: c.signals,
		Loader: config.Loader{Getenv: func(name string) (string, bool) { v, ok := env[name]; return v, ok }, Home: t.TempDir(), Dir: t.TempDir()},
		Serve:  func(ctx context.Context, _ cli.ServeOptions) error { <-ctx.Done(); return nil },
	}
	return c
}

func TestInterruptStopsTheRunAndNotTheChat(t *testing.T) {
	t.Parallel()
	c := newConsole(t, "chat")
	stdin, typed := io.Pipe()
	t.Cleanup(func() { require.NoError(t, stdin.Close()) })
	c.Stdin = stdin
	code := make(chan int, 1)
	go func() { code <- cli.Execute(t.Context(), c.Deps) }()
	say := func(s string) {
		_, err := io.WriteString(typed, s+"\n")
		require.NoError(t, err)
	}
	say("slow")
	<-c.fake.slow
	c.signals <- os.Interrupt
	say("stuck") // the first turn has ended by then
	<-c.fake.slow
	c.signals <- os.Interrupt
	c.signals <- os.Interrupt
	say("again")
	require.NoError(t, typed.Close())
	require.Equal(t, cli.ExitDone, <-code)
	require.Contains(t, c.out.String(), "you said again")
}

func TestInterruptAtThePromptEndsTheChat(t *testing.T) {
	t.Parallel()
	c := newConsole(t, "chat")
	stdin, typed := io.Pipe()
	t.Cleanup(func() { require.NoError(t, typed.Close()) })
	c.Stdin = stdin
	c.signals <- os.Interrupt
	require.Equal(t, cli.ExitDone, cli.Execute(t.Context(), c.Deps))
}

func TestServeEndsAtTheFirstInterruptAndAtOnceAtTheSecond(t *testing.T) {
	t.Parallel()
	c := newConsole(t, "serve")
	c.signals <- os.Interrupt
	require.Equal(t, cli.ExitDone, cli.Execute(t.Context(), c.Deps))

	c = newConsole(t, "serve")
	killed, stuck := make(chan int, 1), make(chan struct{})
	c.Exit = func(code int) { killed <- code; close(stuck) }
	c.Serve = func(context.Context, cli.ServeOptions) error { <-stuck; return nil }
	c.signals <- os.Interrupt
	c.signals <- os.Interrupt
	cli.Execute(t.Context(), c.Deps)
	require.Equal(t, cli.ExitFailed, <-killed)
}

func TestInitAsksAndWritesWhatFits(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		typed, secrets string
		want           []string
	}{
		"all embedded":  {"\n\n", "", []string{"default: offline/guide", "# telegram:"}},
		"bot and model": {"telegram\n1001\nopenai\n\n", "1:abc\nsk-${x}\n", []string{`"telegram:1001"`, `token: "1:abc"`, `apiKey: "sk-$${x}"`, `default: "openai/gpt-5-mini"`}},
		"references":    {"telegram\n\nanthropic\nm\n", "${TELEGRAM_TOKEN}\n${KEY}\n", []string{`token: "${TELEGRAM_TOKEN}"`, `apiKey: "${KEY}"`}},
		"mistyped":      {"telegramm\n\nopnai\noffline\n", "", []string{"default: offline/guide"}},
		"asked again":   {"telegram\n@ada\n1001\n\n", "\nno token\n1:abc\n", []string{`["webchat:local", "telegram:1001"]`, `token: "1:abc"`}},
		"all channels": {
			"telegram, slack discord\n1\nU1\n2\n\n", "1:abc\nxoxb-1\nxapp-1\ndiscord-token-123456\n",
			[]string{`"telegram:1", "slack:U1", "discord:2"`, `botToken: "xoxb-1", appToken: "xapp-1"`, `token: "discord-token-123456"`, "\n  dmScope: per-account-channel-peer\n"},
		},
		"own server": {"\nlocal\n\nllama\n", "", []string{`baseURL: "http://127.0.0.1:11434/v1"`, `default: "local/llama"`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := t.TempDir() + "/sluice.yaml"
			c := newConsole(t, "init", "--config", path)
			c.Terminal, c.Stdin = true, strings.NewReader(test.typed)
			secrets := strings.Split(test.secrets, "\n")
			c.Secret = func() (string, error) { s := secrets[0]; secrets = secrets[1:]; return s, nil }
			c.Loader.Getenv = func(string) (string, bool) { return "1:a", true }
			require.Equal(t, cli.ExitDone, cli.Execute(t.Context(), c.Deps), c.err.String())
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			for _, want := range test.want {
				require.Contains(t, string(text), want)
			}
		})
	}
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
