package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/build"
	"sluice/internal/cli"
	"sluice/internal/config"
)

var update = flag.Bool("update", false, "rewrite testdata/help.txt")

// commands are all commands, each as it is typed, found by asking each for its commands.
func commands(t *testing.T) []string {
	t.Helper()
	all := []string{""}
	for i := 0; i < len(all); i++ {
		help := execute(t, nil, append(strings.Fields(all[i]), "--help")...)
		require.Equal(t, cli.ExitDone, help.code)
		_, list, found := strings.Cut(help.out, "\nAvailable Commands:\n")
		if !found {
			continue
		}
		list, _, _ = strings.Cut(list, "\n\n")
		for line := range strings.Lines(list) {
			if name := strings.Fields(line)[0]; name != "help" && name != "completion" {
				all = append(all, strings.TrimSpace(all[i]+" "+name))
			}
		}
	}
	slices.Sort(all)
	return all
}

// The help of every command, in one file that can be read through. go test ./internal/cli -run Help -update writes it again.
func TestHelp(t *testing.T) {
	t.Parallel()
	var got strings.Builder
	for _, command := range commands(t) {
		help := execute(t, nil, append(strings.Fields(command), "--help")...)
		got.WriteString("$ sluice " + command + "\n" + help.out + "\n")
		require.Empty(t, help.err)
	}
	path := filepath.Join("testdata", "help.txt")
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got.String()), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got.String())
}

// The commands that the contract names, and nothing that it does not know.
func TestTheCommandsThereAre(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{
		"",
		"agents", "agents key", "agents list", "agents show",
		"alerts", "alerts ack", "alerts fire", "alerts groups", "alerts groups list", "alerts groups show", "alerts list", "alerts resolve", "alerts show", "alerts silence", "alerts silences", "alerts silences expire", "alerts silences list", "alerts test",
		"approvals", "approvals allow", "approvals always", "approvals deny", "approvals list", "approvals show",
		"audit", "audit list", "audit verify",
		"backup",
		"bus", "bus tail",
		"chat",
		"checks", "checks list", "checks run",
		"config", "config check", "config history", "config list", "config rollback", "config schema", "config set", "config show", "config unset",
		"cron", "cron add", "cron history", "cron list", "cron next", "cron pause", "cron remove", "cron resume", "cron run", "cron show", "cron update",
		"deliveries", "deliveries discard", "deliveries list", "deliveries retry", "deliveries show",
		"directory", "doctor", "export",
		"hooks", "hooks list", "hooks replay", "hooks show", "hooks test",
		"import", "init",
		"logs",
		"memory", "memory delete", "memory list", "memory search", "memory show", "memory versions",
		"migrate",
		"models", "models check", "models clear", "models list", "models prices",
		"node", "node pair", "node run", "nodes", "nodes approve", "nodes level", "nodes list", "nodes revoke",
		"open",
		"pairing", "pairing approve", "pairing deny", "pairing list", "pairing revoke", "people",
		"policy", "policy allow-rules", "policy backtest", "policy check", "policy end-rule", "policy simulate",
		"restore",
		"runs", "runs list", "runs show",
		"send", "serve", "service", "service install", "service status", "service uninstall",
		"sessions", "sessions delete", "sessions exchanges", "sessions exchanges show", "sessions history", "sessions list", "sessions patch", "sessions reset", "sessions send", "sessions show", "sessions spawn",
		"skills", "skills add", "skills check", "skills keygen", "skills list", "skills remove", "skills show", "skills sign", "skills trust", "skills untrust",
		"status", "usage", "usage budgets", "version", "wake", "why",
	}, commands(t))
}

// Without a command, help is printed. A group of commands does the same.
func TestNoCommandPrintsHelp(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"", "sessions", "completion"} {
		got := execute(t, nil, strings.Fields(command)...)
		require.Equal(t, cli.ExitDone, got.code)
		require.Contains(t, got.out, "Available Commands:")
		require.Equal(t, execute(t, nil, append(strings.Fields(command), "--help")...), got)
	}
}

func TestWrongUse(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"sessoins":             "sluice: unknown command \"sessoins\" for \"sluice\": did you mean sessions?\nHelp: sluice --help\n",
		"nothing-like-this":    "sluice: unknown command \"nothing-like-this\" for \"sluice\"\nHelp: sluice --help\n",
		"sessions lst":         "sluice: unknown command \"lst\" for \"sluice sessions\": did you mean list?\nHelp: sluice sessions --help\n",
		"completion bsh":       "sluice: unknown command \"bsh\" for \"sluice completion\": did you mean bash or zsh or fish?\nHelp: sluice completion --help\n",
		"deliveries retry":     "sluice: expected 1 argument, got 0\nUsage: sluice deliveries retry DELIVERY [flags]\nHelp: sluice deliveries retry --help\n",
		"status --jsn":         "sluice: unknown flag: --jsn\nUsage: sluice status [flags]\nHelp: sluice status --help\n",
		"version now":          "sluice: unexpected argument \"now\"\nUsage: sluice version [flags]\nHelp: sluice version --help\n",
		"serve --listen 9000":  "sluice: --listen \"9000\": use address:port, for example 127.0.0.1:8484\nUsage: sluice serve [flags]\nHelp: sluice serve --help\n",
		"init":                 "sluice: init asks questions and needs a terminal: use --yes for the default answers\nUsage: sluice init [flags]\nHelp: sluice init --help\n",
		"status --config none": "sluice: the configuration file none does not exist: check its name, or create it with `sluice init --config none`\nUsage: sluice status [flags]\nHelp: sluice status --help\n",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, result{cli.ExitUsage, "", want}, execute(t, nil, strings.Fields(line)...))
		})
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	require.Equal(t, result{cli.ExitDone, "sluice v1 (" + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH + ")\n", ""}, execute(t, nil, "version"))
	require.Equal(t, result{cli.ExitDone, "sluice v1\n", ""}, execute(t, nil, "--version"))
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		got := execute(t, nil, "completion", shell)
		require.Equal(t, cli.ExitDone, got.code)
		require.Contains(t, got.out, "sluice")
	}
}

// program is the command line with a gateway to serve, in a folder with some files.
func program(t *testing.T, files map[string]string, args ...string) (cli.Deps, *result) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	for i, arg := range args {
		args[i] = strings.ReplaceAll(arg, "DIR", dir)
	}
	got := &result{}
	return cli.Deps{
		Args: args, Version: "v1", Build: build.Read("v1", "", ""), Stdin: strings.NewReader(""), Stdout: writer{&got.out}, Stderr: writer{&got.err}, Now: time.Now,
		Loader: config.Loader{Getenv: func(string) (string, bool) { return "", false }, Home: dir, Dir: dir},
	}, got
}

// writer adds to a text.
type writer struct{ to *string }

func (w writer) Write(p []byte) (int, error) { *w.to += string(p); return len(p), nil }

func TestServeIsGivenItsOptions(t *testing.T) {
	t.Parallel()
	d, got := program(t, map[string]string{"a.yaml": ""}, "serve", "--config", "DIR/a.yaml", "--listen", "127.0.0.1:0")
	var o cli.ServeOptions
	d.Serve = func(_ context.Context, given cli.ServeOptions) error {
		o = given
		return errors.New("no port\x1b is free")
	}
	require.Equal(t, cli.ExitFailed, cli.Execute(t.Context(), d))
	require.Equal(t, `sluice: no port\u001b is free`+"\n", got.err)
	require.Equal(t, cli.ServeOptions{ConfigPath: d.Args[2], Listen: "127.0.0.1:0", Version: "v1", Stdout: d.Stdout, Stderr: d.Stderr}, o)

	d, got = program(t, nil, "serve", "--config", "DIR/none.yaml")
	require.Equal(t, cli.ExitUsage, cli.Execute(t.Context(), d))
	require.Contains(t, got.err, "none.yaml`\nUsage: sluice serve [flags]\n")
}

// Mistakes in a configuration are listed with their places, and nothing else is printed.
func TestServeWithMistakes(t *testing.T) {
	t.Parallel()
	d, got := program(t, nil, "serve")
	d.Serve = func(context.Context, cli.ServeOptions) error {
		_, err := d.Loader.Parse("bad.yaml", []byte("sate: /x\ngateway: { listen: here }\n"))
		return err
	}
	require.Equal(t, cli.ExitUsage, cli.Execute(t.Context(), d))
	require.Regexp(t, `\Abad.yaml:1:1: sate: .*\nbad.yaml:2:20: gateway.listen: .*\n\z`, got.err)
}

func TestServeEndsAtTheFirstInterruptAndAtOnceAtTheSecond(t *testing.T) {
	t.Parallel()
	d, _ := program(t, nil, "serve")
	signals := make(chan os.Signal, 2)
	d.Signals = signals
	d.Serve = func(ctx context.Context, _ cli.ServeOptions) error { <-ctx.Done(); return nil }
	signals <- os.Interrupt
	require.Equal(t, cli.ExitDone, cli.Execute(t.Context(), d))

	killed, stuck := make(chan int, 1), make(chan struct{})
	d.Exit = func(code int) { killed <- code; close(stuck) }
	d.Serve = func(context.Context, cli.ServeOptions) error { <-stuck; return nil }
	signals <- os.Interrupt
	signals <- os.Interrupt
	cli.Execute(t.Context(), d)
	require.Equal(t, cli.ExitFailed, <-killed)
}

// A command that asks the gateway ends at an interrupt, too.
func TestAnInterruptEndsACommand(t *testing.T) {
	t.Parallel()
	asked, release := make(chan struct{}), make(chan struct{})
	g := newGatewayThat(t, func() { close(asked); <-release })
	t.Cleanup(func() { close(release) })
	d, got := program(t, nil, "status")
	signals := make(chan os.Signal, 1)
	d.Signals = signals
	d.Loader.Getenv = func(name string) (string, bool) { v, ok := g.env()[name]; return v, ok }
	go func() { <-asked; signals <- os.Interrupt }()
	require.Equal(t, cli.ExitFailed, cli.Execute(t.Context(), d))
	require.Equal(t, "sluice: ask the gateway: interrupted\n", got.err)
}

func TestConfig(t *testing.T) {
	t.Parallel()
	const mistakes = "stat: /x\ngateway: { listen: here }\nsession: { dmScope: all, queue: { mode: stear } }\nmodels: { default: gpt }\n"
	for name, test := range map[string]struct {
		files map[string]string
		args  string
		code  int
		out   string // patterns
		err   string
	}{
		"no file":       {nil, "config check", cli.ExitDone, `\ANo configuration file: the defaults are used\. Create one with: sluice init\n\z`, `\A\z`},
		"ok":            {map[string]string{"sluice.yaml": "state: /x\n"}, "config check", cli.ExitDone, `\A.*sluice\.yaml: ok\n\z`, `\A\z`},
		"another file":  {map[string]string{"a.yaml": "state: /x\n"}, "config check DIR/a.yaml", cli.ExitDone, `\A.*a\.yaml: ok\n\z`, `\A\z`},
		"its flag":      {map[string]string{"a.yaml": "state: /x\n"}, "config check --config DIR/a.yaml", cli.ExitDone, `\A.*a\.yaml: ok\n\z`, `\A\z`},
		"not there":     {nil, "config check DIR/none.yaml", cli.ExitUsage, `\A\z`, `none\.yaml does not exist: `},
		"every mistake": {map[string]string{"sluice.yaml": mistakes}, "config check", cli.ExitUsage, `\A\z`, `\A(.*sluice\.yaml:\d+:\d+: .*\n){5}\z`},
		"schema":        {nil, "config schema", cli.ExitDone, `"title": "sluice.yaml"`, `\A\z`},
		"show":          {map[string]string{"sluice.yaml": "gateway: { token: hush-hush }\n"}, "config show", cli.ExitDone, `token: <secret>`, `\A\z`},
		"show defaults": {nil, "config show", cli.ExitDone, `listen: 127\.0\.0\.1:8484`, `\A\z`},
		"show mistakes": {map[string]string{"sluice.yaml": mistakes}, "config show", cli.ExitUsage, `\A\z`, `sluice\.yaml:1:1: stat: `},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, got := program(t, test.files, strings.Fields(test.args)...)
			require.Equal(t, test.code, cli.Execute(t.Context(), d), got.err)
			require.Regexp(t, test.out, got.out)
			require.Regexp(t, test.err, got.err)
			require.NotContains(t, got.out+got.err, "hush")
		})
	}
}

func TestConfigCheckWarnsOfExposedSecrets(t *testing.T) {
	t.Parallel()
	d, got := program(t, map[string]string{"sluice.yaml": "gateway: { token: hush-hush }\n"}, "config", "check")
	path := filepath.Join(d.Loader.Dir, "sluice.yaml")
	require.NoError(t, os.Chmod(path, 0o640))
	require.Equal(t, cli.ExitDone, cli.Execute(t.Context(), d))
	require.Equal(t, path+": ok\n", got.out)
	require.Equal(t, path+" contains secrets and other users can read it (mode 0640): chmod 600 "+path+"\n", got.err)
}

func TestInit(t *testing.T) {
	t.Parallel()
	d, got := program(t, nil, "init", "--yes", "--config", "DIR/a.yaml")
	require.Equal(t, cli.ExitDone, cli.Execute(t.Context(), d))
	require.Equal(t, "Wrote "+d.Args[3]+". Start the gateway with: sluice serve --config "+d.Args[3]+"\n", got.out)
	require.Equal(t, cli.ExitFailed, cli.Execute(t.Context(), d))
	require.Equal(t, "sluice: "+d.Args[3]+" already exists: use --force to write over it\n", got.err)
	d.Args = append(d.Args, "--force")
	require.Equal(t, cli.ExitDone, cli.Execute(t.Context(), d))
}

// A chat that can't begin says why, and a question in one go has its exit code.
func TestChat(t *testing.T) {
	t.Parallel()
	require.Contains(t, execute(t, map[string]string{cli.EnvURL: "x", cli.EnvToken: "x"}, "chat").err, `SLUICE_URL is "x"`)
	f := newFake()
	t.Cleanup(f.Close)
	env := map[string]string{cli.EnvURL: f.URL, cli.EnvToken: fakeToken}
	require.Equal(t, result{cli.ExitDone, "you said good day\n", "[sessions_list]\n"}, execute(t, env, "chat", "good day"))
	require.Equal(t, result{cli.ExitFailed, "", "sluice: the model is down\n"}, execute(t, env, "chat", "fail"))
	require.Equal(t, result{cli.ExitFailed, "", "sluice: the session has a run\n"}, execute(t, env, "chat", "--session", "other", "busy"))
	require.Equal(t, result{cli.ExitDone, "", ""}, execute(t, env, "chat"), "the input is empty")
	require.Equal(t, "main good day\nmain fail\nother busy", f.Asked())
}

func TestDoctor(t *testing.T) {
	t.Parallel()
	d, got := program(t, nil, "doctor")
	env := map[string]string{cli.EnvURL: "http://127.0.0.1:1"}
	d.Loader.Getenv = func(name string) (string, bool) { v, ok := env[name]; return v, ok }
	probed := false
	d.Probe = func(context.Context, *config.Config) []cli.Probed { probed = true; return nil }
	cli.Execute(t.Context(), d)
	require.True(t, probed)
	require.Contains(t, got.out, "ok    version            v1\n")
	require.Contains(t, got.out, "note  gateway            not running at http://127.0.0.1:1\n")

	var out bytes.Buffer
	d.Args, d.Stdout = []string{"doctor", "--json"}, &out
	code := cli.Execute(t.Context(), d)
	var report struct {
		Findings []struct{ Part, Status, Text, Fix string }
		Problems int
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &report))
	require.Equal(t, report.Problems > 0, code == cli.ExitFailed)
	require.Equal(t, strings.Count(got.out, "FAIL  "), report.Problems, "the same findings as in the text")
	require.Contains(t, report.Findings, struct{ Part, Status, Text, Fix string }{Part: "version", Status: "ok", Text: "v1"})
}

// A pipe whose reader has gone is an error, not a crash.
func TestAnOutputThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"version", "config schema", "config show", "config check"} {
		var stderr bytes.Buffer
		d, _ := program(t, nil, strings.Fields(line)...)
		d.Stdout, d.Stderr = closed{}, &stderr
		require.Equal(t, cli.ExitFailed, cli.Execute(t.Context(), d), line)
		require.Equal(t, "sluice: broken pipe\n", stderr.String())
	}
}

type closed struct{}

func (closed) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }
