package router

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"sluice/announce"
	"sluice/internal/visible"
	"sluice/policy/flow"
	"sluice/router/ledger"
)

const (
	tasksEnded = 5 // of the tasks that /subagents shows, those that have ended
	// shortTask is how much of a task's id people are shown and must say at least: its end, as ids begin with their time.
	shortTask, leastTask = 8, 4
)

const subAgentsUsage = "Usage: `/subagents`, or `/subagents stop ID` with an id that it shows, or `/subagents stop all`."

// commandSubAgents shows the sub-agents of the session, or stops them.
func (r *Router) commandSubAgents(ctx context.Context, c commandCall) (ledger.Change, string, error) {
	verb, id, _ := strings.Cut(c.args, " ")
	id = strings.Trim(strings.TrimSpace(id), "`")
	stop := strings.EqualFold(verb, "stop") && id != ""
	if !stop && c.args != "" && !strings.EqualFold(c.args, "list") {
		return ledger.Change{}, subAgentsUsage, nil
	}
	if c.fresh {
		return ledger.Change{}, "There are no sub-agents here.", nil
	}
	all := stop && strings.EqualFold(id, "all")
	level := r.gate.SinkLevel(c.in.Route) // that there is another one is as secret as what it works on
	if all {
		level = flow.Restricted
	}
	tasks, err := r.store.ListExchanges(ctx, ledger.ExchangeQuery{MaxLevel: level, Requester: c.session.ID, Kind: announce.Spawn, Open: stop, Limit: ledger.MaxPage})
	switch {
	case err != nil:
		return ledger.Change{}, "", fmt.Errorf("list exchanges: %w", err)
	case all:
		change, _, err := r.stopTasks(ctx, tasks)
		return change, "All sub-agents of this conversation are stopped.", err
	case !stop:
		return ledger.Change{}, r.taskList(c, tasks), nil
	}
	return r.stopTasks(ctx, namedBy(tasks, id))
}

// taskList is the answer to /subagents. Each line is as secret as the task that it is about.
func (r *Router) taskList(c commandCall, tasks []ledger.Exchange) string {
	var lines []string
	ended := 0
	for _, x := range tasks {
		if x.Phase == announce.Ended {
			if ended++; ended > tasksEnded {
				continue
			}
		}
		name := ""
		if x.Name != "" {
			name = visible.CodeSpan(x.Name) + ", "
		}
		line := fmt.Sprintf("- `%s` %sagent %s: %s", shortID(x.ID), name, x.Target.Agent, taskState(x, r.now()))
		if line, ok := c.quotes.Show(flow.NewText(line, x.Label)); ok {
			lines = append(lines, line)
		}
	}
	said := "There are no sub-agents here."
	if len(lines) > 0 {
		said = "Sub-agents, the newest first:\n\n" + strings.Join(lines, "\n")
	}
	if c.private() && !c.session.Taint.FlowsTo(r.gate.SinkLevel(c.in.Route)) { // which /status tells here too
		said += "\n\nThis conversation has learnt more than may be said here, and so may others at work for it: `sluice exchanges list` shows them."
	}
	return said
}

func shortID(id string) string { return id[max(len(id)-shortTask, 0):] }

// taskState says where a task stands.
func taskState(x ledger.Exchange, now time.Time) string {
	since := func(t time.Time) time.Duration { return now.Sub(t).Round(time.Second) }
	switch x.Phase {
	case announce.Asking:
		return fmt.Sprintf("begun %s ago", since(x.Started))
	case announce.Announcing:
		return "done, and writing its report"
	}
	status := cmp.Or(string(x.Status), string(x.Outcome))
	if x.Outcome == announce.Stopped {
		status = string(x.Outcome)
	}
	return fmt.Sprintf("%s %s ago", status, since(x.Ended))
}

// namedBy are the tasks that an id names by its end.
func namedBy(tasks []ledger.Exchange, id string) (named []ledger.Exchange) {
	for _, x := range tasks {
		if len(id) >= leastTask && strings.HasSuffix(x.ID, id) {
			named = append(named, x)
		}
	}
	return named
}

// stopTasks stops some tasks.
func (r *Router) stopTasks(ctx context.Context, tasks []ledger.Exchange) (ledger.Change, string, error) {
	var change ledger.Change
	for _, x := range tasks {
		one, err := r.sessions.Stop(ctx, x.Target.Session)
		if err != nil {
			return ledger.Change{}, "", err
		}
		change.Abort = append(change.Abort, one.Abort...)
		change.Exchanges = append(change.Exchanges, one.Exchanges...)
	}
	switch len(tasks) {
	case 0:
		return ledger.Change{}, "There is no sub-agent at work with that id; `/subagents` shows them.", nil
	case 1:
		return change, "Stopped 1 sub-agent.", nil
	}
	return change, fmt.Sprintf("Stopped %d sub-agents.", len(tasks)), nil
}
