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
	"sluice/internal/cli"
	"sluice/internal/cli/console"
	"sluice/internal/config"
	"sluice/internal/document"
)

// version is set by the build.
var version = "dev"

func main() {
	if len(os.Args) == 2 && os.Args[1] == document.Command { // in the sandbox, see internal/document
		os.Exit(document.Main(os.Stdin, os.Stdout, os.Stderr))
	}
	syscall.Umask(0o077) // files of this program and its tools are only for their owner
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	stdin, stdout := int(os.Stdin.Fd()), int(os.Stdout.Fd())
	os.Exit(cli.Execute(context.Background(), cli.Deps{
		Args: os.Args[1:], Version: version, Now: time.Now, Loader: config.System(),
		Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Terminal: term.IsTerminal(stdin) && term.IsTerminal(stdout),
		Secret:   func() (string, error) { data, err := term.ReadPassword(stdin); return string(data), err },
		Typing:   func() (cli.Typing, error) { return takeTerminal(stdin) },
		Serve: func(ctx context.Context, o cli.ServeOptions) error {
			return app.Run(ctx, app.Options{ConfigPath: o.ConfigPath, Listen: o.Listen, Version: o.Version, Stdout: o.Stdout, Private: private(stdout), Stderr: o.Stderr})
		},
		Probe: func(ctx context.Context, cfg *config.Config) []cli.Probed {
			var probed []cli.Probed
			for _, p := range app.Probe(ctx, cfg, version) {
				probed = append(probed, cli.Probed(p))
			}
			return probed
		},
		Browser: console.Browser,
		Signals: signals, Exit: os.Exit,
	}))
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
