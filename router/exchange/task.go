package exchange

import (
	"context"
	"fmt"
	"strings"

	"sluice/announce"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/request"
	"sluice/sessions"
)

// NewTask is a person's or program's task for a sub-agent of a session.
type NewTask struct {
	Session sessions.Record // for which it works, and which is told what came of it
	Task
	Text  string
	Agent string         // empty: the session's
	Model string         // "<provider>/<model>", already checked; empty: the agent's
	Route sessions.Route // where the text comes from: it is as secret as what is said there
	// Label is that of the text where a program says it; invalid: that of what is said at Route.
	Label flow.Label
	Key   string // names the request for ever; empty: it is a new one
	Actor string // who has asked, for the audit trail
}

// StartTask gives a task to a sub-agent of a session, as the session's own agent
// does with sessions_spawn, and returns at once. An agent that is not configured is a *[request.Error].
func (e *Exchanges) StartTask(ctx context.Context, n NewTask) (ledger.Exchange, error) {
	if n.Agent == "" {
		n.Agent = n.Session.Agent
	}
	switch {
	case strings.TrimSpace(n.Text) == "":
		return ledger.Exchange{}, &request.Error{Field: "task", Text: "is required"}
	case n.Session.Key.SubAgent():
		return ledger.Exchange{}, &request.Error{Field: "session", Text: "a sub-agent's session has no sub-agents of its own"}
	case !e.hasAgent(n.Agent):
		return ledger.Exchange{}, &request.Error{Field: "agent", Text: fmt.Sprintf("no agent %q: see agents.list in the configuration", n.Agent)}
	}
	if n.Key != "" {
		n.Key = "task/" + n.Key
	}
	label := n.Label
	if !label.Valid() {
		label = e.places.Label(n.Route, true)
	}
	if !flow.CanFlow(label.Level(), n.Session.Clearance) {
		return ledger.Exchange{}, &request.Error{Field: "session", Text: fmt.Sprintf("the task is above its clearance, %s", n.Session.Clearance)}
	}
	return e.Start(ctx, Ask{
		Kind: announce.Spawn, Create: true, Text: n.Text, Label: label, Key: n.Key, Task: n.Task, Actor: n.Actor,
		Caller: sessions.Caller{Session: n.Session.ID, Key: n.Session.Key, Agent: n.Session.Agent, Route: n.Session.Route, Owner: label.Trust() == flow.Trusted},
		Target: e.places.NewSubAgent(n.Session, n.Agent, n.Model, n.Name, label),
	})
}
