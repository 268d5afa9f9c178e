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

// SendPermission says what a session may send to a conversation.
type SendPermission struct {
	Carries flow.Level // the highest level that may be sent there
	Held    string     // why its answers are withheld there, and what to change; empty if they are sent
}

// SendPermission says what a session may send to a conversation.
func (c *Composer) SendPermission(ctx context.Context, record sessions.Record, route sessions.Route) (SendPermission, error) {
	leaving, err := c.Egress(ctx, ledger.Delivery{Kind: ledger.KindReply, Route: route, Label: record.Taint}, record)
	if err != nil {
		return SendPermission{}, fmt.Errorf("look at place: %w", err)
	}
	s := SendPermission{Carries: c.Gate.Carries(leaving)}
	d := c.Gate.Decide(leaving)
	if slices.ContainsFunc(d.Rules, func(l policy.CheckResult) bool { return l.Rule == policy.RuleFlow && l.Matched }) {
		s.Held = d.Reason
	}
	return s, nil
}
