package outbound

import (
	"context"
	"fmt"
	"slices"

	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

// Standing is what a session may say in a conversation.
type Standing struct {
	Carries flow.Level // the highest level that may be said there
	Held    string     // why its answers are withheld there, and what to change; empty if they are not
}

// Standing says what a session may say in a conversation.
func (c *Composer) Standing(ctx context.Context, record sessions.Record, route sessions.Route) (Standing, error) {
	leaving, err := c.Egress(ctx, ledger.Delivery{Kind: ledger.KindReply, Route: route, Label: record.Taint}, record)
	if err != nil {
		return Standing{}, fmt.Errorf("look at place: %w", err)
	}
	s := Standing{Carries: c.Gate.Carries(leaving)}
	d := c.Gate.Decide(leaving)
	if slices.ContainsFunc(d.Rules, func(l policy.CheckResult) bool { return l.Rule == policy.RuleFlow && l.Matched }) {
		s.Held = d.Reason
	}
	return s, nil
}
