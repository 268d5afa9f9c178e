package router

import (
	"context"
	"fmt"
	"slices"

	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

// Standing is what a session may say in a place.
type Standing struct {
	Carries flow.Level // the most that may be said there
	Held    string     // why the session's answers may not be, and what to change; empty if they may
}

// Standing says what a session may say in a place.
func (r *Router) Standing(ctx context.Context, record sessions.Record, route sessions.Route) (Standing, error) {
	leaving, err := r.compose.Egress(ctx, ledger.Delivery{Kind: ledger.KindReply, Route: route, Label: record.Taint}, record)
	if err != nil {
		return Standing{}, fmt.Errorf("look at place: %w", err)
	}
	s := Standing{Carries: r.gate.Carries(leaving)}
	d := r.gate.Decide(leaving)
	if slices.ContainsFunc(d.Rules, func(l policy.Looked) bool { return l.Rule == policy.RuleFlow && l.Matched }) {
		s.Held = d.Reason
	}
	return s, nil
}
