package usage

import (
	"context"
	"strconv"
	"strings"
	"time"

	"sluice/internal/spending"
	"sluice/policy/flow"
	"sluice/sessions/address"
	"sluice/store/engine"
)

// dayMicros is a day in stored time.
const dayMicros = int64(24 * time.Hour / time.Microsecond)

// sums are the columns that are added up, in the order in which they are read.
func sums() []string {
	return []string{"calls", "failed", "assumed", "spent", "input", "output", "cached", "written", "thinking", "pictures", "audio"}
}

// sources are the columns of rows and of days, by dimension.
var (
	ofCall = map[spending.Dimension]string{
		spending.ByDay: `at / ` + strconv.FormatInt(dayMicros, 10), spending.ByAgent: `agent`, spending.ByPerson: `person`, spending.BySession: `session_id`,
		spending.ByJob: `job`, spending.ByProvider: `provider`, spending.ByModel: `provider || '/' || model`, spending.ByKey: `key_name`,
	}
	ofDay = map[spending.Dimension]string{
		spending.ByDay: `day`, spending.ByAgent: `agent`, spending.ByPerson: `person`, spending.BySession: `''`,
		spending.ByJob: `job`, spending.ByProvider: `provider`, spending.ByModel: `provider || '/' || model`, spending.ByKey: `key_name`,
	}
)

const (
	callSums = `1 AS calls, CASE WHEN outcome = 'ok' THEN 0 ELSE 1 END AS failed, assumed, spent, input, output, cached, written, thinking, pictures, audio`
	daySums  = `calls, failed, assumed, spent, input, output, cached, written, thinking, pictures, audio`
)

// Sums adds up calls that have ended, also those whose rows retention has removed.
func (t Table) Sums(ctx context.Context, q spending.Query) ([]spending.Sum, error) {
	var dims []string
	calls, days := engine.Filter{}, engine.Filter{}
	calls.Add(`kind = 0 AND held <> 1`)
	for i := range q.By {
		dims = append(dims, `d`+strconv.Itoa(i))
	}
	filter(&calls, q, `at`, 1, false)
	filter(&days, q, `day`, dayMicros, true)
	head := func(of map[spending.Dimension]string, rest string) string {
		var b strings.Builder
		b.WriteString(`SELECT `)
		for i, d := range q.By {
			b.WriteString(of[d] + ` AS ` + dims[i] + `, `)
		}
		return b.String() + `currency, ` + rest
	}
	var total []string
	for _, column := range sums() {
		total = append(total, `CAST(COALESCE(SUM(`+column+`), 0) AS BIGINT) AS `+column)
	}
	group := strings.Join(append(dims, `currency`), `, `)
	query := `SELECT ` + group + `, ` + strings.Join(total, `, `) + ` FROM (` + head(ofCall, callSums) + ` FROM spending` + calls.Where() +
		` UNION ALL ` + head(ofDay, daySums) + ` FROM spending_days` + days.Where() + `) s GROUP BY ` + group + ` ORDER BY ` + order(q.By, dims) + engine.Limit(limit(q.Limit))
	return engine.All(ctx, t.Conn, query, append(calls.Args, days.Args...), scanSum(q.By))
}

// order sorts by day, then by cost, highest first.
func order(by []spending.Dimension, dims []string) string {
	var keys []string
	for i, d := range by {
		if d == spending.ByDay {
			keys = append(keys, dims[i])
		}
	}
	return strings.Join(append(keys, append([]string{`spent DESC`, `calls DESC`}, append(dims, `currency`)...)...), `, `)
}

func limit(n int) int {
	if n <= 0 || n > spending.SumsMax {
		return spending.SumsMax
	}
	return n
}

// filter selects rows. A day's row counts if the day begins within the time: the times of its calls are no longer stored.
func filter(f *engine.Filter, q spending.Query, at string, unit int64, day bool) {
	f.AddIf(!q.Since.IsZero(), at+` >= ?`, floor(engine.Micros(q.Since), unit))
	f.AddIf(!q.Until.IsZero(), at+` < ?`, ceil(engine.Micros(q.Until), unit))
	f.AddIf(q.Agent != "", `agent = ?`, engine.Indexed(q.Agent))
	f.AddIf(q.Person != "", `person = ?`, engine.Indexed(q.Person))
	f.AddIf(q.Job != "", `job = ?`, engine.Indexed(q.Job))
	f.AddIf(q.Provider != "", `provider = ?`, engine.Indexed(q.Provider))
	if provider, model, ok := strings.Cut(q.Model, "/"); ok {
		f.Add(`provider = ? AND model = ?`, engine.Indexed(provider), engine.Indexed(model))
	}
	switch {
	case q.Session == "":
	case day:
		f.Add(`1 = 0`)
	default:
		f.Add(`session_id = ?`, q.Session)
	}
	if day {
		f.Within(q.MaxLevel, `spending_days`)
		return
	}
	f.Within(q.MaxLevel, `spending`, `session_id`)
}

func floor(us, unit int64) int64 { return us / unit }

func ceil(us, unit int64) int64 { return (us + unit - 1) / unit }

func scanSum(by []spending.Dimension) func(engine.Row) (spending.Sum, error) {
	return func(row engine.Row) (spending.Sum, error) {
		var s spending.Sum
		var day, audio, cost int64
		dest := make([]any, 0, len(by)+12)
		for _, d := range by {
			dest = append(dest, field(&s, d, &day))
		}
		dest = append(dest, &s.Currency, &s.Calls, &s.Failed, &s.Assumed, &cost, &s.Amount.InputTokens, &s.Amount.OutputTokens, &s.Amount.CachedTokens, &s.Amount.WrittenTokens, &s.Amount.ThinkingTokens, &s.Amount.Pictures, &audio)
		err := row.Scan(dest...)
		s.Cost, s.Amount.Audio = spending.Money(cost), time.Duration(audio)*time.Millisecond
		if day > 0 {
			s.Day = time.UnixMicro(day * dayMicros).UTC()
		}
		return s, err
	}
}

func field(s *spending.Sum, d spending.Dimension, day *int64) any {
	switch d {
	case spending.ByDay:
		return day
	case spending.ByAgent:
		return &s.Agent
	case spending.ByPerson:
		return &s.Person
	case spending.BySession:
		return &s.Session
	case spending.ByJob:
		return &s.Job
	case spending.ByProvider:
		return &s.Provider
	case spending.ByModel:
		return &s.Model
	}
	return &s.Key
}

// CallsSince reads what the newest calls that began since a time and have ended were like, at most limit, newest first. Those
// above the level do not exist.
func (t Table) CallsSince(ctx context.Context, most flow.Level, since time.Time, limit int) ([]spending.CallPoint, error) {
	f := engine.Filter{}
	f.Add(`kind = 0 AND held <> 1`)
	f.Add(`at >= ?`, engine.Micros(since))
	f.Within(most, `spending`, `session_id`)
	return engine.All(ctx, t.Conn, `SELECT agent, at, latency, outcome, input, output FROM spending`+f.Where()+` ORDER BY at DESC`+engine.Limit(limit), f.Args, func(row engine.Row) (spending.CallPoint, error) {
		var p spending.CallPoint
		var at, latency int64
		var outcome string
		err := row.Scan(&p.Agent, &at, &latency, &outcome, &p.Input, &p.Output)
		p.Started, p.Latency, p.Failed = engine.FromMicros(at), time.Duration(latency)*time.Microsecond, spending.Outcome(outcome) != spending.OutcomeOK
		return p, err
	})
}

// CallsOfRun reads the calls of a session's run that have ended, oldest first, without those above the level.
func (t Table) CallsOfRun(ctx context.Context, most flow.Level, session address.ID, run address.RunID, limit int) ([]spending.CallPoint, error) {
	f := engine.Filter{}
	f.Add(`kind = 0 AND held <> 1`)
	f.Add(`session_id = ? AND run_id = ?`, engine.Indexed(session), string(run))
	f.Within(most, `spending`, `session_id`)
	return engine.All(ctx, t.Conn, `SELECT agent, provider, model, at, latency, outcome, input, output, cached FROM spending`+f.Where()+` ORDER BY at, id`+engine.Limit(limit), f.Args, func(row engine.Row) (spending.CallPoint, error) {
		var p spending.CallPoint
		var provider, model, outcome string
		var at, latency int64
		err := row.Scan(&p.Agent, &provider, &model, &at, &latency, &outcome, &p.Input, &p.Output, &p.Cached)
		p.Model, p.Started, p.Latency, p.Failed = provider+"/"+model, engine.FromMicros(at), time.Duration(latency)*time.Microsecond, spending.Outcome(outcome) != spending.OutcomeOK
		return p, err
	})
}

const spentOn = `SELECT currency, COUNT(*), CAST(COALESCE(SUM(spent), 0) AS BIGINT) FROM spending WHERE kind = 0 AND held <> 1 AND `

// RunCost is what the calls of a session's run have cost that have ended, one sum for each currency.
func (t Table) RunCost(ctx context.Context, session address.ID, run address.RunID) ([]spending.Sum, error) {
	return engine.All(ctx, t.Conn, engine.Brief+spentOn+`session_id = ? AND run_id = ? GROUP BY currency ORDER BY currency`, []any{engine.Indexed(session), string(run)}, func(row engine.Row) (spending.Sum, error) {
		var s spending.Sum
		var cost int64
		err := row.Scan(&s.Currency, &s.Calls, &cost)
		s.Cost = spending.Money(cost)
		return s, err
	})
}

// Removals are the statements of one step of retention: they add old calls to their days and remove their rows, and remove
// accounts of budgets whose period has ended. The first and the last take a time.
func Removals(limit int) (mark, add, remove, budgets string) {
	n := strconv.Itoa(limit)
	key := `day, agent, person, job, provider, key_name, model, level, currency`
	var added, set []string
	for _, column := range append(sums(), `unpriced`) {
		source := column
		switch column {
		case `calls`:
			source = `1`
		case `failed`:
			source = `CASE WHEN outcome = 'ok' THEN 0 ELSE 1 END`
		case `unpriced`:
			source = `1 - priced`
		}
		added, set = append(added, `SUM(`+source+`)`), append(set, column+` = spending_days.`+column+` + excluded.`+column)
	}
	day := ofCall[spending.ByDay]
	// A day has no sessions, so its calls get the levels that their sessions have by now: nobody sees them who could not see
	// them before.
	session := `CASE WHEN session_id = '' THEN 1 ELSE COALESCE((SELECT s.level FROM sessions s WHERE s.id = spending.session_id), 4) END`
	mark = `UPDATE spending SET held = -1 WHERE id IN (SELECT id FROM spending WHERE kind = 0 AND held = 0 AND at < ? ORDER BY at LIMIT ` + n + `) AND held = 0`
	add = `INSERT INTO spending_days (` + key + `, ` + strings.Join(append(sums(), `unpriced`), `, `) + `)
		SELECT ` + key + `, ` + strings.Join(added, `, `) + ` FROM (
			SELECT ` + day + ` AS day, agent, person, job, provider, key_name, model, CASE WHEN of_session > level THEN of_session ELSE level END AS level, currency,
				outcome, priced, assumed, spent, input, output, cached, written, thinking, pictures, audio
			FROM (SELECT spending.*, ` + session + ` AS of_session FROM spending WHERE kind = 0 AND held = -1) c
		) d GROUP BY ` + key + `
		ON CONFLICT (` + key + `) DO UPDATE SET ` + strings.Join(set, `, `)
	remove = `DELETE FROM spending WHERE kind = 0 AND held = -1`
	budgets = `DELETE FROM spending WHERE id IN (SELECT id FROM spending WHERE kind = 1 AND ends > 0 AND ends < ? AND held = 0 ORDER BY ends LIMIT ` + n + `)`
	return mark, add, remove, budgets
}
