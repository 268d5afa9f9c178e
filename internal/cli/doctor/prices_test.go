package doctor

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/config"
	"sluice/internal/config/agents"
	"sluice/internal/config/budgets"
	modelconfig "sluice/internal/config/models"
)

func TestBudgetsNeedPrices(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	money := budgets.Budget{Name: "house", Scope: "gateway", Limit: "5", Per: "day"}
	euro, tokens, provider := money, money, money
	euro.Unit, tokens.Unit = "EUR", "tokens"
	provider.Scope, provider.Match = "provider", []string{"ai"}
	none := agents.Media{}
	ears := func(name string) agents.Media {
		provider, model, _ := strings.Cut(name, "/")
		return agents.Media{Transcription: agents.Transcription{Provider: provider, Model: model}}
	}
	for name, c := range map[string]struct {
		budget budgets.Budget
		chain  string
		want   string
		note   bool
		media  agents.Media
	}{
		"no budget in money":         {tokens, "local/phi", "", false, none},
		"a price of its own":         {money, "local/own", "", false, none},
		"a list price":               {money, "ai/gpt-5, local/own", "use list prices of", true, none},
		"no price":                   {money, "ai/gpt-5, local/phi, ai/new", "refuses local/phi, ai/new: the price in USD is not known", false, none},
		"a price in another money":   {euro, "local/own", "refuses local/own: the price in EUR is not known", false, none},
		"a minute without a price":   {money, "local/own", "refuses local/own: the price per minute of audio in USD is not known", false, ears("local/own")},
		"a minute in the list":       {money, "local/own", "use list prices of", true, ears("ai/whisper-1")},
		"a minute of a command":      {money, "local/own", "", false, agents.Media{Transcription: agents.Transcription{Command: []string{"whisper"}}}},
		"a price that is not needed": {provider, "local/phi, ai/gpt-5", "use list prices of", true, none},
	} {
		cfg := &config.Config{}
		cfg.Models = modelconfig.Models{
			Default: c.chain, Providers: map[string]modelconfig.Provider{"ai": {Kind: "openai"}, "local": {Kind: "openai", BaseURL: "http://127.0.0.1:1"}},
			Prices: map[string]modelconfig.Price{"local/own": {Rates: modelconfig.Rates{Input: "1", Output: "2"}}},
		}
		cfg.Media = c.media
		cfg.Budgets = []budgets.Budget{c.budget}
		found := priced(cfg, now)
		if c.want == "" {
			require.Empty(t, found, name)
			continue
		}
		require.Len(t, found, 1, name)
		require.Contains(t, found[0].text, c.want, name)
		require.Equal(t, c.note, found[0].note, name)
		require.NotEmpty(t, found[0].fix)
	}
}
