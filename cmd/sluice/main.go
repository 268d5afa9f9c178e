// Command sluice is a gateway between chat channels and AI agents.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/term"

	"sluice/internal/app"
	"sluice/internal/build"
	"sluice/internal/cli"
	"sluice/internal/cli/console"
	"sluice/internal/config"
	"sluice/internal/document"
	"sluice/internal/hostos"
)

// The linker sets these in a release: the tag, the commit and the time of the commit.
var version, commit, stamp string

func main() {
	if len(os.Args) == 2 && os.Args[1] == document.Command { // in the sandbox, see internal/document
		os.Exit(document.Main(os.Stdin, os.Stdout, os.Stderr))
	}
	hostos.PrivateFiles() // so are those of its tools
	built := build.Read(version, commit, stamp)
	trustRoots()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	os.Exit(asService(signals, func() int {
		return run(signals, built)
	}))
}

// run runs the command line.
func run(signals <-chan os.Signal, built build.Info) int {
	stdin, stdout := int(os.Stdin.Fd()), int(os.Stdout.Fd())
	return cli.Execute(context.Background(), cli.Deps{
		Args: os.Args[1:], Version: built.Version, Build: built, Now: time.Now, Loader: config.System(),
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Terminal: term.IsTerminal(stdin) && term.IsTerminal(stdout),
		Secret:   hidden(stdin),
		Typing:   func() (cli.Typing, error) { return takeTerminal(stdin) },
		Serve: func(ctx context.Context, o cli.ServeOptions) error {
			return app.Run(ctx, app.Options{ConfigPath: o.ConfigPath, Listen: o.Listen, Version: o.Version, Stdout: o.Stdout, Private: private(stdout), Stderr: o.Stderr})
		},
		Migrate: func(ctx context.Context, o cli.ServeOptions) (cli.Migrated, error) {
			return app.Migrate(ctx, app.Options{ConfigPath: o.ConfigPath, Version: o.Version, Stderr: o.Stderr})
		},
		Probe: func(ctx context.Context, cfg *config.Config) []cli.Probed {
			var probed []cli.Probed
			for _, p := range app.Probe(ctx, cfg, built.Version) {
				probed = append(probed, cli.Probed(p))
			}
			return probed
		},
		Browser: console.Browser,
		Signals: signals, Exit: os.Exit,
	})
}

// hidden reads a line of a terminal without showing it; nil if standard input is not a terminal.
func hidden(stdin int) func() (string, error) {
	if !term.IsTerminal(stdin) {
		return nil
	}
	return func() (string, error) {
		data, err := term.ReadPassword(stdin)
		return string(data), err
	}
}

// private reports whether only a person sees the output. Container output is stored even if it is a terminal.
func private(stdout int) bool {
	if _, cluster := os.LookupEnv("KUBERNETES_SERVICE_HOST"); cluster {
		return false
	}
	for _, mark := range []string{"/.dockerenv", "/run/.containerenv"} {
		if _, err := os.Stat(mark); err == nil {
			return false
		}
	}
	return term.IsTerminal(stdout)
}
