package cli_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/cli"
)

const usageAnswer = `{"from":"2026-04-01T00:00:00Z","to":"2026-05-01T00:00:00Z","by":["day","model"],"rows":[` +
	`{"day":"2026-04-25","model":"p/large","calls":3,"failed":1,"estimated":1,"tokens":{"input":2000,"output":40,"cached":1500,"written":0,"thinking":0},"pictures":0,"audio_seconds":0,"cost":"1.250000001","currency":"USD"},` +
	`{"day":"2026-04-26","model":"p/new","calls":1,"failed":0,"estimated":0,"tokens":{"input":10,"output":4,"cached":0,"written":0,"thinking":0},"pictures":0,"audio_seconds":0,"cost":"unknown"}],` +
	`"more":true,"totals":[{"calls":3,"failed":1,"estimated":1,"tokens":{"input":2000,"output":40,"cached":1500,"written":0,"thinking":0},"pictures":0,"audio_seconds":0,"cost":"1.250000001","currency":"USD"},` +
	`{"calls":1,"failed":0,"estimated":0,"tokens":{"input":10,"output":4,"cached":0,"written":0,"thinking":0},"pictures":0,"audio_seconds":0,"cost":"unknown"}]}`

func TestUsage(t *testing.T) {
	t.Parallel()
	env := answering(t, map[string]string{
		"/v1/usage?by=day%2Cmodel&from=2026-04-01&limit=2":           usageAnswer,
		"/v1/usage?by=day&limit=1000":                                `{"from":"2026-03-28T00:00:00Z","to":"2026-04-26T12:00:00Z","by":["day"],"rows":[],"totals":[]}`,
		"/v1/usage?by=day&format=csv&limit=1000&person=telegram%3A5": "day,calls\n2026-04-25,3\n",
	})
	got := execute(t, env, "usage", "--by", "day,model", "--from", "2026-04-01", "--limit", "2")
	require.Equal(t, result{cli.ExitDone, `DAY         MODEL    CALLS  INPUT  CACHED  OUTPUT  COST
2026-04-25  p/large  3      2000   75%     40      1.25 USD
2026-04-26  p/new    1      10     -       4       unknown
There are more than 2 rows: raise --limit, or choose fewer calls.

Total from 2026-04-01 to 2026-04-30: 4 calls, 1.25 USD, 1 call with an unknown cost
1 failed.
1 count with the most that they may have used: the provider did not report their usage.
Set models.prices for models whose cost is unknown. Prices apply to later calls.
`, ""}, got)
	require.Equal(t, result{cli.ExitDone, "No model calls from 2026-03-28 to 2026-04-26T12:00:00Z.\n", ""}, execute(t, env, "usage"))
	require.Equal(t, "day,calls\n2026-04-25,3\n", execute(t, env, "usage", "--person", "telegram:5", "--csv").out)
	require.Contains(t, execute(t, env, "usage", "--json").out, `"rows": []`)
	require.Equal(t, cli.ExitUsage, execute(t, env, "usage", "--json", "--csv").code)
}

func TestUsageOfBudgets(t *testing.T) {
	t.Parallel()
	env := answering(t, map[string]string{"/v1/budgets": `{"budgets":[{"name":"house","scope":"gateway","unit":"USD","per":"day","until":"2026-04-27T00:00:00Z","limit":"5","used":"0.00001","reserved":"0","percent":1,"partial":true},` +
		`{"name":"each","scope":"person","subject":"telegram:5","unit":"tokens","per":"total","limit":"100","used":"60","reserved":"0","percent":60}]}`})
	got := execute(t, env, "usage", "budgets")
	require.Equal(t, cli.ExitDone, got.code, got.err)
	require.Regexp(t, `house +gateway +under 0.0001 USD +5.00 USD +1% +2026-04-2\d`, got.out)
	require.Regexp(t, `each +person telegram:5 +60 tokens +100 tokens +60% +-`, got.out)
	require.Contains(t, got.out, "Only calls that your token may see are counted")
	require.Contains(t, execute(t, answering(t, map[string]string{"/v1/budgets": `{"budgets":[]}`}), "usage", "budgets").out, "No budgets found.")
}
