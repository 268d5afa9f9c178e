package httpapi_test

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/httpapi"
	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/usage"
	"sluice/internal/spending"
	"sluice/internal/spending/standing"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store/sqlite"
	"sluice/store/sqlite/sqlitetest"
)

// spent is a gateway whose calls have used something: on two days, at two levels, with and without a price.
func spent(t *testing.T) http.Handler {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Config{Dir: sqlitetest.Dir(t)})
	require.NoError(t, err)
	change := ledger.Change{}
	for i, level := range []flow.Level{flow.Public, flow.Confidential} {
		change.Create = append(change.Create, sessions.Record{
			ID: sessions.ID(fmt.Sprintf("sess_%012d", i)), Key: sessions.Key(fmt.Sprintf("agent:main:http:%d", i)), Agent: "main", Taint: flow.NewLabel(level, flow.Trusted), Clearance: flow.Restricted, Created: clock, LastActivity: clock,
		})
	}
	call := func(session, days int, level flow.Level, model, currency string, cost spending.Money) {
		change.Postings = append(change.Postings, &spending.Posting{Call: spending.Call{
			ID: fmt.Sprintf("call_%d", len(change.Postings)), Origin: spending.Origin{Session: change.Create[session].ID, Agent: "main", Person: "telegram:5"}, Provider: "p", Key: "key1", Model: model, Level: level,
			Started: clock.AddDate(0, 0, -days), Outcome: spending.OutcomeOK, Amount: spending.Amount{Usage: sessions.Usage{InputTokens: 10, OutputTokens: 2, CachedTokens: 4}}, Cost: cost, Currency: currency, Priced: currency != "",
		}})
	}
	call(0, 0, flow.Public, "large", "USD", spending.One/4)
	call(0, 0, flow.Public, "large", "USD", spending.One)
	call(0, 0, flow.Public, "new", "", 0)
	call(0, 1, flow.Public, "large", "USD", 1)
	call(0, 0, flow.Confidential, "secret", "USD", spending.One/1000)
	call(1, 0, flow.Public, "hidden", "USD", 7)
	call(0, 40, flow.Public, "old", "EUR", 2)
	budgets := []*spending.Budget{
		{Name: "house", Scope: spending.ScopeGateway, Limit: 3 * int64(spending.One), Unit: "USD", Per: spending.PerDay},
		{Name: "each", Scope: spending.ScopePerson, Match: []string{"telegram:*"}, Limit: 100, Unit: spending.Tokens, Per: spending.PerTotal},
		{Name: "unused", Scope: spending.ScopeJob, Limit: 7 * int64(spending.One), Unit: "EUR", Per: spending.PerMonth},
	}
	paid := spending.Posting{Call: change.Postings[4].Call} // the secret call was paid from the budgets
	require.NoError(t, paid.Plan(budgets, &spending.Price{Input: 100_000_000, Currency: "USD"}, paid.Call.Amount))
	require.NoError(t, db.Post(t.Context(), &paid))
	change.Postings = slices.Delete(change.Postings, 4, 5)
	require.NoError(t, db.Commit(t.Context(), change))
	s := newServer(t, newGateway(), func(c *httpapi.Config) {
		useRows(c, db)
		c.Budgets = &standing.Reader{Ledger: db, Budgets: func() []*spending.Budget { return budgets }, Now: c.Now}
	}, withTokens(
		auth.Credential{Name: "low", Token: "low", Level: flow.Internal, Role: auth.RoleViewer}, auth.Credential{Name: "pager", Token: "pager", Level: flow.Restricted, Role: auth.RoleSender},
	))
	t.Cleanup(func() { require.NoError(t, s.Stop(t.Context())); require.NoError(t, db.Close()) })
	return s.Handler()
}

func usageOf(t *testing.T, h http.Handler, query string, headers ...string) (got usage.Sums) {
	t.Helper()
	w := call(h, "GET", "/v1/usage"+query, "", headers...)
	require.Equal(t, http.StatusOK, w.Code, w.Body.String())
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
	return got
}

func TestUsageIsAddedUp(t *testing.T) {
	t.Parallel()
	h, low := spent(t), "Authorization: Bearer low"
	day := clock.Truncate(24 * time.Hour)
	all := usageOf(t, h, "", low)
	require.Equal(t, []time.Time{day.AddDate(0, 0, -29), day.AddDate(0, 0, 1)}, []time.Time{all.From, all.To})
	require.Equal(t, []usage.Amounts{
		{Calls: 3, Tokens: usage.TokenCounts{Input: 30, Output: 6, Cached: 12}, Cost: "1.250000001", Currency: "USD"},
		{Calls: 1, Tokens: usage.TokenCounts{Input: 10, Output: 2, Cached: 4}, Cost: "unknown"},
	}, all.Totals, "an unknown price is unknown, and what is above the caller counts nowhere")

	got := usageOf(t, h, "?by=day,model&limit=2", low)
	require.True(t, got.More)
	require.Equal(t, all.Totals, got.Totals, "rows beyond the limit count in the totals")
	require.Len(t, got.Rows, 2)
	require.Equal(t, all.Totals, usageOf(t, h, "?by=day,model", low).Totals, "they are the same where all rows are shown")
	require.Equal(t, day.AddDate(0, 0, -1).Format(time.DateOnly), got.Rows[0].Day)
	require.Equal(t, usage.SumRow{Day: day.Format(time.DateOnly), Model: "p/large", Amounts: usage.Amounts{Calls: 2, Tokens: usage.TokenCounts{Input: 20, Output: 4, Cached: 8}, Cost: "1.25", Currency: "USD"}}, got.Rows[1])

	require.Len(t, usageOf(t, h, "?by=model").Rows, 3, "the owner sees all that has ended")
	require.Len(t, usageOf(t, h, "?by=session").Rows, 3)
	old := usageOf(t, h, "?from=1970-01-01&to="+day.AddDate(0, 0, -40).Format(time.DateOnly)).Totals
	require.Len(t, old, 1, "the last day counts")
	require.Equal(t, "0.000000002 EUR", old[0].Cost+" "+old[0].Currency)
	for _, query := range []string{"?model=p/none", "?session=sess_000000000001", "?agent=x", "?person=x", "?to=1999-01-01&from=1998-01-01T00:00:00%2B01:00"} {
		got := usageOf(t, h, query, low)
		require.Empty(t, got.Rows, query)
		require.Empty(t, got.Totals, query)
	}
}

// crowded is a ledger with more groups than one query gives.
type crowded struct{}

func (crowded) Sums(_ context.Context, q spending.Query) ([]spending.Sum, error) {
	if len(q.By) == 0 {
		return []spending.Sum{{Calls: 20_000}}, nil
	}
	return slices.Repeat([]spending.Sum{{Calls: 1}}, min(cmp.Or(q.Limit, spending.SumsMax), spending.SumsMax)), nil
}

func (crowded) CallsSince(_ context.Context, _ flow.Level, _ time.Time, limit int) ([]spending.CallPoint, error) {
	return slices.Repeat([]spending.CallPoint{{Agent: "main", Started: clock}}, limit), nil
}

func (crowded) CallsOfRun(context.Context, flow.Level, sessions.ID, sessions.RunID, int) ([]spending.CallPoint, error) {
	return nil, nil
}

// The largest list says too that there are more rows, and its totals count them.
func TestUsageBeyondTheLargestLimit(t *testing.T) {
	t.Parallel()
	s := newServer(t, newGateway(), func(c *httpapi.Config) { c.Rows.Usage = crowded{} })
	t.Cleanup(func() { require.NoError(t, s.Stop(t.Context())) })
	got := usageOf(t, s.Handler(), "?by=session&limit=10000")
	require.Len(t, got.Rows, 10_000)
	require.True(t, got.More)
	require.Equal(t, 20_000, got.Totals[0].Calls)
}

// A caller who does not see everything reads sums of what it sees, and not the accounts, which count calls of all levels.
func TestBudgetsAreShownByLevel(t *testing.T) {
	t.Parallel()
	h := spent(t)
	read := func(headers ...string) (lines []string) {
		var got struct{ Budgets []usage.BudgetStanding }
		w := call(h, "GET", "/v1/budgets", "", headers...)
		require.Equal(t, http.StatusOK, w.Code, w.Body.String())
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
		for _, b := range got.Budgets {
			lines = append(lines, fmt.Sprintf("%s %s%s: %s of %s %s, %s reserved, %d%%, partial %v, period %v", b.Name, b.Scope, b.Subject, b.Used, b.Limit, b.Unit, b.Held, b.Percent, b.Partial, b.From != nil))
		}
		return lines
	}
	require.Equal(t, []string{
		"house gateway: 0.001 of 3 USD, 0.001 reserved, 1%, partial false, period true", "each persontelegram:5: 12 of 100 tokens, 12 reserved, 12%, partial false, period false", "unused job: 0 of 7 EUR, 0 reserved, 0%, partial false, period true",
	}, read())
	require.Equal(t, []string{
		"house gateway: 1.25 of 3 USD, 0 reserved, 42%, partial true, period true", "each persontelegram:5: 60 of 100 tokens, 0 reserved, 60%, partial true, period false", "unused job: 0 of 7 EUR, 0 reserved, 0%, partial true, period true",
	}, read("Authorization: Bearer low"))
	require.Equal(t, http.StatusForbidden, call(h, "GET", "/v1/budgets", "", "Authorization: Bearer pager").Code)
}

func TestUsageAsCSV(t *testing.T) {
	t.Parallel()
	h := spent(t)
	short := call(h, "GET", "/v1/usage?by=model,person&format=csv&limit=1", "", "Authorization: Bearer low")
	require.Equal(t, http.StatusUnprocessableEntity, short.Code, "nobody takes a part for the whole")
	require.Contains(t, short.Body.String(), "there are more than 1 rows")
	w := call(h, "GET", "/v1/usage?by=model,person&format=csv&limit=2", "", "Authorization: Bearer low")
	require.Equal(t, "text/csv; charset=utf-8", w.Header().Get("Content-Type"))
	rows, err := csv.NewReader(w.Body).ReadAll()
	require.NoError(t, err)
	require.Equal(t, [][]string{
		{"person", "model", "calls", "failed", "estimated", "input", "output", "cached", "written", "thinking", "pictures", "audio_seconds", "cost", "currency"},
		{"telegram:5", "p/large", "3", "0", "0", "30", "6", "12", "0", "0", "0", "0", "1.250000001", "USD"},
		{"telegram:5", "p/new", "1", "0", "0", "10", "2", "4", "0", "0", "0", "0", "unknown", ""},
	}, rows)
}

func TestUsageRefusesWhatItCantRead(t *testing.T) {
	t.Parallel()
	h := spent(t)
	for query, want := range map[string]int{
		"?by=colour": 422, "?from=yesterday": 422, "?to=2026-13-01": 422, "?from=2026-02-02&to=2026-01-01": 422, "?model=large": 422, "?from=0001-01-01": 422, "?limit=0": 422, "?limit=10001": 422, "?format=xml": 422, "?group=day": 422,
		"?session=agent:main:http:9": 404,
	} {
		g := call(h, "GET", "/v1/usage"+query, "")
		require.Equal(t, want, g.Code, "%s: %s", query, g.Body)
	}
	require.Equal(t, http.StatusForbidden, call(h, "GET", "/v1/usage", "", "Authorization: Bearer pager").Code)
	require.Equal(t, http.StatusUnauthorized, call(h, "GET", "/v1/usage", "", "Authorization: ").Code)
}
