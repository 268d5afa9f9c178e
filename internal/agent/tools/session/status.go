package session

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sluice/announce"
	"sluice/internal/agent/tools"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

const (
	statusMax       = 200 // unfinished runs that are counted
	statusExchanges = 20  // exchanges shown, and read per side
	statusEnded     = 5   // ended exchanges shown
)

// modelDefault clears a session's model.
const modelDefault = "default"

type statusArgs struct {
	SessionKey string  `json:"sessionKey,omitempty" jsonschema:"the key or sessionId of a session; default: this one" also:"session_id"`
	Model      *string `json:"model,omitempty" jsonschema:"sets this session's model from the next message on: <provider>/<model>, or default for the agent's own; only if an owner asks for it"`
}

// sessionStatus is the result of session_status.
type sessionStatus struct {
	sessionRow
	Agent     string        `json:"agent"`
	User      string        `json:"user,omitempty"` // who last wrote to it, as <channel>:<user id>
	Taint     flow.Level    `json:"taint"`          // level of what it has learnt
	CreatedAt int64         `json:"createdAt"`      // Unix milliseconds
	Running   int           `json:"running"`
	Queued    int           `json:"queued"`
	Exchanges []exchangeRow `json:"exchanges,omitempty"` // those that have not ended, and the newest that have
	SubAgents []exchangeRow `json:"subAgents,omitempty"` // the tasks that it started
	Usage     *usage        `json:"usage,omitempty"`     // absent for guests
	Budgets   []budget      `json:"budgets,omitempty"`   // of its own session: what is left for its calls
	Now       int64         `json:"now"`                 // Unix milliseconds
}

// exchangeRow is an exchange as one of its sides sees it.
type exchangeRow struct {
	ID      string           `json:"id"`
	With    sessions.Key     `json:"with"`  // the other side
	Asked   bool             `json:"asked"` // whether this side asked
	Name    string           `json:"name,omitempty"`
	Phase   announce.Phase   `json:"phase"`
	Turn    int              `json:"turn,omitempty"`
	Outcome announce.Outcome `json:"outcome,omitempty"` // once it has ended
	Detail  string           `json:"detail,omitempty"`  // why it ended this way
	Started int64            `json:"startedAt"`         // Unix milliseconds
}

// statusTool is idempotent: setting the same model twice changes nothing. Its data stays in the session, so every
// permission mode allows it; only an owner may have the model set.
func (ts *Tools) statusTool() sessions.Tool {
	return tools.New(sessions.Tool{
		Spec: sessions.ToolSpec{
			Name:        "session_status",
			Description: "Shows a conversation's state: model, tokens, cost, budgets, queue, exchanges with agents, sub-agents, where a person last wrote to it, and the time. Can set this conversation's model.",
		},
		Flow: sessions.ToolFlow{Reads: sessions.FlowSession, Writes: sessions.FlowNone}, Idempotent: true,
	}, tools.Work[statusArgs]{Run: ts.status, Beyond: statusBeyond, Check: func(ctx context.Context, call tools.Call[statusArgs]) error {
		_, err := ts.Sight.Target(ctx, call.Caller, call.Args.SessionKey)
		return err
	}})
}

// statusBeyond reports whether a call sets a model, which then receives everything that the session knows.
func statusBeyond(_ context.Context, call tools.Call[statusArgs]) (bool, error) {
	return call.Args.Model != nil && call.Caller.Owner, nil
}

func (ts *Tools) status(ctx context.Context, call tools.Call[statusArgs]) (sessions.ToolResult, error) {
	caller, args := call.Caller, call.Args
	record, err := ts.Sight.Target(ctx, caller, args.SessionKey)
	if err != nil {
		return sessions.ToolResult{}, err
	}
	if args.Model != nil {
		if err := ts.setModel(ctx, caller, &record, *args.Model); err != nil {
			return sessions.ToolResult{}, err
		}
	}
	row, shown, err := ts.row(ctx, caller, record)
	if err != nil {
		return sessions.ToolResult{}, err
	}
	user, err := ts.userOf(ctx, caller, record, row.LastChannel)
	if err != nil {
		return sessions.ToolResult{}, err
	}
	status := sessionStatus{
		sessionRow: row, Agent: record.Agent, User: user, Taint: record.Taint.Level(), CreatedAt: record.Created.UnixMilli(), Now: ts.Now().UnixMilli(),
	}
	if err := ts.countRuns(ctx, &status); err != nil {
		return sessions.ToolResult{}, err
	}
	if err := ts.spent(ctx, caller, &record, &status); err != nil {
		return sessions.ToolResult{}, err
	}
	label, err := ts.exchangesOf(ctx, caller, &status)
	if err != nil {
		return sessions.ToolResult{}, err
	}
	text, err := tools.JSON(status)
	return sessions.ToolResult{Text: text, Label: record.Taint.Join(shown).Join(label)}, err
}

// userOf is the person who last wrote to a session, as far as the caller may see the message; a guest sees only itself.
func (ts *Tools) userOf(ctx context.Context, caller sessions.Caller, record sessions.Record, channel string) (string, error) {
	if record.ID == caller.Session && (caller.User != "" || ts.Sight.GuestIn(caller, record.ID)) {
		return caller.User, nil
	}
	if channel == "" {
		return "", nil
	}
	messages, err := ts.Store.Thread(ctx, record)
	if err != nil {
		return "", tools.Inside("read messages", err)
	}
	for _, m := range slices.Backward(messages) {
		if m.Role == sessions.RoleUser && m.Sender.ID != "" && policy.CallerOf(caller).May(policy.CheckSessionsHistory, m.Label) {
			return sessions.Principal(channel, m.Sender.ID), nil
		}
	}
	return "", nil
}

// setModel sets another model for the caller's own session, from its next message on.
func (ts *Tools) setModel(ctx context.Context, caller sessions.Caller, record *sessions.Record, name string) error {
	switch {
	case record.ID != caller.Session:
		return errors.New("model: can be set for this session alone; leave sessionKey out")
	case !caller.Owner:
		return errors.New("model: only an owner may ask for a change")
	case name == "":
		return fmt.Errorf("model: is empty; want <provider>/<model>, or %s", modelDefault)
	}
	override := name
	if name == modelDefault {
		name, override = ts.Roster.ModelName(caller.Agent), ""
	}
	if override != "" {
		if err := ts.CheckModel(override, caller.Taint.Level()); err != nil {
			return fmt.Errorf("model: %w", err)
		}
	}
	model, err := ts.Models(name)
	if err != nil {
		return errors.New("model: the agent's own model is not configured")
	}
	if level := sessions.ModelLevel(model); !policy.CallerOf(caller).MayTell(policy.CheckModel, level) {
		return fmt.Errorf("model: this conversation has learned %s information, and %s may receive at most %s information", caller.Taint.Level(), name, level)
	}
	set := flow.NewText(override, caller.Taint)
	change := sessions.Change{Patch: []sessions.Patch{{ID: record.ID, Model: &set}}}
	change.Audit = []sessions.AuditEntry{{
		At: ts.Now(), Actor: "agent:" + caller.Agent, Action: "session.model", Object: string(record.Key), Session: record.ID, Label: caller.Taint,
		Detail: map[string]string{"override": override, "call": caller.CallID, "run": string(caller.Run)},
	}}
	if err := ts.Store.CommitSession(ctx, change); err != nil {
		return tools.Inside("set model", err)
	}
	record.Model = set
	return nil
}

func (ts *Tools) countRuns(ctx context.Context, status *sessionStatus) error {
	runs, err := ts.Store.WaitingRuns(ctx, status.SessionID, statusMax)
	if err != nil {
		return tools.Inside("read runs", err)
	}
	for _, run := range runs {
		if run.Status == sessions.RunRunning {
			status.Running++
		} else {
			status.Queued++
		}
	}
	return nil
}

// exchangesOf adds the exchanges of a session that the caller may see: all open ones, and the newest ended ones. It
// returns their label.
func (ts *Tools) exchangesOf(ctx context.Context, caller sessions.Caller, status *sessionStatus) (flow.Label, error) {
	label := flow.NewLabel(flow.Public, flow.Trusted)
	if ts.Sight.GuestIn(caller, status.SessionID) {
		return label, nil
	}
	for _, open := range []bool{true, false} {
		left := statusExchanges
		if !open {
			left = statusEnded
		}
		for _, q := range []ledger.ExchangeQuery{{Requester: status.SessionID}, {Target: status.SessionID}} {
			q.Open, q.Limit, q.MaxLevel = open, statusExchanges, caller.Taint.Level() // hidden ones do not count towards the limit
			found, err := ts.Store.ListExchanges(ctx, q)
			if err != nil {
				return label, tools.Inside("list exchanges", err)
			}
			for _, x := range found {
				if left == 0 || x.Blind && x.Requester.Session == status.SessionID || (x.Phase != announce.Ended) != open || !policy.CallerOf(caller).May(policy.CheckSessionsSee, x.Label) {
					continue
				}
				left--
				label = label.Join(x.Label)
				row := rowOf(x, status.SessionID)
				row.With = ts.Sight.Shown(caller, row.With)
				status.add(row, x.Kind)
			}
		}
	}
	return label, nil
}

// add shows an exchange of the session.
func (s *sessionStatus) add(row exchangeRow, kind announce.Kind) {
	if row.Asked && kind == announce.Spawn {
		s.SubAgents = append(s.SubAgents, row)
	} else {
		s.Exchanges = append(s.Exchanges, row)
	}
}

// rowOf is an exchange as the given side sees it.
func rowOf(x ledger.Exchange, side sessions.ID) exchangeRow {
	row := exchangeRow{
		ID: x.ID, With: x.Requester.Key, Asked: x.Requester.Session == side, Name: x.Name,
		Phase: x.Phase, Turn: x.Turn, Outcome: x.Outcome, Detail: x.Detail, Started: x.Started.UnixMilli(),
	}
	if row.Asked {
		row.With = x.Target.Key
	}
	return row
}
