package models

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sluice/internal/cli/terminal"
	"sluice/internal/config"
	"sluice/internal/model/chain"
	"sluice/internal/spending"
	"sluice/internal/spending/pricelist"
)

// PricesCommand is "sluice models prices". load reads the configuration, and run makes a command from its function.
func PricesCommand(s terminal.Screen, load func() (*config.Config, error), run func(do func(ctx context.Context, args []string) error) func(*cobra.Command, []string) error, args cobra.PositionalArgs) *cobra.Command {
	var all, asJSON bool
	cmd := &cobra.Command{
		Use: "prices", Short: "Show what the models of the configuration cost", Args: args,
		Long: `Show what the models of the configuration cost: the price in models.prices or, without
one, the list price of a common model at its own provider. The gateway need not run.`,
		RunE: run(func(context.Context, []string) error {
			cfg, err := load()
			if err != nil {
				return err
			}
			return Prices(s, cfg, all, asJSON)
		}),
	}
	cmd.Flags().BoolVar(&all, "all", false, "also show the whole table of list prices")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the prices as JSON")
	return cmd
}

// price is what a model costs for a million tokens, as it is printed.
type price struct {
	Model    string  `json:"model"` // <provider>/<model>, or a vendor's model of the table
	Input    *string `json:"input"` // null: the price is not known
	Output   *string `json:"output"`
	Cached   *string `json:"cached"`
	Written  *string `json:"written"`
	Thinking *string `json:"thinking"`
	Picture  *string `json:"picture,omitempty"` // for each
	Minute   *string `json:"minute,omitempty"`  // of audio
	Currency string  `json:"currency,omitempty"`
	Source   string  `json:"source"` // configuration, "list of <day>" or unknown
	From     string  `json:"validFrom,omitempty"`
}

type prices struct {
	Dated  string  `json:"dated"` // the day of the price list
	Models []price `json:"models"`
}

// Prices prints what the models of a configuration cost, and with all the whole table of list prices.
func Prices(s terminal.Screen, cfg *config.Config, all, asJSON bool) error {
	now, list := s.Now(), cfg.Models.PriceList()
	out := prices{Dated: pricelist.Dated, Models: configured(cfg, list, now)}
	if all {
		for _, e := range pricelist.Table() {
			p := e.Price()
			out.Models = append(out.Models, priceOf(string(e.Vendor)+": "+e.Model, &p, pricelist.FromTable, e.Vendor))
		}
	}
	if asJSON {
		return s.Object(out)
	}
	if err := terminal.Rows(s, []string{"MODEL", "INPUT", "OUTPUT", "CACHED", "WRITTEN", "THINKING", "PICTURE", "MINUTE", "CURRENCY", "FROM", "SOURCE"}, out.Models, func(p price) []string {
		return []string{p.Model, text(p.Input), text(p.Output), text(p.Cached), text(p.Written), text(p.Thinking), text(p.Picture), text(p.Minute), p.Currency, p.From, p.Source}
	}); err != nil {
		return err
	}
	if !slices.ContainsFunc(out.Models, func(p price) bool { return p.Source == unknown }) {
		return s.Printf("\nPrices are per million tokens, per picture or per minute of audio. Prices in models.prices take precedence over list prices.")
	}
	return s.Printf("\nPrices are per million tokens, per picture or per minute of audio. Set models.prices for models whose price is unknown: budgets in money refuse them.")
}

const unknown = "unknown"

// configured are the prices of the models that a configuration names, and of those in models.prices with their changes.
func configured(cfg *config.Config, list *pricelist.List, now time.Time) (all []price) {
	names := map[string]bool{}
	for _, ref := range cfg.ModelsInUse() {
		for _, name := range chain.Names(ref) {
			names[name] = true
		}
	}
	for _, name := range cfg.Media.Models() {
		names[name] = true
	}
	for provider, p := range cfg.Models.Providers {
		for _, model := range p.Models {
			if model != "*" {
				names[provider+"/"+model] = true
			}
		}
	}
	for name := range cfg.Models.Prices {
		names[name] = true
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		p, source := list.Named(name, now)
		provider, _, _ := strings.Cut(name, "/")
		all = append(all, priceOf(name, p, source, list.Vendors[provider]))
		for i := range list.Own[name] {
			if later := &list.Own[name][i]; later.From.After(now) {
				all = append(all, priceOf(name, later, pricelist.FromConfiguration, ""))
			}
		}
	}
	return all
}

func priceOf(name string, p *spending.Price, source pricelist.Source, vendor pricelist.Vendor) price {
	if p == nil {
		return price{Model: name, Source: unknown}
	}
	out := price{Model: name, Currency: p.Currency, Source: string(source)}
	if !p.NoTokens {
		out.Input, out.Output, out.Cached, out.Written, out.Thinking = amount(p.Input), amount(p.Output), amount(p.Cached), amount(p.Written), amount(p.Thinking)
	}
	if !p.NoMinute {
		out.Minute = amount(p.Minute)
	}
	if source == pricelist.FromTable {
		out.Source = "list of " + vendor.Dated()
	}
	if p.Picture > 0 {
		out.Picture = amount(p.Picture)
	}
	if !p.From.IsZero() {
		out.From = p.From.Format(time.DateOnly)
	}
	return out
}

// amount shows millionths of a currency with at least two decimals.
func amount(millionths int64) *string {
	const decimals, shown = 6, 2
	t := strconv.FormatFloat(float64(millionths)/1e6, 'f', decimals, 64)
	for range decimals - shown {
		t = strings.TrimSuffix(t, "0")
	}
	return &t
}

func text(t *string) string {
	if t == nil {
		return ""
	}
	return *t
}
