package usage

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/view"
	"sluice/internal/httpapi/wire"
	"sluice/internal/spending"
)

// Ledger reads what calls have used.
type Ledger interface {
	// Sums adds up calls, grouped. Those above the query's level do not exist.
	Sums(ctx context.Context, q spending.Query) ([]spending.Sum, error)
}

// API serves the sums.
type API struct {
	Visible   *view.Visibility
	Ledger    Ledger
	Standings Standings
	Now       func() time.Time
}

const (
	// daysDefault is how many days are added up if a request has no from.
	daysDefault = 30
	// unknown is the cost of calls whose model has no price.
	unknown = "unknown"
	// formatCSV asks for CSV.
	formatCSV = "csv"
)

// Input is the query of a request for sums.
type Input struct {
	By       string `query:"by" maxLength:"100" example:"day,model" doc:"what to group by, separated by commas: day, agent, person, session, job, provider, model, key; default: one sum of all"`
	From     string `query:"from" maxLength:"40" example:"2026-11-01" doc:"the first day (UTC), or a time; default: 30 days, including today"`
	To       string `query:"to" maxLength:"40" example:"2026-11-30" doc:"the last day (UTC), or a time: only calls that began before it; default: now"`
	Agent    string `query:"agent" maxLength:"256"`
	Person   string `query:"person" maxLength:"256" example:"telegram:5" doc:"who spoke, as <channel>:<user id>"`
	Session  string `query:"session" maxLength:"512" doc:"key or id; daily sums that remain after retention.usage belong to no session"`
	Job      string `query:"job" maxLength:"256" doc:"the job's id, or hook:<name>"`
	Provider string `query:"provider" maxLength:"256"`
	Model    string `query:"model" maxLength:"512" example:"openai/gpt-5-mini" doc:"<provider>/<model>"`
	Limit    int    `query:"limit" minimum:"1" maximum:"10000" default:"1000" doc:"rows; further rows count only in the totals"`
	Format   string `query:"format" enum:"json,csv" default:"json"`
}

// TokenCounts are tokens by kind. Cached and written ones are part of the input, thinking ones of the output.
type TokenCounts struct {
	Input    int `json:"input"`
	Output   int `json:"output"`
	Cached   int `json:"cached" doc:"of the input: read from the provider's cache"`
	Written  int `json:"written" doc:"of the input: written to the provider's cache"`
	Thinking int `json:"thinking" doc:"of the output"`
}

// Amounts are what some calls have used and cost together.
type Amounts struct {
	Calls        int         `json:"calls" doc:"calls that have ended"`
	Failed       int         `json:"failed" doc:"calls without an answer"`
	Estimated    int         `json:"estimated" doc:"calls that count with the most that they may have used, because the provider did not report their usage"`
	Tokens       TokenCounts `json:"tokens"`
	Pictures     int         `json:"pictures" doc:"pictures that have a price of their own"`
	AudioSeconds float64     `json:"audio_seconds" doc:"seconds of transcribed and spoken audio, each recording rounded up"`
	Cost         string      `json:"cost" example:"1.25" doc:"an exact decimal number, or unknown if the model has no price"`
	Currency     string      `json:"currency,omitempty" doc:"absent if the cost is unknown"`
}

// SumRow is what the calls of a group have used. It has only the fields that the request groups by. A group with calls in several
// currencies, or with and without a price, has a row for each.
type SumRow struct {
	Day      string `json:"day,omitempty" example:"2026-11-26" doc:"UTC"`
	Agent    string `json:"agent,omitempty"`
	Person   string `json:"person,omitempty"`
	Session  string `json:"session,omitempty" doc:"its id"`
	Job      string `json:"job,omitempty"`
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
	Key      string `json:"key,omitempty" doc:"the name of the provider's key"`
	Amounts
}

// Sums are the answer.
type Sums struct {
	From   time.Time `json:"from"`
	To     time.Time `json:"to" doc:"only calls that began before it"`
	By     []string  `json:"by"`
	Rows   []SumRow  `json:"rows" doc:"by day, then by cost, highest first"`
	More   bool      `json:"more,omitempty" doc:"there are more rows than the limit"`
	Totals []Amounts `json:"totals" doc:"of all rows, including those beyond the limit; one for each currency, and one for calls with an unknown cost"`
}

// Output is an answer, as JSON or CSV.
type Output struct {
	Type        string `header:"Content-Type"`
	Disposition string `header:"Content-Disposition"`
	Body        []byte
}

// Describe describes the operation in the OpenAPI document.
func Describe(r huma.API) huma.Operation {
	o := wire.Op(http.MethodGet, "/v1/usage", "usage", "Add up the usage and cost of model calls, as JSON or CSV")
	o.Responses = map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{
		"application/json": {Schema: wire.Schema[Sums](r)},
		"text/csv":         {Schema: &huma.Schema{Type: huma.TypeString}},
	}}}
	return o
}

// Get answers with the sums.
func (a *API) Get(ctx context.Context, in *Input) (*Output, error) {
	q, err := a.query(ctx, in)
	if err != nil {
		return nil, err
	}
	out := Sums{From: q.Since, To: q.Until, By: []string{}, Rows: []SumRow{}, Totals: []Amounts{}}
	for _, d := range q.By {
		out.By = append(out.By, string(d))
	}
	q.Limit = in.Limit + 1
	sums, err := a.Ledger.Sums(ctx, q)
	if err != nil {
		return nil, err
	}
	if out.More = len(sums) > in.Limit; out.More {
		if in.Format == formatCSV {
			return nil, wire.Invalid(fmt.Sprintf("limit: there are more than %d rows, and CSV can't show that: raise the limit, or choose fewer calls", in.Limit))
		}
		sums = sums[:in.Limit]
	}
	for i := range sums {
		out.Rows = append(out.Rows, rowOf(&sums[i]))
	}
	if !out.More {
		sums = together(sums)
	} else {
		all := q
		all.By, all.Limit = nil, 0
		if sums, err = a.Ledger.Sums(ctx, all); err != nil {
			return nil, err
		}
	}
	for i := range sums {
		out.Totals = append(out.Totals, amountsOf(&sums[i]))
	}
	if in.Format == formatCSV {
		return tableOf(&out)
	}
	return objectOf(&out)
}

// together adds up the sums of groups by currency, the highest cost first: reading them all again would take as long as reading the groups.
func together(groups []spending.Sum) []spending.Sum {
	var all []spending.Sum
	for i := range groups {
		g := &groups[i]
		at := slices.IndexFunc(all, func(s spending.Sum) bool { return s.Currency == g.Currency })
		if at < 0 {
			at, all = len(all), append(all, spending.Sum{Currency: g.Currency})
		}
		s := &all[at]
		s.Calls, s.Failed, s.Assumed, s.Cost = s.Calls+g.Calls, s.Failed+g.Failed, s.Assumed+g.Assumed, s.Cost+g.Cost
		s.Amount.InputTokens, s.Amount.OutputTokens = s.Amount.InputTokens+g.Amount.InputTokens, s.Amount.OutputTokens+g.Amount.OutputTokens
		s.Amount.CachedTokens, s.Amount.WrittenTokens = s.Amount.CachedTokens+g.Amount.CachedTokens, s.Amount.WrittenTokens+g.Amount.WrittenTokens
		s.Amount.ThinkingTokens, s.Amount.Pictures, s.Amount.Audio = s.Amount.ThinkingTokens+g.Amount.ThinkingTokens, s.Amount.Pictures+g.Amount.Pictures, s.Amount.Audio+g.Amount.Audio
	}
	slices.SortStableFunc(all, func(a, b spending.Sum) int { return cmp.Compare(b.Cost, a.Cost) })
	return all
}

func (a *API) query(ctx context.Context, in *Input) (q spending.Query, err error) {
	if q.By, err = spending.ParseDimensions(in.By); err != nil {
		return q, wire.Invalid("by: " + err.Error())
	}
	today := a.Now().UTC().Truncate(24 * time.Hour)
	if q.Since, err = instant("from", in.From, today.AddDate(0, 0, 1-daysDefault), 0); err != nil {
		return q, err
	}
	if q.Until, err = instant("to", in.To, today.AddDate(0, 0, 1), 1); err != nil {
		return q, err
	}
	if q.Until.Before(q.Since) {
		return q, wire.Invalid("to: is before from")
	}
	q.Agent, q.Person, q.Job, q.Provider, q.Model, q.MaxLevel = in.Agent, in.Person, in.Job, in.Provider, in.Model, auth.CallerOf(ctx).Level
	if provider, model, ok := strings.Cut(in.Model, "/"); in.Model != "" && (!ok || provider == "" || model == "") {
		return q, wire.Invalid("model: want <provider>/<model>")
	}
	if in.Session != "" {
		id, err := a.Visible.SessionID(ctx, in.Session)
		if err != nil {
			return q, err
		}
		q.Session = string(id)
	}
	return q, nil
}

// years are those that a request may name: outside of them, times have no room in the ledger.
var years = [2]int{1970, 9999}

// instant reads a day, to which days are added, or a time.
func instant(name, text string, otherwise time.Time, days int) (time.Time, error) {
	if text == "" {
		return otherwise, nil
	}
	at, err := time.Parse(time.DateOnly, text)
	if err == nil {
		at = at.AddDate(0, 0, days)
	} else if at, err = time.Parse(time.RFC3339, text); err != nil {
		return at, wire.Invalid(name + ": want a day such as 2026-11-26, or a time such as 2026-11-26T12:00:00Z")
	}
	if at = at.UTC(); at.Year() < years[0] || at.Year() > years[1] {
		return at, wire.Invalid(name + ": want a year from 1970 to 9999")
	}
	return at, nil
}

func amountsOf(s *spending.Sum) Amounts {
	out := Amounts{
		Calls: s.Calls, Failed: s.Failed, Estimated: s.Assumed,
		Tokens:   TokenCounts{s.Amount.InputTokens, s.Amount.OutputTokens, s.Amount.CachedTokens, s.Amount.WrittenTokens, s.Amount.ThinkingTokens},
		Pictures: s.Amount.Pictures, AudioSeconds: s.Amount.Audio.Seconds(), Cost: unknown,
	}
	if s.Currency != "" {
		out.Cost, out.Currency = s.Cost.Decimal(), s.Currency
	}
	return out
}

func rowOf(s *spending.Sum) SumRow {
	out := SumRow{Agent: s.Agent, Person: s.Person, Session: s.Session, Job: s.Job, Provider: s.Provider, Model: s.Model, Key: s.Key, Amounts: amountsOf(s)}
	if !s.Day.IsZero() {
		out.Day = s.Day.Format(time.DateOnly)
	}
	return out
}
