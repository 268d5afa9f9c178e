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
	Session sessions.Record // the session that gets the result
	Task
	Text  string
	Agent string         // empty: the session's
	Model string         // "<provider>/<model>", already checked; empty: the agent's
	Route sessions.Route // where the text comes from; the text has the level of that place
	// Label is the text's label if a program sent it; if invalid, the label of Route applies.
	Label flow.Label
	Key   string // names the request for ever; empty: it is always a new one
	Actor string // who asked, for the audit trail
}

// StartTask gives a task to a sub-agent of a session, like the sessions_spawn tool of the session's own agent, and
// returns at once. An agent that is not configured is a *[request.Error].
func (e *Exchanges) StartTask(ctx context.Context, n NewTask) (ledger.Exchange, error) {
	if n.Agent == "" {
		n.Agent = n.Session.Agent
	}
	switch {
	case strings.TrimSpace(n.Text) == "":
		return ledger.Exchange{}, &request.Error{Field: "task", Text: "is required"}
	case n.Session.Key.SubAgent():
		return ledger.Exchange{}, &request.Error{Field: "session", Text: "a sub-agent can't start sub-agents"}
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
