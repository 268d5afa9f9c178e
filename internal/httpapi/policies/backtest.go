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
	Rules    []policy.CheckResult `json:"rules" doc:"of the proposal"`
}

type backtestRecord struct {
	Deliveries int                   `json:"deliveries" doc:"looked at"`
	Calls      int                   `json:"calls" doc:"tool calls looked at"`
	Since      *time.Time            `json:"since,omitempty" doc:"the oldest row that was looked at"`
	Bound      backtest.Bound        `json:"bound" enum:"none,rows,time" doc:"why no older rows were looked at: there are none, enough rows, enough time"`
	Count      map[policy.Action]int `json:"count" doc:"rows that would have been decided otherwise, by what would have been decided"`
	Changed    []changedRecord       `json:"changed" doc:"these rows, the newest first, at most 100"`
	More       bool                  `json:"more,omitempty" doc:"there are further ones"`
	Untried    []string              `json:"untried" doc:"what could not be tried, and why"`
}

// textMax is how much of a text is shown, in characters.
const textMax = 200

// Backtest tries a proposed policy against what is stored.
func (a *API) Backtest(ctx context.Context, in *struct {
	Body struct {
		Policy string    `json:"policy" minLength:"1" maxLength:"65536" doc:"YAML: a rule, a list of rules, or policy.rules and session.sendPolicy as in sluice.yaml. Rules are added to those in force; a send policy replaces the present one"`
		Since  time.Time `json:"since,omitzero" doc:"only what happened since; default: all, from the newest on, up to 1000 messages and as many tool calls"`
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

// untried says which rules of a proposal the past has nothing for.
func untried(p policy.Proposal) []string {
	all := []string{}
	for _, hook := range p.Rules.Hooks() {
		if !slices.Contains([]policy.Hook{policy.PreOutput, policy.PreToolCall}, hook) {
			all = append(all, "rules of "+string(hook)+": what they look at is not stored")
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
