package httpapi

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"sluice/announce"
	"sluice/router"
	"sluice/router/ledger"
	"sluice/sessions"
)

// exchangeRecord is an exchange between two sessions as programs see it.
type exchangeRecord struct {
	ID        string             `json:"id"`
	Kind      announce.Kind      `json:"kind" enum:"send,spawn"`
	Requester announce.Party     `json:"requester"`
	Target    announce.Party     `json:"target"`
	Request   string             `json:"request"`
	Reply     string             `json:"reply,omitempty" doc:"the target's first answer"`
	Latest    string             `json:"latest,omitempty" doc:"what was said last by either side"`
	Phase     announce.Phase     `json:"phase" enum:"asking,replying,announcing,ended"`
	Turn      int                `json:"turn" doc:"of the present or last answer to an answer"`
	MaxTurns  int                `json:"max_turns"`
	Outcome   announce.Outcome   `json:"outcome,omitempty" enum:"announced,silent,no_reply,failed,stopped" doc:"once it has ended"`
	Detail    string             `json:"detail,omitempty" doc:"why it ended so"`
	Status    sessions.RunStatus `json:"status,omitempty" doc:"how the target's first run ended"`
	Name      string             `json:"name,omitempty" doc:"of a task"`
	Run       sessions.RunID     `json:"run" doc:"the step that it waits for, or the last one"`
	FirstRun  sessions.RunID     `json:"first_run" doc:"the target's run on the request"`
	Chain     string             `json:"chain" doc:"shared by all that one request has led to"`
	Hops      []sessions.ID      `json:"hops" doc:"the sessions that the request has come through"`
	Label     string             `json:"label"`
	Usage     sessions.Usage     `json:"usage" doc:"of the target's first run"`
	Runtime   int64              `json:"runtime_ms" doc:"of the target's first run"`
	Route     *sessions.Route    `json:"route,omitempty" doc:"where a task is reported"`
	Started   time.Time          `json:"started"`
	Ended     *time.Time         `json:"ended,omitempty"`
}

func exchangeOf(x ledger.Exchange) exchangeRecord {
	out := exchangeRecord{
		ID: x.ID, Kind: x.Kind, Requester: x.Requester, Target: x.Target, Request: x.Request, Reply: x.Reply, Latest: x.Latest,
		Phase: x.Phase, Turn: x.Turn, MaxTurns: x.MaxTurns, Outcome: x.Outcome, Detail: x.Detail, Status: x.Status, Name: x.Name,
		Run: x.Run, FirstRun: x.First, Chain: x.Chain.ID, Hops: append([]sessions.ID{}, x.Chain.Hops...), Label: x.Label.String(),
		Usage: x.Usage, Runtime: x.Runtime.Milliseconds(), Started: x.Started, Ended: optional(x.Ended),
	}
	if !x.Route.IsZero() {
		route := publicRoute(x.Route)
		out.Route = &route
	}
	return out
}

type exchangeList struct {
	Exchanges []exchangeRecord `json:"exchanges"`
}

func (s *Server) exchangeRoutes(api huma.API) {
	huma.Register(api, op(http.MethodGet, "/v1/exchanges", "list-exchanges", "List what sessions have asked of each other, newest first"), s.listExchanges)
	huma.Register(api, op(http.MethodGet, "/v1/exchanges/{exchange}", "get-exchange", "Show an exchange"), s.getExchange)
	huma.Register(api, op(http.MethodPost, "/v1/sessions/{id}/tasks", "start-task", "Give a task to a sub-agent of a session", http.StatusAccepted), s.startTask)
}

func (s *Server) listExchanges(ctx context.Context, in *struct {
	Session string `query:"session" maxLength:"512" doc:"a session's id or key: only those in which it asked or was asked"`
	Kind    string `query:"kind" enum:"send,spawn" doc:"send: requests to sessions; spawn: tasks of sub-agents"`
	Open    bool   `query:"open" doc:"only those that have not ended"`
	PageQuery
},
) (*page[exchangeList], error) {
	sides := []ledger.ExchangeQuery{{}}
	if in.Session != "" {
		id, err := s.anySession(ctx, in.Session)
		if err != nil {
			return nil, err
		}
		sides = []ledger.ExchangeQuery{{Requester: id}, {Target: id}}
	}
	var found, ends []ledger.Exchange
	for _, q := range sides {
		q.MaxLevel, q.Kind, q.Open, q.Limit, q.After, q.Bound = callerOf(ctx).Level, announce.Kind(in.Kind), in.Open, in.Limit, in.After, newBound()
		side, err := s.cfg.Store.ListExchanges(ctx, q)
		if err != nil {
			return nil, s.problem(err)
		}
		found = append(found, side...)
		if q.Bound.More && len(side) > 0 { // the other side's rows behind it would stand on two pages
			ends = append(ends, side[len(side)-1])
		}
	}
	slices.SortFunc(found, newestFirst)
	found = slices.CompactFunc(found, func(a, b ledger.Exchange) bool { return a.ID == b.ID }) // with itself
	bound := ledger.Bound{More: len(ends) > 0 || len(found) > in.Limit}
	found = slices.DeleteFunc(found[:min(len(found), in.Limit)], func(x ledger.Exchange) bool {
		return slices.ContainsFunc(ends, func(end ledger.Exchange) bool { return newestFirst(x, end) > 0 })
	})
	out := exchangeList{Exchanges: []exchangeRecord{}}
	for _, x := range found {
		record, err := s.exchange(ctx, x)
		if err != nil {
			return nil, err
		}
		out.Exchanges = append(out.Exchanges, record)
	}
	return &page[exchangeList]{next(ctx, &bound, lastOf(found, func(x ledger.Exchange) string { return x.ID })), out}, nil
}

// newestFirst orders exchanges as lists have them.
func newestFirst(a, b ledger.Exchange) int {
	return cmp.Or(b.Started.Compare(a.Started), cmp.Compare(b.ID, a.ID))
}

// anySession is the id of a session that a query names. An id may be that of a session that has ended: its exchanges are still there.
func (s *Server) anySession(ctx context.Context, name string) (sessions.ID, error) {
	if id, err := sessions.ParseID(name); err == nil {
		return id, nil
	}
	r, err := s.session(ctx, name)
	return r.ID, err
}

func (s *Server) getExchange(ctx context.Context, in *struct {
	Exchange string `path:"exchange"`
},
) (*body[exchangeRecord], error) {
	x, err := s.cfg.Store.Exchange(ctx, in.Exchange)
	return s.shownExchange(ctx, x, err)
}

// shownExchange is what became of a look at an exchange, if the caller may know of it.
func (s *Server) shownExchange(ctx context.Context, x ledger.Exchange, err error) (*body[exchangeRecord], error) {
	if err := s.visible(ctx, err, object{kind: "exchange", id: x.ID, label: x.Label}, x.Requester.Session, x.Target.Session); err != nil {
		return nil, err
	}
	record, err := s.exchange(ctx, x)
	if err != nil {
		return nil, err
	}
	return &body[exchangeRecord]{record}, nil
}

// exchange is an exchange as its caller sees it: of the sessions that it has come through, those that they may know of.
func (s *Server) exchange(ctx context.Context, x ledger.Exchange) (exchangeRecord, error) {
	hops, err := s.seenOf(ctx, x.Chain.Hops)
	x.Chain.Hops = hops
	return exchangeOf(x), err
}

type taskInput struct {
	SessionPath
	Key  string `header:"Idempotency-Key" maxLength:"200" doc:"a repeated key is the same task, done once"`
	Body struct {
		Task    string `json:"task" minLength:"1" maxLength:"65536" doc:"what is to be done, with all that one needs to know for it"`
		Name    string `json:"name,omitempty" maxLength:"512" doc:"for people"`
		Agent   string `json:"agent,omitempty" doc:"default: the session's"`
		Model   string `json:"model,omitempty" doc:"<provider>/<model>; default: the agent's"`
		Timeout int    `json:"timeout,omitempty" minimum:"0" maximum:"86400" doc:"seconds that the work may take; 0: as configured"`
		Label   string `json:"label,omitempty" doc:"level of the task, or LEVEL/trust; default PUBLIC"`
		Cleanup string `json:"cleanup,omitempty" enum:"keep,delete" doc:"what becomes of the sub-agent's session after its report; default keep"`
	}
}

func (s *Server) startTask(ctx context.Context, in *taskInput) (*body[exchangeRecord], error) {
	r, err := s.session(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if m := in.Body.Model; m != "" {
		if err := s.cfg.CheckModel(m, r.Taint.Level()); err != nil {
			return nil, badRequest(err.Error())
		}
	}
	label, err := saidTo(ctx, r, in.Body.Label)
	if err != nil {
		return nil, err
	}
	x, err := s.cfg.Router.StartTask(ctx, router.NewTask{
		Session: r, Text: in.Body.Task, Agent: in.Body.Agent, Model: in.Body.Model, Route: s.cfg.PageRoute, Label: label, Key: named(ctx, in.Key), Actor: callerOf(ctx).actor(),
		Task: router.Task{Name: in.Body.Name, Timeout: time.Duration(in.Body.Timeout) * time.Second, Discard: in.Body.Cleanup == "delete"},
	})
	return s.shownExchange(ctx, x, err)
}
