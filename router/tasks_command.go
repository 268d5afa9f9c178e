package router

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"sluice/announce"
	"sluice/policy/flow"
)

const (
	tasksEnded = 5 // of the tasks that /subagents shows, those that have ended
	// shortTask is how much of a task's id people are shown and must say at least: its end, as ids begin with their time.
	shortTask, leastTask = 8, 4
)

const subAgentsUsage = "Usage: `/subagents`, or `/subagents stop ID` with an id that it shows, or `/subagents stop all`."

// commandSubAgents shows the sub-agents of the session, or stops them.
func (r *Router) commandSubAgents(ctx context.Context, c commandCall) (Change, string, error) {
	verb, id, _ := strings.Cut(c.args, " ")
	id = strings.Trim(strings.TrimSpace(id), "`")
	stop := strings.EqualFold(verb, "stop") && id != ""
	if !stop && c.args != "" && !strings.EqualFold(c.args, "list") {
		return Change{}, subAgentsUsage, nil
	}
	if c.fresh {
		return Change{}, "There are no sub-agents here.", nil
	}
	tasks, err := r.store.ListExchanges(ctx, ExchangeQuery{MaxLevel: flow.Restricted, Requester: c.session.ID, Kind: announce.Spawn, Open: stop, Limit: mostPage})
	if err != nil {
		return Change{}, "", fmt.Errorf("list exchanges: %w", err)
	}
	if !stop {
		return Change{}, r.taskList(c, tasks), nil
	}
	return r.stopTasks(ctx, tasks, id)
}

// taskList is the answer to /subagents. A name is shown where what its session knows may be said.
func (r *Router) taskList(c commandCall, tasks []Exchange) string {
	var lines []string
	ended := 0
	for _, x := range tasks {
		if x.Phase == announce.Ended {
			if ended++; ended > tasksEnded {
				continue
			}
		}
		name := ""
		if x.Name != "" && flow.CanFlow(x.Label.Level(), r.gate.SinkLevel(c.in.Route)) {
			name = codeSpan(x.Name) + ", "
		}
		lines = append(lines, fmt.Sprintf("- `%s` %sagent %s: %s", shortID(x.ID), name, x.Target.Agent, taskState(x, r.now())))
	}
	if len(lines) == 0 {
		return "There are no sub-agents here."
	}
	return "Sub-agents, the newest first:\n\n" + strings.Join(lines, "\n")
}

func shortID(id string) string { return id[max(len(id)-shortTask, 0):] }

// taskState says where a task stands.
func taskState(x Exchange, now time.Time) string {
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

// stopTasks stops the tasks that an id names by its end, or all.
func (r *Router) stopTasks(ctx context.Context, tasks []Exchange, id string) (Change, string, error) {
	var change Change
	stopped := 0
	for _, x := range tasks {
		if id != "all" && (len(id) < leastTask || !strings.HasSuffix(x.ID, id)) {
			continue
		}
		one, _, err := r.stopIn(ctx, x.Target.Session)
		if err != nil {
			return Change{}, "", err
		}
		change.Abort = append(change.Abort, one.Abort...)
		change.Exchanges = append(change.Exchanges, one.Exchanges...)
		stopped++
	}
	switch stopped {
	case 0:
		return Change{}, "There is no sub-agent at work with that id; `/subagents` shows them.", nil
	case 1:
		return change, "Stopped 1 sub-agent.", nil
	}
	return change, fmt.Sprintf("Stopped %d sub-agents.", stopped), nil
}
