// Package usage stores what model calls cost, and what budgets hold and have spent.
//
// A call and a budget in one of its periods are both accounts in one table, so that one statement posts to all accounts that
// a call touches. A reservation is then one statement before the call; the one that stores the call's row ends it.
package usage

import (
	"context"
	"errors"
	"math"
	"strconv"
	"strings"
	"time"

	"sluice/internal/spending"
	"sluice/policy/flow"
	"sluice/sessions"
	"sluice/store/engine"
)

// Table has the ledger of calls and the accounts of budgets.
type Table struct{ *engine.Conn }

const (
	columns = `id, kind, at, held, spent, most, extra, ends, budget, subject, run_id, session_id, agent, person, job, unattended, partition_no, epoch,
	provider, key_name, model, level, latency, outcome, input, output, cached, written, thinking, pictures, audio, currency, priced, assumed, reserved`
	// onKnown posts to an account that exists, if what it holds and has spent stays within its limit. A call holds 1 until its
	// reservation ends, which it does only once.
	onKnown = ` ON CONFLICT (id) DO UPDATE SET held = spending.held + excluded.held, spent = spending.spent + excluded.spent,
		latency = excluded.latency, outcome = excluded.outcome, input = excluded.input, output = excluded.output, cached = excluded.cached,
		written = excluded.written, thinking = excluded.thinking, pictures = excluded.pictures, audio = excluded.audio,
		currency = excluded.currency, priced = excluded.priced, assumed = excluded.assumed, reserved = excluded.reserved
		WHERE spending.held + excluded.held >= 0 AND spending.held + spending.spent + excluded.held + excluded.spent <= excluded.most + spending.extra`
	// unlimited leaves room for what is added to it.
	unlimited int64 = math.MaxInt64 / 4
)

// The kinds of accounts.
const kindCall, kindBudget = 0, 1

// budgetRow is the account of a budget: what only calls have is not sent. It is made of calls of all levels.
var budgetRow = `(?, ` + strconv.Itoa(kindBudget) + `, ?, ?, ?, ?, ?, ?, ?, ?, '', '', '', '', '', 0, 0, 0, '', '', '', ` + strconv.Itoa(flow.Restricted.Rank()) +
	`, 0, '', 0, 0, 0, 0, 0, 0, 0, '', 0, 0, '')`

// posts are the statements of postings by the number of their budgets.
var posts = func() (texts [spending.EntriesMax + 1]string) {
	row := `(?` + strings.Repeat(`, ?`, strings.Count(columns, ",")) + `)`
	for n := range texts {
		texts[n] = `INSERT INTO spending (` + columns + `) VALUES ` + row + strings.Repeat(`, `+budgetRow, n) + onKnown
	}
	return texts
}()

// Write builds the statements of postings.
func Write(e *engine.Encoding, postings []*spending.Posting) engine.Write {
	var w engine.Write
	for i := range postings {
		w = append(w, statement(e, postings[i]))
	}
	return w
}

func statement(e *engine.Encoding, p *spending.Posting) engine.Statement {
	args := append(make([]any, 0, 1+strings.Count(columns, ",")+9*len(p.Entries)), callArgs(e, p)...)
	for i := range p.Entries {
		args = append(args, entryArgs(&p.Entries[i], 0)...)
	}
	return engine.Statement{SQL: posts[len(p.Entries)], Args: args, Else: sessions.ErrConflict, Rows: int64(1 + len(p.Entries))}
}

// reservation is what a call that has not ended may cost.
type reservation struct {
	Cost    spending.Money   `json:"cost"`
	Entries []spending.Entry `json:"entries"`
}

func callArgs(e *engine.Encoding, p *spending.Posting) []any {
	c := &p.Call
	held, spent, ends, reserved := p.Open, int64(c.Cost), int64(0), ""
	if p.Open > 0 {
		spent, ends, reserved = 0, engine.Micros(p.Until), e.Text(reservation{c.Cost, p.Entries})
	}
	level, _ := engine.Label(flow.NewLabel(c.Level, flow.Trusted))
	return []any{
		c.ID, kindCall, engine.Micros(c.Started), held, spent, unlimited, 0, ends, "", "", string(c.Run), engine.Indexed(c.Session), engine.Indexed(c.Agent), engine.Indexed(c.Person), engine.Indexed(c.Job),
		engine.Flag(c.Unattended), c.Partition, c.Epoch, engine.Indexed(c.Provider), engine.Indexed(c.Key), engine.Indexed(c.Model), level, c.Latency.Microseconds(), string(c.Outcome),
		c.Amount.InputTokens, c.Amount.OutputTokens, c.Amount.CachedTokens, c.Amount.WrittenTokens, c.Amount.ThinkingTokens, c.Amount.Pictures, c.Amount.Audio.Milliseconds(),
		c.Currency, engine.Flag(c.Priced), engine.Flag(c.Assumed), reserved,
	}
}

func entryArgs(n *spending.Entry, extra int64) []any {
	return []any{engine.Indexed(n.ID), engine.Micros(n.Start), n.Held, n.Spent, min(n.Max, unlimited), extra, engine.Micros(n.End), engine.Indexed(n.Budget), engine.Indexed(n.Subject)}
}

// Post stores a posting. ErrConflict means that it does not fit into one of its accounts, or that its reservation has ended.
func (t Table) Post(ctx context.Context, p *spending.Posting) error {
	if len(p.Entries) > spending.EntriesMax {
		return errors.New("post: a call touches too many budgets")
	}
	var e engine.Encoding
	s := statement(&e, p)
	if e.Err != nil {
		return e.Err
	}
	return t.Change(ctx, engine.Write{s})
}

// statesRead is how many accounts one statement reads. It is fixed, so that the statement stays prepared.
const statesRead = spending.EntriesMax

var states = `SELECT id, held, spent, extra FROM spending WHERE id IN (?` + strings.Repeat(`, ?`, statesRead-1) + `)`

// States reads accounts of budgets by their ids. Those that nothing was posted to are left out.
func (t Table) States(ctx context.Context, accounts []spending.Account) (map[string]spending.State, error) {
	found := map[string]spending.State{}
	for len(accounts) > 0 {
		n := min(len(accounts), statesRead)
		args := make([]any, statesRead)
		for i := range args {
			args[i] = engine.Indexed(accounts[min(i, n-1)].ID)
		}
		err := t.Query(ctx, states, args, func(row engine.Row) error {
			var id string
			var s spending.State
			err := row.Scan(&id, &s.Held, &s.Spent, &s.Extra)
			found[id] = s
			return err
		})
		if err != nil {
			return nil, err
		}
		accounts = accounts[n:]
	}
	return found, nil
}

const standings = `SELECT id, budget, subject, at, ends, held, spent, extra FROM spending WHERE kind = 1 AND budget = ? AND at = ? AND held + spent >= ? ORDER BY held + spent DESC, subject`

// Standings reads the accounts of a budget in a period that hold and have spent at least an amount, the fullest first.
func (t Table) Standings(ctx context.Context, budget string, start time.Time, least int64, limit int) ([]spending.Standing, error) {
	return engine.All(ctx, t.Conn, standings+engine.Limit(limit), []any{engine.Indexed(budget), engine.Micros(start), least}, func(row engine.Row) (spending.Standing, error) {
		var s spending.Standing
		var start, end int64
		err := row.Scan(&s.ID, &s.Budget, &s.Subject, &start, &end, &s.Held, &s.Spent, &s.Extra)
		s.Start, s.End = engine.FromMicros(start), engine.FromMicros(end)
		return s, err
	})
}

const nearly = `SELECT 1 FROM spending WHERE kind = 1 AND budget = ? AND at = ? AND spent - extra >= ? LIMIT 1`

// Nearly reports whether a budget has an account in a period that has spent at least an amount and what an owner has added to
// its limit. What calls in progress hold does not count: they may give it back.
func (t Table) Nearly(ctx context.Context, budget string, start time.Time, least int64) (bool, error) {
	found, err := engine.All(ctx, t.Conn, nearly, []any{engine.Indexed(budget), engine.Micros(start), least}, func(row engine.Row) (n int, err error) {
		return n, row.Scan(&n)
	})
	return len(found) > 0, err
}

// Raise adds to the limit of an account.
func Raise(a *spending.Account, extra int64) engine.Statement {
	return engine.Statement{SQL: raise, Args: entryArgs(&spending.Entry{Account: *a, Max: unlimited}, extra)}
}

var raise = `INSERT INTO spending (` + columns + `) VALUES ` + budgetRow + ` ON CONFLICT (id) DO UPDATE SET extra = spending.extra + excluded.extra`

// Renew keeps reservations from counting as lost until a time. It shortens none.
func (t Table) Renew(ctx context.Context, calls []string, until time.Time) error {
	var w engine.Write
	for _, id := range calls {
		w = append(w, engine.Statement{SQL: `UPDATE spending SET ends = ? WHERE id = ? AND kind = 0 AND held = 1 AND ends < ?`, Args: []any{engine.Micros(until), id, engine.Micros(until)}})
	}
	return t.Change(ctx, w)
}

// lost are the calls with a reservation whose partition has another owner by now, and those that were to end before a time.
const lost = `SELECT id, at, run_id, session_id, agent, person, job, unattended, partition_no, epoch, provider, key_name, model, level, currency, priced, reserved
	FROM spending c WHERE kind = 0 AND held <> 0 AND held = 1 AND (ends < ? OR epoch > 0 AND NOT EXISTS (SELECT 1 FROM partitions p WHERE p.id = c.partition_no AND p.epoch = c.epoch)) ORDER BY at`

// Lost reads reservations whose calls can no longer end, the oldest first.
func (t Table) Lost(ctx context.Context, now time.Time, limit int) ([]*spending.Posting, error) {
	return engine.All(ctx, t.Conn, lost+engine.Limit(limit), []any{engine.Micros(now)}, func(row engine.Row) (*spending.Posting, error) {
		p := &spending.Posting{Open: 1}
		c := &p.Call
		var at int64
		var unattended, level, priced int
		var run, session, reserved string
		err := row.Scan(&c.ID, &at, &run, &session, &c.Agent, &c.Person, &c.Job, &unattended, &c.Partition, &c.Epoch, &c.Provider, &c.Key, &c.Model, &level, &c.Currency, &priced, &reserved)
		if err != nil {
			return p, err
		}
		var d engine.Decoding
		var r reservation
		d.Into(reserved, &r)
		c.Cost, p.Entries = r.Cost, r.Entries
		c.Started, c.Run, c.Session, c.Unattended, c.Priced = engine.FromMicros(at), sessions.RunID(run), sessions.ID(session), unattended == 1, priced == 1
		c.Level = engine.LabelFrom(level, 1).Level()
		return p, d.Err
	})
}
