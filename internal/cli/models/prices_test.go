package models_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/cli/models"
	"sluice/internal/cli/terminal"
	"sluice/internal/config"
	modelconfig "sluice/internal/config/models"
)

func TestPrices(t *testing.T) {
	t.Parallel()
	cfg := &config.Config{}
	cfg.Models = modelconfig.Models{
		Default: "ai/gpt-5-mini, local/phi", Providers: map[string]modelconfig.Provider{"ai": {Kind: "openai", Models: []string{"*"}}, "local": {Kind: "openai", BaseURL: "http://127.0.0.1:1", Models: []string{"other"}}},
		Prices: map[string]modelconfig.Price{"local/phi": {Rates: modelconfig.Rates{Input: "0.5", Output: "1", Picture: "0.001"}, Changes: []modelconfig.Rates{
			{Input: "0", Output: "0", ValidFrom: "2026-12-01"}, {Input: "9", Output: "9", ValidFrom: "2026-11-01"},
		}}},
	}
	cfg.Media.Transcription.Provider, cfg.Media.Transcription.Model = "ai", "whisper-1"
	cfg.Media.Speech.Provider, cfg.Media.Speech.Model = "local", "kokoro"
	cfg.Models.Prices["local/kokoro"] = modelconfig.Price{Rates: modelconfig.Rates{Minute: "0.015"}}
	show := func(all, asJSON bool) string {
		var out bytes.Buffer
		s := terminal.Screen{Out: &out, Err: &out, Now: func() time.Time { return time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC) }}
		require.NoError(t, models.Prices(s, cfg, all, asJSON))
		return out.String()
	}
	require.Equal(t, `MODEL          INPUT  OUTPUT  CACHED  WRITTEN  THINKING  PICTURE  MINUTE  CURRENCY  FROM        SOURCE
ai/gpt-5-mini  0.25   2.00    0.025   0.25     2.00      -        -       USD       -           list of 2025-12-01
ai/whisper-1   -      -       -       -        -         -        0.006   USD       -           list of 2025-12-01
local/kokoro   -      -       -       -        -         -        0.015   USD       -           configuration
local/other    -      -       -       -        -         -        -       -         -           unknown
local/phi      0.50   1.00    0.50    0.50     1.00      0.001    -       USD       -           configuration
local/phi      9.00   9.00    9.00    9.00     9.00      -        -       USD       2026-11-01  configuration
local/phi      0.00   0.00    0.00    0.00     0.00      -        -       USD       2026-12-01  configuration

Prices are per million tokens, per picture or per minute of audio. Set models.prices for models whose price is unknown: budgets in money refuse them.
`, show(false, false))
	require.Regexp(t, `anthropic: claude-opus-4-5 +5.00 +25.00`, show(true, false))
	var got struct {
		Dated  string
		Models []struct {
			Model, Source string
			Input         *string
		}
	}
	require.NoError(t, json.Unmarshal([]byte(show(false, true)), &got))
	require.Nil(t, got.Models[3].Input, "an unknown price is not 0")
	require.Equal(t, "unknown", got.Models[3].Source)
}
