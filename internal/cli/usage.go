package cli

import (
	"context"

	"github.com/spf13/cobra"

	"sluice/internal/cli/usage"
)

func usageCommand(g *gateway) *cobra.Command {
	run := func(do func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
		return g.run(do)
	}
	return usage.Command(usage.Deps{Screen: g.screen, Connect: g.connect, Run: run, Args: arguments})
}
