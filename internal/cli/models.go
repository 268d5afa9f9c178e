package cli

import (
	"context"
	"net/http"

	"github.com/spf13/cobra"

	"sluice/internal/cli/api"
	"sluice/internal/cli/models"
)

func modelsCommand(g *gateway, locator *api.Locator) *cobra.Command {
	provider := func(what string) request {
		return func(args []string) (api.Request, error) {
			r := api.Request{Method: http.MethodPost, Path: api.Path("providers", args[0], what)}
			if len(args) > 1 {
				r.Query = map[string][]string{"model": {args[1]}}
			}
			return r, nil
		}
	}
	var all, asJSON bool
	prices := &cobra.Command{
		Use: "prices", Short: "Show what the models of the configuration cost", Args: arguments(0, 0),
		Long: `Show what the models of the configuration cost: as models.prices says, otherwise the
list price of well-known models at their own provider. This needs no gateway.`,
		RunE: g.run(func(context.Context, []string) error {
			cfg, err := locator.Load()
			if err != nil {
				return err
			}
			return models.Prices(g.screen, cfg, all, asJSON)
		}),
	}
	prices.Flags().BoolVar(&all, "all", false, "also show the whole table of list prices")
	prices.Flags().BoolVar(&asJSON, "json", false, "print the prices as JSON")
	return group("models", "Show model providers and prices, check models, and use them again after failures",
		asking(g, &cobra.Command{Use: "list", Short: "List providers, keys and models, with those that do not work", Args: arguments(0, 0)}, get("/v1/providers", nil), models.List),
		asking(g, &cobra.Command{Use: "check PROVIDER [MODEL]", Short: "Ask a model for one word, with each key", Args: arguments(1, 2)}, provider("check"), models.Check),
		asking(g, &cobra.Command{Use: "clear PROVIDER", Short: "End the cooldown of keys and models that have failed", Args: arguments(1, 1)}, provider("clear"), models.Cleared),
		prices,
	)
}
