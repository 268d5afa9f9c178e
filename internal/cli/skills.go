package cli

import (
	"net/http"

	"github.com/spf13/cobra"

	"sluice/internal/cli/command"
	"sluice/internal/cli/skills"
)

func skillsCommand(g command.Deps, client *http.Client) *cobra.Command {
	return command.Group("skills", "Instructions, files and scripts that agents use for certain tasks",
		skills.Commands(skills.Deps{Deps: g, HTTP: client})...)
}
