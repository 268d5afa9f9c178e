package policies

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/view"
	"sluice/internal/httpapi/wire"
	"sluice/policy"
	"sluice/router/backtest"
	"sluice/router/ledger"
	"sluice/sessions"
)

type changedRecord struct {
	Kind     string               `json:"kind" enum:"delivery,call"`
	Delivery ledger.DeliveryID    `json:"delivery,omitempty"`
	Run      sessions.RunID       `json:"run,omitempty"`
	Session  sessions.ID          `json:"session,omitempty"`
	At       time.Time            `json:"at"`
	Route    *sessions.Route      `json:"route,omitempty"`
	Tool     string               `json:"tool,omitempty"`
	Text     string               `json:"text" doc:"the beginning of the message, or of the call's arguments"`
	Label    string               `json:"label"`
	Was      policy.Action        `json:"was" enum:"allow,block,hold,redact"`
	Would    policy.Action        `json:"would" enum:"allow,block,hold,redact"`
	Reason   string               `json:"reason"`
	Rules    []policy.CheckResult `json:"rules" doc:"the rules of the proposal that were evaluated"`
}

type backtestRecord struct {
	Deliveries int                   `json:"deliveries" doc:"checked deliveries"`
	Calls      int                   `json:"calls" doc:"checked tool calls"`
	Since      *time.Time            `json:"since,omitempty" doc:"the oldest checked row"`
	Bound      backtest.Bound        `json:"bound" enum:"none,rows,time" doc:"why no older rows were checked: no older rows are stored, or the limit of rows or time was reached"`
	Count      map[policy.Action]int `json:"count" doc:"the number of rows that would have been decided differently, by action"`
	Changed    []changedRecord       `json:"changed" doc:"the newest 100 of these rows, newest first"`
	More       bool                  `json:"more,omitempty" doc:"there are more than 100"`
	Untried    []string              `json:"untried" doc:"rules that could not be tested, and why"`
}

// textMax is the maximum length of a shown text, in characters.
const textMax = 200

// Backtest tests a proposed policy on stored messages and tool calls.
func (a *API) Backtest(ctx context.Context, in *struct {
	Body struct {
		Policy string    `json:"policy" minLength:"1" maxLength:"65536" doc:"YAML: a rule, a list of rules, or policy.rules and session.sendPolicy as in sluice.yaml. Rules are added to the configured ones; a send policy replaces the configured one"`
		Since  time.Time `json:"since,omitzero" doc:"check only what happened since this time"`
	}
},
) (*wire.Body[backtestRecord], error) {
	if err := view.NeedOperator(ctx); err != nil {
		return nil, err
	}
	proposal, err := a.Parse(in.Body.Policy)
	if err != nil {
		return nil, wire.Invalid("policy: " + err.Error())
	}
	got, err := a.Past.Try(ctx, auth.CallerOf(ctx).Level, in.Body.Since, proposal)
	if err != nil {
		return nil, fmt.Errorf("backtest: %w", err)
	}
	out := backtestRecord{
		Deliveries: got.Deliveries, Calls: got.Calls, Since: view.Optional(got.Since.UTC()), Bound: got.Bound, Count: got.Count, More: got.More, Changed: []changedRecord{}, Untried: untried(proposal),
	}
	for _, c := range got.Changed {
		out.Changed = append(out.Changed, changedOf(c))
	}
	return wire.NewBody(out), nil
}

func changedOf(c backtest.Changed) changedRecord {
	r := changedRecord{
		Kind: "call", Delivery: c.Delivery, Run: c.Run, Session: c.Session, At: c.At.UTC(), Tool: c.Tool, Label: c.Label.String(), Was: c.Was, Would: c.Would,
		Reason: c.Decision.Reason, Rules: view.NotNil(c.Decision.Rules),
	}
	if c.Delivery != "" {
		r.Kind, r.Route = "delivery", view.OptionalRoute(view.PublicRoute(c.Route))
	}
	if text := []rune(c.Text); len(text) > textMax {
		r.Text = string(text[:textMax]) + "…"
	} else {
		r.Text = c.Text
	}
	return r
}

// untried lists the rules of a proposal that stored data can't test.
func untried(p policy.Proposal) []string {
	all := []string{}
	for _, hook := range p.Rules.Hooks() {
		if !slices.Contains([]policy.Hook{policy.PreOutput, policy.PreToolCall}, hook) {
			all = append(all, "rules of "+string(hook)+": the data that they check is not stored")
		}
	}
	for _, r := range p.Rules.Listed() {
		for _, field := range []string{"tool.reads", "tool.writes", "tool.sink", "tool.server"} {
			if r.Rule.Hook == policy.PreToolCall && strings.Contains(r.Rule.When, field) {
				all = append(all, r.Name+": "+field+" of past calls is not stored, so it counts as empty")
			}
		}
	}
	return all
}
