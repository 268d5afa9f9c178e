package cli

import (
	"net/http"

	"github.com/spf13/cobra"

	"sluice/internal/cli/skills"
)

func skillsCommand(g *gateway, client *http.Client) *cobra.Command {
	return group("skills", "Instructions, files and scripts that agents use for certain tasks",
		skills.Commands(skills.Deps{Screen: g.screen, Connect: g.connect, HTTP: client, Run: g.run, Args: arguments})...)
}
