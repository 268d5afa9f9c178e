package cli

import (
	"context"

	"github.com/spf13/cobra"

	"sluice/internal/cli/logs"
)

func logsCommand(g *gateway) *cobra.Command {
	run := func(do func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
		return g.run(do)
	}
	return logs.Command(logs.Deps{Screen: g.screen, Connect: g.connect, Run: run, Args: arguments, Interrupted: errInterrupted})
}
