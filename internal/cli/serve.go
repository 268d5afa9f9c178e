package cli

import (
	"context"
	"fmt"
	"net"
	"runtime"

	"github.com/spf13/cobra"

	"sluice/internal/config"
)

func (a *app) serveCommand() *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use: "serve", Short: "Run the gateway", Args: cobra.NoArgs,
		Long: `Run the gateway until it is told to stop (Ctrl-C or SIGTERM; twice: at once).

With no configuration at all it starts on embedded parts, with the chat on its
page and the offline demonstration model.`,
		RunE: a.run(func(ctx context.Context, _ []string) error {
			if _, err := a.Loader.Find(a.configPath); err != nil {
				return usageError{err.Error()}
			}
			if _, _, err := net.SplitHostPort(listen); listen != "" && err != nil {
				return usageError{fmt.Sprintf("--listen %q: want address:port, for example %s", listen, config.DefaultListen)}
			}
			return a.Serve(ctx, ServeOptions{ConfigPath: a.configPath, Listen: listen, Version: a.Version, Stdout: a.Stdout, Stderr: a.Stderr})
		}),
	}
	cmd.Flags().StringVar(&listen, "listen", "", "listen on this `address` instead of the configured one")
	return cmd
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: a.run(func(context.Context, []string) error {
			_, err := fmt.Fprintf(a.Stdout, "sluice %s (%s %s/%s)\n", a.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		}),
	}
}
