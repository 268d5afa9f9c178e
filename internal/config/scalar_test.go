package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"sluice/internal/config"
	"sluice/internal/spending"
)

func TestSecretsPrintNowhere(t *testing.T) {
	t.Parallel()
	const text = "hush-hush"
	type holder struct {
		Token config.Secret `json:"token" yaml:"token"`
	}
	h := holder{text}
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%T %v"} {
		fmt.Fprintf(&out, verb+"\n", h, h.Token)
		fmt.Fprintf(&out, verb+"\n", h.Token, &h)
	}
	slog.New(slog.NewTextHandler(&out, nil)).Info("m", "token", h.Token, "holder", h)
	slog.New(slog.NewJSONHandler(&out, nil)).Info("m", "token", h.Token, "holder", h)
	require.NoError(t, json.NewEncoder(&out).Encode([]any{h.Token, &h}))
	data, err := yaml.Marshal(h)
	require.NoError(t, err)
	out.Write(data)
	require.NotContains(t, out.String(), "hush")
	require.NotContains(t, out.String(), fmt.Sprintf("%x", text))
	require.Contains(t, out.String(), "<secret>")
	require.Equal(t, text, h.Token.Reveal())
}

func TestTheShownTreeHidesSecretsAndIsReadAgain(t *testing.T) {
	t.Parallel()
	c := parsed(t, "gateway: { token: hush-hush }\nstore: { url: \"postgres://u:hush@h/d\" }")
	data, err := c.YAML()
	require.NoError(t, err)
	require.NotContains(t, string(data), "hush")
	require.Contains(t, string(data), "listen: 127.0.0.1:8484")

	plain, err := parsed(t, "channels: { telegram: { accounts: { default: { token: \"1:a\" } } } }\nsession: { sendPolicy: { rules: [{ match: { channel: telegram }, action: deny }] } }").YAML()
	require.NoError(t, err)
	again, err := parsed(t, strings.Replace(string(plain), "<secret>", "1:a", 1)).YAML()
	require.NoError(t, err)
	require.Equal(t, string(plain), string(again))
}

func TestDurationsAreWrittenShort(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]time.Duration{"24h": 24 * time.Hour, "1h30m": 90 * time.Minute, "10m": 10 * time.Minute, "1m30s": 90 * time.Second, "500ms": 500 * time.Millisecond} {
		require.Equal(t, want, config.Duration(d).String())
	}
}

func TestAllSecretsAreFound(t *testing.T) {
	t.Parallel()
	c := parsed(t, `
gateway: { token: one }
store: { url: "postgres://two@h/d" }
bus: { url: "nats://u:three@h" }
channels:
  telegram: { accounts: { a: { token: "4:four" } } }
  slack: { accounts: { a: { botToken: xoxb-five, appToken: xapp-six }, b: { botToken: xoxb-7, signingSecret: seven, mode: http } } }
  discord: { accounts: { a: { token: eight-eight-eight-eight } } }
models: { providers: { p: { kind: openai, apiKey: nine } } }
`)
	want := []config.Secret{"one", "postgres://two@h/d", "nats://u:three@h", "4:four", "xoxb-five", "xapp-six", "xoxb-7", "seven", "eight-eight-eight-eight", "nine"}
	require.ElementsMatch(t, want, c.Secrets())
}

func TestAmountsOfData(t *testing.T) {
	t.Parallel()
	c := parsed(t, "limits: { workspaceBytes: 10GiB, sessionBytes: 1536MiB, reserveBytes: 2GB, commandMemory: 1048576 }")
	require.Equal(t, []config.Bytes{10 << 30, 1536 << 20, 2_000_000_000, 1 << 20},
		[]config.Bytes{c.Limits.WorkspaceBytes, c.Limits.SessionBytes, c.Limits.ReserveBytes, c.Limits.CommandMemory})
	shown, err := c.YAML()
	require.NoError(t, err)
	for _, line := range []string{"workspaceBytes: 10GiB\n", "sessionBytes: 1536MiB\n", "reserveBytes: 1953125KiB\n"} {
		require.Contains(t, string(shown), line)
	}
	for _, wrong := range []string{"much", "-1GiB", "1KiB", "9000PiB", "true", "[]"} {
		_, err := loader(t).Parse("sluice.yaml", []byte("limits: { sessionBytes: "+wrong+" }"))
		require.ErrorContains(t, err, "limits.sessionBytes: want an amount of data", wrong)
	}
}

// The prices of models are decimal numbers. A cached price that is not given is that of the input.
func TestPrices(t *testing.T) {
	t.Parallel()
	const providers = "models: { providers: { openai: { kind: openai, apiKey: k } }, prices: "
	c := parsed(t, providers+`{ "openai/medium": { input: 2.50, output: 10, cached: 0.25, currency: EUR }, "openai/small": { input: 0, output: "0.000001" } } }`)
	medium, small := c.Models.Prices["openai/medium"], c.Models.Prices["openai/small"]
	require.Equal(t, []int64{2_500_000, 10_000_000, 250_000}, []int64{medium.Input.Millionths(7), medium.Output.Millionths(7), medium.Cached.Millionths(7)})
	require.Equal(t, []int64{0, 1, 7}, []int64{small.Input.Millionths(9), small.Output.Millionths(9), small.Cached.Millionths(7)})
	require.Equal(t, "EUR", medium.Currency)
	for text, says := range map[string]string{
		`{ "openai/x": { input: -1, output: 1 } }`:                                                "models.prices.openai/x.input: want an amount of money from 0 to 1000000",
		`{ "openai/x": { input: 1e3, output: 1 } }`:                                               "input: want an amount of money",
		`{ "openai/x": { input: 0.1234567, output: 1 } }`:                                         "at most six decimals",
		`{ "openai/x": { input: 1000001, output: 1 } }`:                                           "input: want an amount of money",
		`{ "openai/x": { input: much, output: 1 } }`:                                              "input: want an amount of money",
		`{ "openai/x": { input: true, output: 1 } }`:                                              "input: want an amount of money such as 2.50, not true or false",
		`{ "openai/x": { output: 1 } }`:                                                           "models.prices.openai/x.input: is missing",
		`{ "openai/x": { input: 1, minute: 1 } }`:                                                 "models.prices.openai/x.output: is missing",
		`{ "openai/x": { minute: dear } }`:                                                        "models.prices.openai/x.minute: want an amount of money",
		`{ "openai/x": { input: 1 } }`:                                                            "models.prices.openai/x.output: is missing",
		`{ "opanai/x": { input: 1, output: 1 } }`:                                                 `no provider "opanai" under models.providers: did you mean openai?`,
		`{ medium: { input: 1, output: 1 } }`:                                                     "models.prices.medium",
		`{ "openai/x": { input: 1, output: 1, validFrom: soon } }`:                                "models.prices.openai/x.validFrom: want a day, such as 2026-12-01",
		`{ "openai/x": { input: 1, output: 1, changes: [{ input: 1, output: 1 }] } }`:             "models.prices.openai/x.changes[0].validFrom: is missing",
		`{ "openai/x": { input: 1, output: 1, changes: [{ input: 1, validFrom: 2026-12-01 }] } }`: "changes[0].output: is missing",
	} {
		_, err := loader(t).Parse("sluice.yaml", []byte(providers+text+" }"))
		require.ErrorContains(t, err, says, text)
	}
}

// A price has parts that cost something else, and changes on later days.
func TestPricesInParts(t *testing.T) {
	t.Parallel()
	c := parsed(t, `models:
  providers: { ai: { kind: openai, apiKey: k }, local: { kind: openai, baseURL: "http://127.0.0.1:1" } }
  prices:
    ai/large: { input: 2, output: 8, written: 2.50, thinking: 9, picture: 0.001, minute: 0.006, currency: EUR, validFrom: 2026-03-01, changes: [{ input: 1, output: 4, validFrom: 2026-12-01 }] }
    ai/ears: { minute: 0.003 }
`)
	l := c.Models.PriceList()
	day := func(m time.Month) time.Time { return time.Date(2026, m, 1, 0, 0, 0, 0, time.UTC) }
	p, _ := l.Named("ai/large", day(3))
	require.Equal(t, &spending.Price{Input: 2_000_000, Output: 8_000_000, Cached: 2_000_000, Written: 2_500_000, Thinking: 9_000_000, Picture: 1000, Minute: 6000, Currency: "EUR", From: day(3)}, p)
	p, _ = l.Named("ai/large", day(12))
	require.Equal(t, &spending.Price{Input: 1_000_000, Output: 4_000_000, Cached: 1_000_000, Written: 1_000_000, Thinking: 4_000_000, NoMinute: true, Currency: "EUR", From: day(12)}, p)
	p, _ = l.Named("ai/large", day(2))
	require.Nil(t, p)
	p, _ = l.Named("ai/ears", day(3))
	require.Equal(t, &spending.Price{Minute: 3000, NoTokens: true, Currency: "USD"}, p)
	p, _ = l.Named("ai/gpt-4o", day(2))
	require.NotNil(t, p, "a list price")
	p, _ = l.Named("local/gpt-4o", day(2))
	require.Nil(t, p, "another server may charge other prices")
	p, _ = l.Named("offline/guide", day(2))
	require.Zero(t, p.Input)
	shown, err := c.YAML()
	require.NoError(t, err)
	require.Contains(t, string(shown), "validFrom: \"2026-12-01\"")
}
