package doctor

import (
	"fmt"
	"strings"
	"time"

	"sluice/internal/config"
	"sluice/internal/config/budgets"
	"sluice/internal/model/chain"
	"sluice/internal/spending"
	"sluice/internal/spending/pricelist"
)

// priced checks whether budgets in money can count the models that the configuration names: a budget refuses a model without a
// price in its currency.
func priced(cfg *config.Config, now time.Time) []finding {
	var found []finding
	list := cfg.Models.PriceList()
	listed := false
	for _, b := range budgets.Compile(cfg.Budgets) {
		if b.Unit == spending.Tokens {
			continue
		}
		var without []string
		seen := map[string]bool{}
		for _, ref := range cfg.ModelsInUse() {
			for _, name := range chain.Names(ref) {
				provider, _, _ := strings.Cut(name, "/")
				if _, applies := b.Subject(&spending.Origin{}, provider); seen[name] || b.Scope == spending.ScopeProvider && !applies {
					continue
				}
				seen[name] = true
				p, source := list.Named(name, now)
				listed = listed || source == pricelist.FromTable
				if p == nil || p.Currency != b.Unit {
					without = append(without, name)
				}
			}
		}
		if len(without) > 0 {
			found = append(found, problem("budget/"+b.Name, fmt.Sprintf("refuses %s: the price in %s is not known", strings.Join(without, ", "), b.Unit), "set models.prices, see: sluice models prices"))
		}
	}
	if len(found) == 0 && listed {
		found = append(found, note("budgets", "use list prices of "+pricelist.Dated, "compare them with your provider's, see: sluice models prices; set models.prices where they differ"))
	}
	return found
}
