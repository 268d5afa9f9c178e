// Package backtest tests a proposed policy on stored data: the messages that were sent or stopped, and the tool calls of
// agents. It changes nothing.
package backtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/sessions"
)

const (
	// rowsMax is the maximum number of deliveries, and of transcript entries, that a backtest checks.
	rowsMax = 1000
	// foundMax is the maximum number of listed differences.
	foundMax = 100
	// timeMax is the maximum duration of a backtest.
	timeMax = 5 * time.Second
)

// Store reads what a backtest needs.
type Store interface {
	ListDeliveries(ctx context.Context, q ledger.Query) ([]ledger.Delivery, error)
	// ToolCalls reads the tool calls in the newest messages, of which at most rows are looked through.
	ToolCalls(ctx context.Context, most flow.Level, rows int) (calls []ledger.ToolCall, more bool, err error)
	Session(ctx context.Context, id sessions.ID) (sessions.Record, error)
	Run(ctx context.Context, id sessions.RunID) (sessions.Run, error)
}

// Past is what is stored. All fields are required.
type Past struct {
	Store    Store
	Composer *outbound.Composer
	Now      func() time.Time
}

// Bound says why a backtest checked no older rows.
type Bound string

// The bounds.
const (
	ByRows Bound = "rows" // only the newest rows were checked
	ByTime Bound = "time" // the time was over: of the rows that were read, the oldest were checked
	ByNone Bound = "none" // there are no older rows
)

// Changed is a row that the proposal would have decided differently.
type Changed struct {
	Delivery ledger.DeliveryID // empty: a tool call
	Run      sessions.RunID
	Session  sessions.ID
	At       time.Time
	Route    sessions.Route // of a delivery
	Tool     string         // of a tool call
	Text     string         // of the delivery, or the call's arguments
	Label    flow.Label
	Was      policy.Action // allow if nothing was decided
	Would    policy.Action
	Decision policy.Decision // of the proposal
}

// Report is the result of a backtest.
type Report struct {
	Deliveries int // checked
	Calls      int
	Since      time.Time // the oldest checked row; zero: none
	Bound      Bound
	Count      map[policy.Action]int // the differences, by the action of the proposal
	Changed    []Changed             // the newest first, at most 100
	More       bool                  // there are more than the listed ones
}

// row is one decision of the past.
type row struct {
	at       time.Time
	delivery *ledger.Delivery
	call     *ledger.ToolCall
}

// Try tests a proposal on the rows since a time that a reader may see. It reads the newest rows first, but decides in the
// order of time, because rates count.
func (p *Past) Try(ctx context.Context, most flow.Level, since time.Time, proposal policy.Proposal) (Report, error) {
	t := trial{Past: p, proposal: proposal, most: most, ends: p.Now().Add(timeMax), sessions: map[sessions.ID]sessions.Record{}}
	t.Bound, t.Count = ByNone, map[policy.Action]int{}
	rows, err := t.rows(ctx, since)
	if err != nil {
		return t.Report, err
	}
	slices.SortStableFunc(rows, func(a, b row) int { return b.at.Compare(a.at) })
	var tries []func()
	for _, r := range rows {
		if !p.Now().Before(t.ends) {
			t.Bound = ByTime
			break
		}
		one, err := t.prepare(ctx, r)
		if err != nil {
			return t.Report, err
		}
		tries, t.Since = append(tries, one), r.at
	}
	for _, one := range slices.Backward(tries) {
		if ctx.Err() != nil {
			return t.Report, ctx.Err()
		}
		if !p.Now().Before(t.ends) { // the newest stay untried
			t.Bound = ByTime
			break
		}
		one()
	}
	slices.Reverse(t.Changed)
	if t.More = len(t.Changed) > foundMax; t.More {
		t.Changed = t.Changed[:foundMax]
	}
	return t.Report, nil
}

// Channels are those that messages can be sent through, by name.
func (p *Past) Channels() []string {
	return slices.Sorted(maps.Keys(p.Composer.Settings().Channels))
}

// trial is one run of Try.
type trial struct {
	*Past
	Report
	proposal policy.Proposal
	most     flow.Level
	ends     time.Time
	sessions map[sessions.ID]sessions.Record
}

// rows reads the newest deliveries and tool calls.
func (t *trial) rows(ctx context.Context, since time.Time) (rows []row, err error) {
	q := ledger.Query{MaxLevel: t.most, Since: since, Limit: ledger.MaxPage}
	for len(rows) < rowsMax {
		found, err := t.Store.ListDeliveries(ctx, q)
		if err != nil {
			return nil, fmt.Errorf("read deliveries: %w", err)
		}
		for i := range found {
			rows = append(rows, row{found[i].Created, &found[i], nil})
		}
		if len(found) < q.Limit {
			break
		}
		if q.After = string(found[len(found)-1].ID); len(rows) >= rowsMax {
			t.Bound = ByRows
		}
	}
	calls, more, err := t.Store.ToolCalls(ctx, t.most, rowsMax)
	if err != nil {
		return nil, fmt.Errorf("read tool calls: %w", err)
	}
	for i := range calls {
		if calls[i].Made.Before(since) {
			more = false
			break
		}
		rows = append(rows, row{calls[i].Made, nil, &calls[i]})
	}
	if more {
		t.Bound = ByRows
	}
	return rows, nil
}

// prepare reads what a decision needs, and returns a function that decides without further reads.
func (t *trial) prepare(ctx context.Context, r row) (func(), error) {
	if r.call != nil {
		return t.tryCall(ctx, *r.call)
	}
	return t.tryDelivery(ctx, *r.delivery)
}

// tryDelivery compares a delivery with what the gate decided about it.
func (t *trial) tryDelivery(ctx context.Context, d ledger.Delivery) (func(), error) {
	record, err := t.session(ctx, d.Session)
	if err != nil {
		return nil, err
	}
	e, err := t.Composer.Egress(ctx, d, record)
	if err != nil {
		return nil, err
	}
	e.Now = d.Created
	return func() {
		t.Deliveries++
		would := t.proposal.Output(e, t.Composer.Gate.Carries(e))
		was, freed := policy.Allow, false
		if d.Decision != nil {
			was, freed = d.Decision.Action, t.proposal.Send != nil && would.Action == policy.Allow && d.Decision.SendDenied()
		}
		if freed || policy.Stricter(would.Action, was) {
			t.note(Changed{Delivery: d.ID, Run: d.Run, Session: d.Session, At: d.Created, Route: d.Route, Text: d.Text, Label: d.Label, Was: was, Would: would.Action, Decision: would})
		}
	}, nil
}

// tryCall decides about a tool call. Only the audit trail has the past decision, so the call counts as allowed then.
func (t *trial) tryCall(ctx context.Context, c ledger.ToolCall) (func(), error) {
	record, err := t.session(ctx, c.Session)
	if err != nil {
		return nil, err
	}
	in := policy.Input{ID: string(c.Session) + "/" + string(c.Run) + "/" + c.ID, Now: c.Made, Session: policy.SessionOf(record), Tool: policy.ToolInput{Name: c.Tool, Args: policy.ArgsOf(c.Args)}}
	run, err := t.Store.Run(ctx, c.Run)
	if err != nil && !errors.Is(err, sessions.ErrNotFound) {
		return nil, fmt.Errorf("read run: %w", err)
	}
	in.Session.SpokenTo(run.Route, run.Speaker(), run.Input.Owner)
	in.Session.Level, in.Session.Trust = c.Label.Level().Rank(), c.Label.Trust().String()
	return func() {
		t.Calls++
		if would := t.proposal.Call(in); policy.Stricter(would.Action, policy.Allow) {
			t.note(Changed{Run: c.Run, Session: c.Session, At: c.Made, Tool: c.Tool, Text: string(c.Args), Label: c.Label, Was: policy.Allow, Would: would.Action, Decision: would})
		}
	}, nil
}

func (t *trial) note(c Changed) {
	t.Count[c.Would]++
	t.Changed = append(t.Changed, c)
}

// session reads a session once; a deleted session counts as none.
func (t *trial) session(ctx context.Context, id sessions.ID) (sessions.Record, error) {
	if id == "" {
		return sessions.Record{}, nil
	}
	if known, ok := t.sessions[id]; ok {
		return known, nil
	}
	record, err := t.Store.Session(ctx, id)
	if err != nil && !errors.Is(err, sessions.ErrNotFound) {
		return record, fmt.Errorf("read session: %w", err)
	}
	t.sessions[id] = record
	return record, nil
}
