package service

import (
	"context"
	"encoding/json"

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
			if !asJSON {
				return screen.Printf("sluice %s (%s %s/%s)", info.Short(), info.Go, info.OS, info.Arch)
			}
			data, _ := json.Marshal(info) // texts and a time
			return screen.JSON(data)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the version, the commit and how the program was built, as JSON")
	return cmd
}
