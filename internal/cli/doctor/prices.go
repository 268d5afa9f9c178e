package doctor

import (
	"fmt"
	"slices"
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
	var chat []string
	for _, ref := range cfg.ModelsInUse() {
		for _, name := range chain.Names(ref) {
			if !slices.Contains(chat, name) {
				chat = append(chat, name)
			}
		}
	}
	audio := cfg.Media.Models()
	slices.Sort(audio)
	audio = slices.Compact(audio)
	for _, b := range budgets.Compile(cfg.Budgets) {
		if b.Unit == spending.Tokens {
			continue
		}
		refuses := func(names []string, kind spending.Amount, what, remedy string) {
			var without []string
			for _, name := range names {
				provider, _, _ := strings.Cut(name, "/")
				if _, applies := b.Subject(&spending.Origin{}, provider); b.Scope == spending.ScopeProvider && !applies {
					continue
				}
				p, source := list.Named(name, now)
				listed = listed || source == pricelist.FromTable
				if p = p.Known(kind); p == nil || p.Currency != b.Unit {
					without = append(without, name)
				}
			}
			if len(without) > 0 {
				found = append(found, problem("budget/"+b.Name, fmt.Sprintf("refuses %s: the price%s in %s is not known", strings.Join(without, ", "), what, b.Unit), remedy+", see: sluice models prices"))
			}
		}
		refuses(chat, spending.Amount{}, "", "set models.prices")
		refuses(audio, spending.Amount{Audio: time.Minute}, " per minute of audio", "set minute in models.prices")
	}
	if len(found) == 0 && listed {
		found = append(found, note("budgets", "use list prices of "+pricelist.Dated, "compare them with your provider's, see: sluice models prices; set models.prices where they differ"))
	}
	return found
}
