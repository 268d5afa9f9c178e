package cli

import (
	"net/http"

	"github.com/spf13/cobra"

	"sluice/internal/cli/api"
	"sluice/internal/cli/models"
)

func modelsCommand(g *gateway, prices *cobra.Command) *cobra.Command {
	provider := func(what string) request {
		return func(args []string) (api.Request, error) {
			r := api.Request{Method: http.MethodPost, Path: api.Path("providers", args[0], what)}
			if len(args) > 1 {
				r.Query = map[string][]string{"model": {args[1]}}
			}
			return r, nil
		}
	}
	return group("models", "Show model providers and prices, check models, and use them again after failures",
		asking(g, &cobra.Command{Use: "list", Short: "List providers, keys and models, with those that do not work", Args: arguments(0, 0)}, get("/v1/providers", nil), models.List),
		asking(g, &cobra.Command{Use: "check PROVIDER [MODEL]", Short: "Ask a model for one word, with each key", Args: arguments(1, 2)}, provider("check"), models.Check),
		asking(g, &cobra.Command{Use: "clear PROVIDER", Short: "End the cooldown of keys and models that have failed", Args: arguments(1, 1)}, provider("clear"), models.Cleared),
		prices,
	)
}
