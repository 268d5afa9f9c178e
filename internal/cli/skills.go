package cli

import (
	"context"
	"net/http"

	"github.com/spf13/cobra"

	"sluice/internal/cli/skills"
)

func skillsCommand(g *gateway, client *http.Client) *cobra.Command {
	run := func(do func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error {
		return g.run(do)
	}
	return group("skills", "Instructions, files and scripts that agents use for certain tasks",
		skills.Commands(skills.Deps{Screen: g.screen, Connect: g.connect, HTTP: client, Run: run, Args: arguments})...)
}
