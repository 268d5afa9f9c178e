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

// A command that was typed while an answer came gets its own answer, also where that comes later.
func TestACommandBesideAnAnswerIsAnswered(t *testing.T) {
	t.Parallel()
	c := newConsole(t, "chat")
	c.Terminal = true
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
	say("/late") // its answer begins when the run has ended
	say("/help")
	<-c.fake.late
	c.signals <- os.Interrupt
	require.NoError(t, typed.Close())
	require.Equal(t, cli.ExitDone, <-code)
	require.Contains(t, c.out.String(), "late, but here")
	require.Contains(t, c.out.String(), "Commands: /help")
}
