package commands

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
	maxEnded = 5 // ended tasks that /subagents shows
	// shownID is how many characters of a task's id are shown, minID how many a person must type: the last ones,
	// because ids start with their time.
	shownID, minID = 8, 4
)

const subAgentsUsage = "Usage: `/subagents`, `/subagents stop ID` with an id that it shows, or `/subagents stop all`."

// subAgents shows the sub-agents of the session, or stops them.
func (k *Commands) subAgents(ctx context.Context, c Call) (ledger.Change, string, error) {
	verb, id, _ := strings.Cut(c.Args, " ")
	id = strings.Trim(strings.TrimSpace(id), "`")
	stop := strings.EqualFold(verb, "stop") && id != ""
	if !stop && c.Args != "" && !strings.EqualFold(c.Args, "list") {
		return ledger.Change{}, subAgentsUsage, nil
	}
	if c.Fresh {
		return ledger.Change{}, "There are no sub-agents here.", nil
	}
	all := stop && strings.EqualFold(id, "all")
	level := k.Places.SinkLevel(c.In.Route) // the existence of another task is as secret as its work
	if all {
		level = flow.Restricted
	}
	tasks, err := k.Store.ListExchanges(ctx, ledger.ExchangeQuery{MaxLevel: level, Requester: c.Session.ID, Kind: announce.Spawn, Open: stop, Limit: ledger.MaxPage})
	switch {
	case err != nil:
		return ledger.Change{}, "", fmt.Errorf("list exchanges: %w", err)
	case all:
		change, _, err := k.stopTasks(ctx, tasks)
		return change, "Stopped all sub-agents of this conversation.", err
	case !stop:
		return ledger.Change{}, k.taskList(c, tasks), nil
	}
	return k.stopTasks(ctx, namedBy(tasks, id))
}

// taskList is the answer to /subagents. Each line is as secret as its task.
func (k *Commands) taskList(c Call, tasks []ledger.Exchange) string {
	var lines []string
	ended := 0
	for _, x := range tasks {
		if x.Phase == announce.Ended {
			if ended++; ended > maxEnded {
				continue
			}
		}
		name := ""
		if x.Name != "" {
			name = visible.CodeSpan(x.Name) + ", "
		}
		line := fmt.Sprintf("- `%s` %sagent %s: %s", shortID(x.ID), name, x.Target.Agent, taskState(x, k.Now()))
		if line, ok := c.Quotes.Show(flow.NewText(line, x.Label)); ok {
			lines = append(lines, line)
		}
	}
	said := "There are no sub-agents here."
	if len(lines) > 0 {
		said = "Sub-agents, newest first:\n\n" + strings.Join(lines, "\n")
	}
	if c.private() && !c.Session.Taint.FlowsTo(k.Places.SinkLevel(c.In.Route)) { // /status shows it here, too
		said += "\n\nThere may be more: this conversation has learned more than may be shown here. `sluice sessions exchanges` shows all sub-agents."
	}
	return said
}

func shortID(id string) string { return id[max(len(id)-shownID, 0):] }

// taskState is the state of a task.
func taskState(x ledger.Exchange, now time.Time) string {
	since := func(t time.Time) time.Duration { return now.Sub(t).Round(time.Second) }
	switch x.Phase {
	case announce.Asking:
		return fmt.Sprintf("started %s ago", since(x.Started))
	case announce.Announcing:
		return "done, writing its report"
	}
	status := cmp.Or(string(x.Status), string(x.Outcome))
	if x.Outcome == announce.Stopped {
		status = string(x.Outcome)
	}
	return fmt.Sprintf("%s %s ago", status, since(x.Ended))
}

// namedBy finds the tasks whose id ends with the text.
func namedBy(tasks []ledger.Exchange, id string) (named []ledger.Exchange) {
	for _, x := range tasks {
		if len(id) >= minID && strings.HasSuffix(x.ID, id) {
			named = append(named, x)
		}
	}
	return named
}

// stopTasks stops some tasks.
func (k *Commands) stopTasks(ctx context.Context, tasks []ledger.Exchange) (ledger.Change, string, error) {
	var change ledger.Change
	for _, x := range tasks {
		one, err := k.Stops.Stop(ctx, x.Target.Session)
		if err != nil {
			return ledger.Change{}, "", err
		}
		change.Abort = append(change.Abort, one.Abort...)
		change.Exchanges = append(change.Exchanges, one.Exchanges...)
	}
	switch len(tasks) {
	case 0:
		return ledger.Change{}, "No running sub-agent has that id. `/subagents` lists them.", nil
	case 1:
		return change, "Stopped 1 sub-agent.", nil
	}
	return change, fmt.Sprintf("Stopped %d sub-agents.", len(tasks)), nil
}
