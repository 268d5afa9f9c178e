package cli

import (
	"net/http"

	"github.com/spf13/cobra"

	"sluice/internal/cli/api"
	"sluice/internal/cli/command"
	"sluice/internal/cli/models"
)

func modelsCommand(g command.Deps, prices *cobra.Command) *cobra.Command {
	provider := func(what string) command.Request {
		return func(args []string) (api.Request, error) {
			r := api.Request{Method: http.MethodPost, Path: api.Path("providers", args[0], what)}
			if len(args) > 1 {
				r.Query = map[string][]string{"model": {args[1]}}
			}
			return r, nil
		}
	}
	return command.Group("models", "Show model providers and prices, check models, and use them again after failures",
		command.Asking(g, &cobra.Command{Use: "list", Short: "List providers, keys and models, with those that do not work", Args: command.Args(0, 0)}, command.Get("/v1/providers", nil), models.List),
		command.Asking(g, &cobra.Command{Use: "check PROVIDER [MODEL]", Short: "Ask a model for one word, with each key", Args: command.Args(1, 2)}, provider("check"), models.Check),
		command.Asking(g, &cobra.Command{Use: "clear PROVIDER", Short: "End the cooldown of keys and models that have failed", Args: command.Args(1, 1)}, provider("clear"), models.Cleared),
		prices,
	)
}
