package exchange

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"sluice/announce"
	"sluice/internal/telemetry"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/limits"
	"sluice/router/place"
	"sluice/router/queue"
	"sluice/router/request"
	"sluice/router/usertext"
	"sluice/sessions"
)

// queryLimit is how many rows a query gives at most.
const queryLimit = 200

// Ask is one session's request to another.
type Ask struct {
	Kind   announce.Kind
	Caller sessions.Caller // session, key, agent, chain and route of the requester
	Target sessions.Record
	// Create: the target does not exist yet and is created with the request.
	Create bool
	Text   string
	Label  flow.Label // of the text
	// Blind: nothing that the target says or does gets back to the caller.
	Blind bool
	// Key names the request forever: a repeated request returns the first exchange. Empty: it is always a new one.
	Key  string
	Task Task // of kind spawn
	// Actor is who asked, for the audit trail; empty: the caller's agent.
	Actor string
}

// Task has the additional fields of a request to a sub-agent.
type Task struct {
	Name    string        // for people; may be empty
	Timeout time.Duration // of the work, from its start; 0: as configured
	Discard bool          // whether the sub-agent's session ends with its report
}

// NewID makes an exchange's id: "xch_" and 32 hex digits that sort by time.
func NewID() string {
	u := uuid.Must(uuid.NewV7())
	return "xch_" + hex.EncodeToString(u[:])
}

// ownDigits tell the chains that one run begins from each other.
func ownDigits() string {
	u := uuid.New()
	return hex.EncodeToString(u[:6])
}

// Start stores a request and the target's run in one transaction. The end of that run starts the next step. It
// returns a *[request.Error] if the caller can correct the request, with [ErrQueueFull] if the target's queue is
// full, or the store's error.
func (e *Exchanges) Start(ctx context.Context, a Ask) (ledger.Exchange, error) {
	if e.stopping() {
		return ledger.Exchange{}, request.ErrStopping
	}
	if x, err := e.startedBefore(ctx, a); err != nil || x.ID != "" {
		return x, err
	}
	s := e.settings()
	if err := e.mayStart(ctx, s, a); err != nil {
		return ledger.Exchange{}, err
	}
	chain, err := e.nextHop(ctx, s, a)
	if err != nil {
		return ledger.Exchange{}, err
	}
	// The queue comes last: the sender may not know that it is full, so nothing that the sender notices may depend on it.
	if err := e.within(ctx, s, a); err != nil {
		return ledger.Exchange{}, err
	}
	if err := e.hasRoom(ctx, a); err != nil {
		return ledger.Exchange{}, err
	}
	if a.Create {
		a.Target.Partition = e.places.PartitionOf(a.Target.ID)
	}
	now := e.now()
	x := ledger.Exchange{Key: a.Key, Chain: chain, Label: a.Label, Revision: 1}
	var first announce.Step
	x.Exchange, first = announce.Start(announce.Exchange{
		ID: NewID(), Kind: a.Kind, Request: a.Text, MaxTurns: s.Exchanges.MaxTurns, Started: now,
		Requester: announce.Party{Session: a.Caller.Session, Key: a.Caller.Key, Agent: a.Caller.Agent},
		Target:    announce.Party{Session: a.Target.ID, Key: a.Target.Key, Agent: a.Target.Agent},
		Name:      a.Task.Name, Discard: a.Task.Discard, Blind: a.Blind, Audience: a.Caller.Audience,
	})
	if a.Kind == announce.Spawn {
		x.Route = a.Caller.Route.Place()
	}
	run := e.stepRun(x, first, a.Target, a.Label)
	if a.Key != "" {
		run.EventKey = a.Key
	}
	run.Timeout, x.First, x.Run = a.Task.Timeout, run.ID, run.ID
	change := ledger.Change{
		Change: sessions.Change{
			Enqueue: []sessions.Run{run},
			Audit: []sessions.AuditEntry{{
				At: now, Actor: cmp.Or(a.Actor, "agent:"+a.Caller.Agent), Action: "exchange." + string(a.Kind), Object: x.ID, Session: a.Caller.Session, Label: a.Label,
				Detail: map[string]string{"target": string(a.Target.Key), "chain": chain.ID},
			}},
		},
		Event:  &ledger.Event{Key: run.EventKey, Outcome: ledger.OutcomeRun, Session: run.Session, Run: run.ID, Accepted: now},
		Chains: []ledger.ChainUse{{ID: chain.ID, Steps: 1, Started: now}}, Exchanges: []ledger.Exchange{x},
	}
	if a.Create {
		change.Create = []sessions.Record{a.Target}
	}
	err = e.commit(ctx, change)
	if errors.Is(err, sessions.ErrDuplicate) {
		x, err := e.startedBefore(ctx, a)
		if err == nil && x.ID == "" {
			err = &request.Error{Text: "this request was made before, and its result is no longer stored (retention.runs): make a new request"}
		}
		return x, err
	}
	if err != nil {
		return ledger.Exchange{}, fmt.Errorf("store exchange: %w", err)
	}
	e.traced(ctx, &x, now)
	return x, nil
}

// startedBefore is the exchange that an earlier copy of the request has started, or the zero value.
func (e *Exchanges) startedBefore(ctx context.Context, a Ask) (ledger.Exchange, error) {
	if a.Key == "" {
		return ledger.Exchange{}, nil
	}
	x, err := e.store.ExchangeByKey(ctx, a.Key)
	if errors.Is(err, sessions.ErrNotFound) {
		return ledger.Exchange{}, nil
	}
	if err != nil {
		return ledger.Exchange{}, fmt.Errorf("read exchange of the request: %w", err)
	}
	same := x.Request == a.Text && x.Requester.Key == a.Caller.Key && x.Target.Agent == a.Target.Agent
	if x.Request != "" && !same { // retention has not removed what it was
		return ledger.Exchange{}, request.ErrReused
	}
	return x, nil
}

// mayStart refuses a task if its session has too many.
func (e *Exchanges) mayStart(ctx context.Context, s *place.Settings, a Ask) error {
	if a.Kind != announce.Spawn {
		return nil
	}
	open, err := e.store.ListExchanges(ctx, ledger.ExchangeQuery{MaxLevel: flow.Restricted, Requester: a.Caller.Session, Kind: announce.Spawn, Open: true, Limit: queryLimit})
	if err != nil {
		return fmt.Errorf("list exchanges: %w", err)
	}
	if most := s.Exchanges.MaxChildren; most > 0 && len(open) >= most {
		return &request.Error{Text: fmt.Sprintf("this session already has %d sub-agents at work, the maximum (agents.defaults.subagents.maxChildren): wait for one to report", len(open))}
	}
	return nil
}

// hasRoom refuses a request if the target's queue is full.
func (e *Exchanges) hasRoom(ctx context.Context, a Ask) error {
	if a.Kind == announce.Spawn {
		return nil
	}
	waiting, err := e.store.WaitingRuns(ctx, a.Target.ID, queue.MaxWaiting)
	if err != nil {
		return fmt.Errorf("read queue: %w", err)
	}
	if len(waiting) == queue.MaxWaiting {
		return fmt.Errorf("%w: %w", request.ErrQueueFull, &request.Error{Field: "sessionKey", Text: "the queue of that session is full: try again later"})
	}
	return nil
}

// within counts a request of another agent, and refuses it if the target's limit is reached.
func (e *Exchanges) within(ctx context.Context, s *place.Settings, a Ask) error {
	if s.Limits.Agent.Max == 0 || a.Target.Agent == a.Caller.Agent {
		return nil
	}
	err := e.limits.Count(ctx, ledger.LimitCount{Kind: ledger.LimitAgent, Name: a.Target.Agent, Level: a.Label.Level(), Rate: s.Limits.Agent})
	if reached, ok := errors.AsType[*limits.Reached](err); ok {
		return &request.Error{Text: fmt.Sprintf("the agent %s accepts no more requests at the moment: try again in %s (limits.perAgent)", a.Target.Agent, usertext.Duration(reached.Wait))}
	}
	return err
}

// nextHop is the chain of the request, or the reason why it must not go on: it has come back to a session that waits
// for it, or it has used up its limits. A sub-agent may speak to its parent, because a parent does not wait for its
// tasks; what the two say to each other still counts.
func (e *Exchanges) nextHop(ctx context.Context, s *place.Settings, a Ask) (sessions.Chain, error) {
	chain := a.Caller.Chain
	if chain.ID == "" {
		chain.ID = telemetry.ChainID(string(a.Caller.Run), ownDigits())
	}
	chain.Hops = append(slices.Clone(chain.Hops), a.Caller.Session)
	round := slices.Contains(chain.Hops, a.Target.ID)
	if round {
		up, err := addressesParent(ctx, e.store, a)
		if err != nil {
			return chain, err
		}
		round = !up
	}
	if round {
		return chain, &request.Error{Field: "sessionKey", Text: "this request came from that session, directly or through others: answer it instead of asking back"}
	}
	if most := s.Exchanges.MaxHops; most > 0 && len(chain.Hops) > most {
		return chain, &request.Error{Field: "sessionKey", Text: fmt.Sprintf("this request has been passed on %d times, the maximum (session.agentToAgent.maxHops): answer with what you know", most)}
	}
	use, err := e.store.Chain(ctx, chain.ID)
	if err != nil && !errors.Is(err, sessions.ErrNotFound) {
		return chain, fmt.Errorf("read chain: %w", err)
	}
	if why := s.Exchanges.Spent(use, e.now()); why != "" {
		return chain, &request.Error{Text: why + " (session.agentToAgent): answer with what you know"}
	}
	return chain, nil
}

// addressesParent reports whether a sub-agent speaks to the session that started it, and that session does not wait for
// its answer in another request.
func addressesParent(ctx context.Context, store Store, a Ask) (bool, error) {
	child, err := store.Session(ctx, a.Caller.Session)
	if errors.Is(err, sessions.ErrNotFound) || err == nil && child.SpawnedBy != a.Target.ID {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read sub-agent: %w", err)
	}
	run, err := store.Run(ctx, a.Caller.Run)
	if errors.Is(err, sessions.ErrNotFound) || err == nil && run.Exchange == "" {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("read run: %w", err)
	}
	x, err := store.Exchange(ctx, run.Exchange)
	if err != nil {
		return false, fmt.Errorf("read exchange: %w", err)
	}
	return x.Kind == announce.Spawn || x.Requester.Session != a.Target.ID, nil
}

// stepRun is the run that works a step.
func (e *Exchanges) stepRun(x ledger.Exchange, step announce.Step, target sessions.Record, label flow.Label) sessions.Run {
	other := x.Requester
	if step.Party.Session == x.Requester.Session {
		other = x.Target
	}
	run := sessions.Run{
		ID: sessions.NewRunID(), Session: target.ID, Partition: target.Partition, Kind: stepKind(x.Kind, step.Phase), Status: sessions.RunQueued,
		Input: sessions.Input{Text: step.Text, Sender: sessions.Peer{ID: sessions.UserID(other.Key), Name: other.Agent, Bot: true}},
		Label: label, Exchange: x.ID, Chain: x.Chain, Accepted: e.now(),
		EventKey: strings.Join([]string{"exchange", x.ID, string(step.Phase), strconv.Itoa(step.Turn)}, "/"),
	}
	if step.Phase == announce.Announcing {
		run.Route = target.Route.Place()
		if x.Kind == announce.Spawn {
			run.Route = x.Route
		}
	}
	return run
}

func stepKind(kind announce.Kind, phase announce.Phase) sessions.RunKind {
	switch {
	case kind == announce.Spawn && phase == announce.Asking:
		return sessions.KindTask
	case kind == announce.Spawn:
		return sessions.KindReport
	case phase == announce.Asking:
		return sessions.KindAsk
	case phase == announce.Replying:
		return sessions.KindReply
	}
	return sessions.KindAnnounce
}
