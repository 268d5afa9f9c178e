package app

import (
	"context"
	"fmt"
	"slices"

	"sluice/internal/alert"
	"sluice/internal/trouble"
	"sluice/internal/workspace"
	"sluice/router/quota"
)

// nearLimits warns of limits that are nearly reached and that all conversations share. Their texts tell no amounts.
func (l *selfLook) nearLimits(ctx context.Context) (all []trouble.Trouble, err error) {
	folders, err := l.quota.Nearly(ctx)
	if err != nil {
		return nil, fmt.Errorf("measure workspaces: %w", err)
	}
	for _, agent := range l.roster.Settings().Agents {
		if slices.Contains(folders, agent.Workspace) {
			all = append(all, trouble.Trouble{
				Name: "space/" + agent.ID, Severity: alert.Warning, Title: "The workspace of agent " + agent.ID + " is nearly full (limits.workspaceBytes)",
				Text: "Above the limit, files are not written. Delete some, or raise the limit.",
			})
		}
	}
	if most := int64(l.limits().WorkspaceBytes); most > 0 {
		held, err := l.store.MediaHeld(ctx, "", quota.FileCost)
		if err != nil {
			return nil, fmt.Errorf("count stored files: %w", err)
		}
		if workspace.NearlyAll(held, most) {
			all = append(all, trouble.Trouble{
				Name: "space", Severity: alert.Warning, Title: "The space for files that programs send is nearly used up (limits.workspaceBytes)",
				Text: "Above the limit, they are refused. Set a shorter time in `retention.media`, or raise the limit.",
			})
		}
	}
	open, err := l.store.TallyAlerts(ctx)
	if err != nil {
		return nil, fmt.Errorf("count open alerts: %w", err)
	}
	if workspace.NearlyAll(int64(alert.Total(open)), alert.OpenMax) {
		all = append(all, trouble.Trouble{
			Name: "open-alerts", Severity: alert.Warning, Title: fmt.Sprintf("Nearly %d alerts are open", alert.OpenMax),
			Text: "Above that number, new alerts are refused. `sluice alerts list` shows them; `sluice alerts resolve` ends each.",
		})
	}
	return all, nil
}
