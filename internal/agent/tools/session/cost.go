package session

import (
	"context"
	"fmt"
	"time"

	"sluice/internal/agent/tools"
	"sluice/internal/spending"
	"sluice/internal/spending/standing"
	"sluice/sessions"
)

// usage is what a session has used.
type usage struct {
	Input       int    `json:"inputTokens"`
	Output      int    `json:"outputTokens"`
	Cached      int    `json:"cachedTokens"`          // of the input: from the provider's cache
	CachedShare string `json:"cachedShare,omitempty"` // of the input, such as 75%
	Cost        string `json:"cost,omitempty"`        // of the calls whose rows are kept
}

// budget is what is left of a budget that the caller's calls count to, as far as the caller may know it.
type budget struct {
	Name  string `json:"name"`
	Limit string `json:"limit"`
	Per   string `json:"per"`
	Used  string `json:"used"`            // by the sessions that the caller sees
	Left  string `json:"left"`            // at most: what others have used is not counted
	Until string `json:"until,omitempty"` // when the period ends
}

// spent adds to a status what the session has used, and for the caller's own session what is left of budgets. Calls that knew
// more than the caller, and those of sessions that it does not see, change nothing.
func (ts *Tools) spent(ctx context.Context, caller sessions.Caller, record *sessions.Record, status *sessionStatus) error {
	if ts.Sight.GuestIn(caller, record.ID) {
		return nil
	}
	used := record.Usage
	status.Usage = &usage{Input: used.InputTokens, Output: used.OutputTokens, Cached: used.CachedTokens}
	if used.CachedTokens > 0 {
		status.Usage.CachedShare = fmt.Sprintf("%d%%", int64(used.CachedTokens)*100/int64(max(used.InputTokens, used.CachedTokens)))
	}
	if ts.Spending == nil {
		return nil
	}
	sums, err := ts.Spending.Ledger.Sums(ctx, spending.Query{Session: string(record.ID), MaxLevel: caller.Taint.Level()})
	if err != nil {
		return tools.Inside("read what the session has cost", err)
	}
	status.Usage.Cost = spending.CostOf(sums)
	if record.ID != caller.Session {
		return nil
	}
	origin := spending.OriginOf(ctx)
	origin.Session, origin.Agent, origin.Person = caller.Session, caller.Agent, caller.User
	found, err := ts.Spending.Of(ctx, origin, ts.Sight.Counted(caller))
	if err != nil {
		return tools.Inside("read budgets", err)
	}
	for i := range found {
		status.Budgets = append(status.Budgets, budgetOf(&found[i]))
	}
	return nil
}

func budgetOf(s *standing.Standing) budget {
	b := budget{Name: s.Budget.Name, Limit: s.Budget.Show(s.Limit), Per: string(s.Budget.Per), Used: s.Budget.Show(s.Used), Left: s.Budget.Show(s.Left())}
	if !s.End.IsZero() {
		b.Until = s.End.Format(time.RFC3339)
	}
	return b
}
