package service

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"sluice/internal/build"
	"sluice/internal/cli/terminal"
)

// Version is `sluice version`.
func Version(info build.Info, screen terminal.Screen, none cobra.PositionalArgs, runner func(t func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version", Args: none,
		RunE: runner(func(context.Context, []string) error {
			return screen.Result(asJSON, info, fmt.Sprintf("sluice %s (%s %s/%s)", info.Short(), info.Go, info.OS, info.Arch))
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the version, the commit and how the program was built, as JSON")
	return cmd
}
