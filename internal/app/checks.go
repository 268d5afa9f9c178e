package app

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"sluice/internal/check"
	"sluice/internal/web"
	"sluice/policy/flow"
	"sluice/router/checks"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/sessions"
	"sluice/sessions/prompt"
)

// newChecks creates what runs the checks of the configuration.
func (a *App) newChecks() *checks.Checks {
	private := sync.OnceValue(web.NewPrivate)
	public := sync.OnceValue(web.New)
	ways := check.Ways{
		Fetch: func(ctx context.Context, d *check.Definition, most int) (check.Answer, error) {
			fetcher := public
			if d.Private {
				fetcher = private
			}
			got, err := fetcher().Ask(ctx, web.Request{URL: d.HTTP, Headers: d.Headers, MaxBytes: most})
			return check.Answer(got), err
		},
		Tool:  a.callForCheck,
		Count: a.countForCheck,
	}
	all := checks.New(checks.Config{
		Store: a.store, Commit: a.router.Owner().Commit, Owner: a.ownersRoute, Notice: a.router.SendPermissions().Notice, Ways: ways,
		Now: a.now, Log: a.log, Looks: checks.NewMetrics(a.registry),
	})
	all.Configure(a.cfg.CompiledChecks(nil))
	return all
}

// ownersRoute is where the owner is told something.
func (a *App) ownersRoute(ctx context.Context) (sessions.Route, error) {
	t, _ := a.target(outbound.ToOwner)
	return a.router.Routes.Target(ctx, routerSettings(a.cfg), outbound.Proactive{Channel: t.Channel, Account: t.Account, To: t.To, Thread: t.Thread})
}

// callForCheck calls a tool of an MCP server for the configuration.
func (a *App) callForCheck(ctx context.Context, server, tool string, args json.RawMessage) (string, error) {
	for _, t := range a.mcp.Tools() {
		if t.Remote == nil || t.Remote.Server != server || t.Remote.Name != tool {
			continue
		}
		got, err := t.Run(ctx, sessions.Caller{Taint: flow.Bottom()}, args)
		if err == nil && got.Failed {
			err = fmt.Errorf("the tool failed: %s", got.Text)
		}
		return got.Text, err
	}
	return "", fmt.Errorf("the MCP server %s does not offer a tool %s now: see sluice doctor", server, tool)
}

// approvalsMax is the most that a check counts of the approvals.
const approvalsMax = 200

// countForCheck counts rows of the gateway.
func (a *App) countForCheck(ctx context.Context, what string) (int, error) {
	if what == check.WaitingApprovals {
		waiting, err := a.store.ListApprovals(ctx, ledger.Query{Status: string(ledger.ApprovalPending), MaxLevel: flow.Restricted, Limit: approvalsMax})
		return len(waiting), err
	}
	counts, err := a.store.CountDeliveries(ctx, flow.Restricted)
	n := 0
	for _, status := range countedAs(what) {
		n += counts[status]
	}
	return n, err
}

// countedAs are the statuses of deliveries that a count sums up.
func countedAs(what string) []ledger.DeliveryStatus {
	switch what {
	case check.DeadLetters:
		return []ledger.DeliveryStatus{ledger.DeliveryFailed, ledger.DeliveryExpired, ledger.DeliveryUnknown}
	case check.HeldDeliveries:
		return []ledger.DeliveryStatus{ledger.DeliveryHeld}
	}
	return []ledger.DeliveryStatus{ledger.DeliveryQueued, ledger.DeliverySending}
}

// heartbeatInstructions reads the instructions of an agent's heartbeat.
func (a *App) heartbeatInstructions(agent string) (string, error) {
	d, _ := a.roster.Definition(agent)
	return prompt.ReadHeartbeat(d.Workspace)
}
