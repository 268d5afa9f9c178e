package conversation

import (
	"cmp"
	"context"
	"slices"
	"time"

	"sluice/announce"
	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/denials"
	"sluice/internal/httpapi/view"
	"sluice/internal/httpapi/wire"
	"sluice/router/exchange"
	"sluice/router/ledger"
	"sluice/sessions"
)

// ExchangeRows reads exchanges.
type ExchangeRows interface {
	Exchange(ctx context.Context, id string) (ledger.Exchange, error)
	ListExchanges(ctx context.Context, q ledger.ExchangeQuery) ([]ledger.Exchange, error)
}

// Tasks starts sub-agents.
type Tasks interface {
	StartTask(ctx context.Context, n exchange.NewTask) (ledger.Exchange, error)
}

// ExchangeAPI serves exchanges between sessions, and tasks for sub-agents.
type ExchangeAPI struct {
	Visible *view.Visibility
	Rows    ExchangeRows
	Tasks   Tasks
	Models  Models
	Route   sessions.Route // where a task is reported
}

// exchangeRecord is an exchange between two sessions as programs see it.
type exchangeRecord struct {
	ID        string             `json:"id"`
	Kind      announce.Kind      `json:"kind" enum:"send,spawn"`
	Requester announce.Party     `json:"requester"`
	Target    announce.Party     `json:"target"`
	Request   string             `json:"request"`
	Reply     string             `json:"reply,omitempty" doc:"the target's first reply"`
	Latest    string             `json:"latest,omitempty" doc:"the last message of either side"`
	Phase     announce.Phase     `json:"phase" enum:"asking,replying,announcing,ended"`
	Turn      int                `json:"turn" doc:"the current or last follow-up turn"`
	MaxTurns  int                `json:"max_turns"`
	Outcome   announce.Outcome   `json:"outcome,omitempty" enum:"announced,silent,no_reply,failed,stopped" doc:"once it has ended"`
	Detail    string             `json:"detail,omitempty" doc:"why it ended like this"`
	Status    sessions.RunStatus `json:"status,omitempty" doc:"how the target's first run ended"`
	Name      string             `json:"name,omitempty" doc:"of a task"`
	Run       sessions.RunID     `json:"run" doc:"the step it waits for, or the last one"`
	FirstRun  sessions.RunID     `json:"first_run" doc:"the target's run on the request"`
	Chain     string             `json:"chain" doc:"shared by everything that one request has caused"`
	Hops      []sessions.ID      `json:"hops" doc:"the sessions that the request has passed through"`
	Label     string             `json:"label"`
	Usage     sessions.Usage     `json:"usage" doc:"of the target's first run"`
	Runtime   int64              `json:"runtime_ms" doc:"of the target's first run"`
	Route     *sessions.Route    `json:"route,omitempty" doc:"where a task reports its result"`
	Started   time.Time          `json:"started"`
	Ended     *time.Time         `json:"ended,omitempty"`
}

func exchangeOf(x ledger.Exchange) exchangeRecord {
	return exchangeRecord{
		ID: x.ID, Kind: x.Kind, Requester: x.Requester, Target: x.Target, Request: x.Request, Reply: x.Reply, Latest: x.Latest,
		Phase: x.Phase, Turn: x.Turn, MaxTurns: x.MaxTurns, Outcome: x.Outcome, Detail: x.Detail, Status: x.Status, Name: x.Name,
		Run: x.Run, FirstRun: x.First, Chain: x.Chain.ID, Hops: view.NotNil(x.Chain.Hops), Label: x.Label.String(),
		Usage: x.Usage, Runtime: x.Runtime.Milliseconds(), Started: x.Started, Ended: view.Optional(x.Ended), Route: view.OptionalRoute(x.Route),
	}
}

type exchangeList struct {
	Exchanges []exchangeRecord `json:"exchanges"`
}

// List lists exchanges, of all sessions or with one of them on either side.
func (a *ExchangeAPI) List(ctx context.Context, in *struct {
	Session string `query:"session" maxLength:"512" doc:"a session's id or key: only exchanges in which it is the requester or the target"`
	Kind    string `query:"kind" enum:"send,spawn" doc:"send: requests to sessions; spawn: tasks of sub-agents"`
	Open    bool   `query:"open" doc:"only exchanges that have not ended"`
	view.PageQuery
},
) (*view.Page[exchangeList], error) {
	sides := []ledger.ExchangeQuery{{}}
	if in.Session != "" {
		id, err := a.Visible.SessionID(ctx, in.Session)
		if err != nil {
			return nil, err
		}
		sides = []ledger.ExchangeQuery{{Requester: id}, {Target: id}}
	}
	var found, ends []ledger.Exchange
	for _, q := range sides {
		q.MaxLevel, q.Kind, q.Open, q.Limit, q.After, q.Bound = auth.CallerOf(ctx).Level, announce.Kind(in.Kind), in.Open, in.Limit, in.After, view.NewBound()
		side, err := a.Rows.ListExchanges(ctx, q)
		if err != nil {
			return nil, err
		}
		found = append(found, side...)
		if q.Bound.More && len(side) > 0 { // rows of the other side after this one would be on two pages
			ends = append(ends, side[len(side)-1])
		}
	}
	slices.SortFunc(found, newestFirst)
	found = slices.CompactFunc(found, func(a, b ledger.Exchange) bool { return a.ID == b.ID }) // a session that asked itself is on both sides
	bound := ledger.Bound{More: len(ends) > 0 || len(found) > in.Limit}
	found = slices.DeleteFunc(found[:min(len(found), in.Limit)], func(x ledger.Exchange) bool {
		return slices.ContainsFunc(ends, func(end ledger.Exchange) bool { return newestFirst(x, end) > 0 })
	})
	out := exchangeList{Exchanges: []exchangeRecord{}}
	for _, x := range found {
		record, err := a.record(ctx, x)
		if err != nil {
			return nil, err
		}
		out.Exchanges = append(out.Exchanges, record)
	}
	return view.NewPage(view.NextLink(ctx, &bound, view.LastID(found, func(x ledger.Exchange) string { return x.ID })), out), nil
}

// newestFirst is the order of exchanges in lists.
func newestFirst(a, b ledger.Exchange) int {
	return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(b.ID, a.ID))
}

// Get answers with an exchange.
func (a *ExchangeAPI) Get(ctx context.Context, in *struct {
	Exchange string `path:"exchange"`
},
) (*wire.Body[exchangeRecord], error) {
	x, err := a.Rows.Exchange(ctx, in.Exchange)
	return a.show(ctx, x, err)
}

// show answers with an exchange that was read or created, if the caller may know of it.
func (a *ExchangeAPI) show(ctx context.Context, x ledger.Exchange, err error) (*wire.Body[exchangeRecord], error) {
	if err := a.Visible.Check(ctx, err, denials.Object{Kind: "exchange", ID: x.ID, Label: x.Label}, x.Requester.Session, x.Target.Session); err != nil {
		return nil, err
	}
	record, err := a.record(ctx, x)
	if err != nil {
		return nil, err
	}
	return wire.NewBody(record), nil
}

// record is an exchange as the caller may see it, with only those hops that they may know of.
func (a *ExchangeAPI) record(ctx context.Context, x ledger.Exchange) (exchangeRecord, error) {
	hops, err := a.Visible.SessionsSeen(ctx, x.Chain.Hops)
	x.Chain.Hops = hops
	return exchangeOf(x), err
}

type taskInput struct {
	SessionPath
	Key  string `header:"Idempotency-Key" maxLength:"200" doc:"the same key again is the same task, done once"`
	Body struct {
		Task    string `json:"task" minLength:"1" maxLength:"65536" doc:"what to do, with everything the sub-agent needs to know"`
		Name    string `json:"name,omitempty" maxLength:"512" doc:"for people"`
		Agent   string `json:"agent,omitempty" doc:"default: the session's agent"`
		Model   string `json:"model,omitempty" doc:"<provider>/<model>; default: the agent's model"`
		Timeout int    `json:"timeout,omitempty" minimum:"0" maximum:"86400" doc:"time limit in seconds; 0: as configured"`
		Label   string `json:"label,omitempty" doc:"level of the task, or LEVEL/trust; default PUBLIC"`
		Cleanup string `json:"cleanup,omitempty" enum:"keep,delete" doc:"keep or delete the sub-agent's session after its report; default keep"`
	}
}

// StartTask gives a task to a sub-agent of a session.
func (a *ExchangeAPI) StartTask(ctx context.Context, in *taskInput) (*wire.Body[exchangeRecord], error) {
	r, err := a.Visible.Session(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if m := in.Body.Model; m != "" {
		if err := a.Models.Check(m, r.Taint.Level()); err != nil {
			return nil, wire.BadRequest(err.Error())
		}
	}
	who := auth.CallerOf(ctx)
	label, err := who.InputLabelFor(r, in.Body.Label)
	if err != nil {
		return nil, err
	}
	x, err := a.Tasks.StartTask(ctx, exchange.NewTask{
		Session: r, Text: in.Body.Task, Agent: in.Body.Agent, Model: in.Body.Model, Route: a.Route, Label: label, Key: who.Key(in.Key), Actor: who.Actor(),
		Task: exchange.Task{Name: in.Body.Name, Timeout: time.Duration(in.Body.Timeout) * time.Second, Discard: in.Body.Cleanup == "delete"},
	})
	return a.show(ctx, x, err)
}
