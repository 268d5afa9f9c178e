package httpapi

import (
	"net/http"

	"sluice/internal/httpapi/a2aserver"
	"sluice/internal/httpapi/conversation"
	"sluice/internal/httpapi/files"
	"sluice/internal/httpapi/hooks"
	"sluice/internal/httpapi/live"
	"sluice/internal/httpapi/nodes"
	"sluice/internal/httpapi/operator"
	"sluice/internal/httpapi/senders"
	"sluice/internal/httpapi/settings"
	"sluice/internal/httpapi/signin"
	"sluice/internal/httpapi/skills"
	"sluice/internal/httpapi/usage"
	"sluice/internal/httpapi/wire"
)

const (
	get    = http.MethodGet
	post   = http.MethodPost
	put    = http.MethodPut
	patch  = http.MethodPatch
	remove = http.MethodDelete
)

// probes are the routes of those who only ask whether the gateway works.
func (h *handlers) probes(p problems) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", operator.Alive)
	mux.HandleFunc("GET /readyz", p.plain(h.status.Ready))
	return mux
}

// register registers every other route of the server, in the order of docs/http.md.
func (h *handlers) register(r *registrar) {
	h.registerAccess(r)
	h.registerSessions(r)
	h.registerMessages(r)
	h.registerOperations(r)
	h.registerSenders(r)
	h.registerNodes(r)
	h.registerAlerts(r)
	for _, route := range h.openai.Routes(r) {
		r.raw(route.Operation, route.Handle)
	}

	r.open("GET "+a2aserver.CardPath, r.problems.plain(h.a2a.Card)) // cards are for everybody, as far as their agents are published
	r.open("GET "+a2aserver.Prefix+"{agent}"+a2aserver.CardPath, r.problems.plain(h.a2a.Card))
	r.mux.HandleFunc("POST "+a2aserver.Prefix+"{agent}", r.problems.plain(h.a2a.Call))
	r.mux.HandleFunc(a2aserver.Prefix, r.problems.plain(func(http.ResponseWriter, *http.Request) error { return wire.ErrNotFound }))
	r.mux.Handle("GET /metrics", needAll(h.cfg.Metrics))
	r.open("POST /channels/{channel}/{account}", r.problems.plain(h.callback)) // signed by the platform
	r.open("POST "+hooks.Prefix+"{name}", r.problems.plain(h.intake.Receive))  // signed by the sender
	r.open(hooks.Prefix, r.problems.plain(func(http.ResponseWriter, *http.Request) error { return wire.ErrNotFound }))
	for _, below := range []string{"/v1/", "/api/v2/", "/notify", "/notify/"} {
		r.mux.HandleFunc(below, func(w http.ResponseWriter, req *http.Request) { refuse(w, req, wire.ErrNotFound) })
	}
	r.mux.Handle(pagePattern, h.cfg.Page)
}

// pagePattern is the pattern of the page's files, which hold no data.
const pagePattern = "/"

// registerAccess registers the routes of who may call the API.
func (h *handlers) registerAccess(r *registrar) {
	add(r, public(wire.Op(post, "/login", "sign-in", "Sign a browser in with a one-time link or a token")), h.signin.Login)
	add(r, wire.Op(post, signin.LogoutPath, "sign-out", "End the sign-in that makes the request", http.StatusNoContent), h.signin.Logout)
	add(r, wire.Op(get, "/v1/me", "me", "Show who makes the request"), h.signin.Me)
	add(r, wire.Op(post, signin.LinksPath, "make-link", "Make a one-time link that signs a browser in as the caller", http.StatusCreated), h.signin.MakeLink)
	add(r, wire.Op(get, "/v1/sign-ins", "list-sign-ins", "List the browsers that are signed in, the newest first"), h.signin.ListSignIns)
	add(r, wire.Op(remove, "/v1/sign-ins/{sign_in}", "end-sign-in", "Sign a browser out, and end its streams", http.StatusNoContent), h.signin.EndSignIn)
	add(r, wire.Op(get, "/v1/tokens", "list-tokens", "List the tokens of the API, but not what they are"), h.signin.ListTokens)
	add(r, wire.Op(post, "/v1/tokens", "make-token", "Make a token", http.StatusCreated), h.signin.MakeToken)
	add(r, wire.Op(remove, "/v1/tokens/{token}", "revoke-token", "Revoke a token, and end its sign-ins and streams", http.StatusNoContent), h.signin.RevokeToken)
}

// registerSessions registers the routes of single conversations.
func (h *handlers) registerSessions(r *registrar) {
	add(r, wire.Op(post, "/v1/sessions", "create-session", "Create a session", http.StatusCreated), h.sessions.Create)
	add(r, wire.Op(get, "/v1/sessions", "list-sessions", "List sessions, most recently active first"), h.sessions.List)
	add(r, wire.Op(remove, "/v1/sessions", "delete-sessions", "End the sessions that match"), h.sessions.DeleteMatching)
	add(r, wire.Op(get, "/v1/sessions/{id}", "get-session", "Get a session"), h.sessions.Get)
	add(r, unchecked(wire.Op(patch, "/v1/sessions/{id}", "patch-session", "Change a session's settings")), h.sessions.Patch)
	add(r, wire.Op(remove, "/v1/sessions/{id}", "delete-session", "End a session", http.StatusNoContent), h.sessions.Delete)
	add(r, wire.Op(post, "/v1/sessions/{id}/reset", "reset-session", "Start a session over under the same key"), h.sessions.Reset)
	add(r, wire.Op(get, "/v1/sessions/{id}/history", "history", "Get a session's transcript, oldest first"), h.history.Get)
	r.raw(conversation.DescribeTurns(r), h.turns.Say)
	add(r, wire.Op(post, "/v1/wake", "wake", "Say something to a session without waiting for the reply", http.StatusAccepted), h.wakes.Wake)
	r.raw(conversation.DescribeEvents(r), h.events.Watch)
	r.raw(files.DescribeGet(r), h.files.With(h.files.Get))
	r.raw(files.DescribePut(r), h.files.With(files.Put))
	r.raw(files.DescribeDelete(), h.files.With(files.Delete))

	add(r, wire.Op(get, "/v1/runs", "list-runs", "List runs, newest first"), h.runs.List)
	add(r, wire.Op(get, "/v1/runs/{run}", "get-run", "Get a run, or wait for its end"), h.runs.Get)
	add(r, wire.Op(get, "/v1/sessions/{id}/runs", "list-session-runs", "List a session's runs, newest first"), h.runs.ListOfSession)
	add(r, wire.Op(post, "/v1/sessions/{id}/runs/{run}/cancel", "cancel-run", "Stop a session's current run and clear its queue", http.StatusAccepted), h.runs.Cancel)

	add(r, wire.Op(get, "/v1/exchanges", "list-exchanges", "List requests between sessions, newest first"), h.exchanges.List)
	add(r, wire.Op(get, "/v1/exchanges/{exchange}", "get-exchange", "Get an exchange"), h.exchanges.Get)
	r.raw(conversation.DescribeTail(r), h.steps.Tail)
	add(r, wire.Op(post, "/v1/sessions/{id}/tasks", "start-task", "Give a task to a sub-agent of a session", http.StatusAccepted), h.exchanges.StartTask)
}

// registerMessages registers the routes of outgoing messages and of decisions about them.
func (h *handlers) registerMessages(r *registrar) {
	add(r, wire.Op(post, operator.MessagesPath, "send-message", "Send a proactive message through the gate", http.StatusAccepted), h.deliveries.Send)
	add(r, wire.Op(get, "/v1/deliveries", "list-deliveries", "List deliveries, newest first, and count those that are not settled"), h.deliveries.List)
	add(r, wire.Op(get, "/v1/deliveries/{delivery}", "get-delivery", "Get a delivery"), h.deliveries.Get)
	add(r, wire.Op(post, "/v1/deliveries/{delivery}/retry", "retry-delivery", "Send a delivery again that ended without success"), h.deliveries.Retry)
	add(r, wire.Op(post, "/v1/deliveries/{delivery}/discard", "discard-delivery", "Discard a delivery"), h.deliveries.Discard)
	add(r, wire.Op(get, "/v1/directory", "look-up", "Find a conversation by name or id, and its members"), h.deliveries.LookUp)
	add(r, operator.DescribeMedia(), h.media.Get)

	add(r, wire.Op(get, "/v1/approvals", "list-approvals", "List tool calls and messages that wait for a decision, soonest to expire first, or that had one, newest first"), h.approvals.List)
	add(r, wire.Op(get, "/v1/approvals/{approval}", "get-approval", "Get an approval"), h.approvals.Get)
	add(r, wire.Op(post, "/v1/approvals/{approval}/allow", "allow-approval", "Allow a tool call or a message"), h.approvals.Decide(true))
	add(r, wire.Op(post, "/v1/approvals/{approval}/deny", "deny-approval", "Deny a tool call or a message; the model reads the reason"), h.approvals.Decide(false))
	add(r, wire.Op(post, "/v1/approvals/{approval}/always", "always-allow", "Allow a tool call, and save a rule that allows all calls like it; only an owner may"), h.allow.Always)
	add(r, wire.Op(get, "/v1/policy/allow-rules", "list-allow-rules", "List the rules that always allow tool calls, the newest first"), h.allow.List)
	add(r, wire.Op(remove, "/v1/policy/allow-rules/{rule}", "end-allow-rule", "End a rule that always allows tool calls; the next call needs approval again", http.StatusNoContent), h.allow.End)
	add(r, wire.Op(get, "/v1/policy", "get-policy", "Get what may be sent where, how often each rule has applied, and which level may go to which channel"), h.policies.Get)
	add(r, wire.Op(post, "/v1/policy/backtest", "backtest-policy", "Test a proposed policy on stored messages and tool calls: what it would have decided differently; no effects"), h.policies.Backtest)
	add(r, wire.Op(get, operator.CheckPath, "check-policy", "Show what the gate would decide, with every rule that it checks; no effects"), h.policy.Check)
	add(r, wire.Op(post, operator.CheckPath, "check-policy-message", "Show what the gate would decide, like GET, with the message in the body; no effects"), h.policy.CheckMessage)
	add(r, wire.Op(post, "/v1/policy/simulate", "simulate-tool-call", "Show how a tool call of a session would be decided if the caller asked for it, with every rule that is checked; no effects"), h.policy.Simulate)
}

// registerOperations registers the routes for operators.
func (h *handlers) registerOperations(r *registrar) {
	add(r, wire.Op(get, "/v1/memory", "list-memories", "List what agents remember by key, or search it, best match first"), h.memories.List)
	add(r, wire.Op(post, "/v1/memory", "save-memory", "Let an agent remember something under a key, with the label of what the caller says", http.StatusCreated), h.memories.Save)
	add(r, wire.Op(get, "/v1/memory/versions", "list-memory-versions", "List all versions of a key that are kept, newest first"), h.memories.History)
	add(r, wire.Op(get, "/v1/memory/{memory}", "get-memory", "Get a memory with all versions of its key"), h.memories.Get)
	add(r, wire.Op(remove, "/v1/memory/{memory}", "delete-memory", "Delete a memory; its versions are kept", http.StatusNoContent), h.memories.Delete)
	add(r, wire.Op(get, "/v1/pairings", "list-pairings", "List who has asked to talk and who may"), h.pairings.List)
	add(r, wire.Op(post, "/v1/pairings/{code}/approve", "approve-pairing", "Admit the person with this code"), h.pairings.Approve)
	add(r, wire.Op(post, "/v1/pairings/{code}/deny", "deny-pairing", "Refuse the person with this code; they can ask again after a day"), h.pairings.Deny)
	add(r, wire.Op(post, "/v1/pairings/revoke", "revoke-pairing", "Remove an admitted person", http.StatusNoContent), h.pairings.Revoke)
	add(r, wire.Op(get, "/v1/hooks", "list-hooks", "List the configured hooks"), h.hooks.List)
	add(r, wire.Op(get, "/v1/hooks/{name}/requests", "list-hook-requests", "List the requests to a hook and what happened to them, newest first"), h.hooks.Requests)
	add(r, wire.Op(get, "/v1/hooks/{name}/requests/{request}", "get-hook-request", "Get a request to a hook with its payload"), h.hooks.Request)
	add(r, wire.Op(post, "/v1/hooks/{name}/requests/{request}/replay", "replay-hook", "Process a request to a hook again, as a new request", http.StatusAccepted), h.hooks.Replay)
	add(r, wire.Op(post, "/v1/hooks/{name}/test", "test-hook", "Show the filter's result, the session and the prompt for a payload; no effects"), h.hooks.Test)
	add(r, wire.Op(get, "/v1/cron", "list-jobs", "List jobs by id"), h.jobs.List)
	add(r, wire.Op(post, "/v1/cron", "add-job", "Make a job", http.StatusCreated), h.jobs.Add)
	add(r, wire.Op(get, "/v1/cron/{job}", "get-job", "Get a job"), h.jobs.Get)
	add(r, wire.Op(patch, "/v1/cron/{job}", "update-job", "Change a job that was made at run time"), h.jobs.Update)
	add(r, wire.Op(remove, "/v1/cron/{job}", "remove-job", "Remove a job that was made at run time; its history is kept", http.StatusNoContent), h.jobs.Remove)
	add(r, wire.Op(post, "/v1/cron/{job}/run", "run-job", "Fire a job once now", http.StatusAccepted), h.jobs.Run)
	add(r, wire.Op(post, "/v1/cron/{job}/pause", "pause-job", "Pause a job"), h.jobs.Pause)
	add(r, wire.Op(post, "/v1/cron/{job}/resume", "resume-job", "End the pause of a job"), h.jobs.Resume)
	add(r, wire.Op(get, "/v1/cron/{job}/history", "job-history", "List what happened at a job's times, newest first"), h.jobs.History)
	add(r, wire.Op(get, "/v1/audit", "list-audit", "List the audit trail, newest first"), h.audit.List)
	add(r, wire.Op(get, wire.LogPath, "list-logs", "List the newest log lines of this replica, newest first"), h.logs.List)
	add(r, wire.Op(get, "/v1/audit/verify", "verify-audit", "Check that the audit trail is unaltered"), h.audit.Verify)
	add(r, wire.Op(get, "/v1/agents", "list-agents", "List the agents of the configuration"), h.agents.List)
	add(r, wire.Op(get, "/v1/agents/{agent}", "get-agent", "Get an agent"), h.agents.Get)
	add(r, wire.Op(get, "/v1/providers", "list-providers", "List the providers of models, with the keys and models that do not work"), h.providers.List)
	add(r, wire.Op(post, "/v1/providers/{provider}/check", "check-provider", "Ask a model of a provider for a word, with each key"), h.providers.Check)
	add(r, wire.Op(post, "/v1/providers/{provider}/clear", "clear-provider", "Use the keys and models of a provider again that have failed"), h.providers.Clear)
	add(r, usage.Describe(r), h.usage.Get)
	add(r, wire.Op(get, "/v1/budgets", "list-budgets", "List how much of each budget is used"), h.usage.Budgets)
	add(r, wire.Op(get, skills.Path, "list-skills", "List the skills of agents, and what is wrong with those that are refused"), h.skills.List)
	add(r, wire.Op(post, skills.Path, "add-skill", "Add a skill to an agent", http.StatusCreated), h.skills.Add)
	add(r, wire.Op(get, skills.Path+"/{skill}", "get-skill", "Get a skill with its instructions"), h.skills.Get)
	add(r, wire.Op(patch, skills.Path+"/{skill}", "trust-skill", "Pin a skill's content as it is now, trusted or not, at a level"), h.skills.Change)
	add(r, wire.Op(remove, skills.Path+"/{skill}", "remove-skill", "Delete a skill of an agent", http.StatusNoContent), h.skills.Remove)
	add(r, wire.Op(get, "/v1/checks", "list-checks", "List the checks of the configuration with what they found last"), h.checks.List)
	add(r, wire.Op(post, "/v1/checks/{check}/run", "run-check", "Look at a check now"), h.checks.Run)
	add(r, wire.Op(get, settings.Path, "get-config", "Show every setting in effect with its value and its source; values of secrets are left out"), h.settings.Get)
	add(r, wire.Op(get, settings.Path+"/keys", "list-config-keys", "List the settings that can be set"), h.settings.Patterns)
	add(r, wire.Op(post, settings.Path+"/check", "check-config", "Check a change of the configuration, and show what it would do; no effects"), h.settings.Check)
	add(r, wire.Op(put, settings.Path, "save-config", "Save a change of the configuration, and put it into effect"), h.settings.Save)
	add(r, wire.Op(get, settings.Path+"/history", "list-config-versions", "List the kept versions of the configuration, newest first"), h.settings.History)
	add(r, wire.Op(get, "/v1/status", "status", "Get the state of the gateway"), h.status.Get)
	add(r, wire.Op(get, "/v1/overview", "overview", "Get whether all is well, what waits for a person, and what the last day was like"), h.overview.Get)
	r.raw(live.Describe(r), h.live.Watch)
	add(r, wire.Op(get, "/v1/people", "list-people", "List the owners, who has spoken where and by what right, and who may speak on each channel"), h.people.Get)
	add(r, wire.Op(get, "/v1/why/{id}", "why", "Explain what happened to something: one chain of causes, from what the platform reported to the receipt"), h.why.Get)
	r.whole(get, "/v1/why/") // cron/JOB/TIME
	add(r, wire.Op(get, "/v1/refused", "list-refused", "List people whose messages were refused, the latest first"), h.why.Refused)
}

// registerSenders registers the routes for programs that send alerts and notes.
func (h *handlers) registerSenders(r *registrar) {
	r.raw(senders.DescribeNotify(r), h.notify.Send)
	if h.reporting == nil {
		return
	}
	r.raw(senders.DescribeNote(r), h.reporting.notes.Take)
	r.raw(senders.DescribeEnqueue(r), h.reporting.pagerduty.Enqueue)
	for _, route := range h.reporting.alertmanager.Routes() {
		r.raw(route.Operation, route.Handle)
	}
}

// registerAlerts registers the routes of alerts and silences.
func (h *handlers) registerAlerts(r *registrar) {
	add(r, wire.Op(get, "/v1/alerts", "list-alerts", "List alerts, the latest started first"), h.alerts.List)
	add(r, wire.Op(post, "/v1/alerts", "fire-alert", "Report an alert", http.StatusAccepted), h.alerts.Fire)
	add(r, wire.Op(post, "/v1/alerts/test", "test-alert", "Show which routes an alert would take and whom they tell; no effects"), h.alerts.Test)
	add(r, wire.Op(get, "/v1/alerts/{alert}", "get-alert", "Get an alert, with its notifications and why each went out"), h.alerts.Get)
	add(r, wire.Op(post, "/v1/alerts/{alert}/ack", "ack-alert", "Acknowledge an alert, which stops its escalation"), h.alerts.Acknowledge)
	add(r, wire.Op(post, "/v1/alerts/{alert}/resolve", "resolve-alert", "Resolve an alert"), h.alerts.Resolve)
	add(r, wire.Op(post, "/v1/alerts/{alert}/silence", "silence-alert", "Mute an alert for a time"), h.alerts.SilenceAlert)
	add(r, wire.Op(get, "/v1/alert-groups", "list-alert-groups", "List the open alert groups, newest first"), h.alerts.ListGroups)
	add(r, wire.Op(get, "/v1/alert-groups/{group}", "get-alert-group", "Get an open alert group with its alerts and notifications"), h.alerts.GetGroup)
	add(r, wire.Op(get, "/v1/silences", "list-silences", "List silences, those that end first at the top"), h.alerts.ListSilences)
	add(r, wire.Op(post, "/v1/silences", "add-silence", "Keep the alerts quiet that match", http.StatusCreated), h.alerts.AddSilence)
	add(r, wire.Op(get, "/v1/silences/{silence}", "get-silence", "Get a silence"), h.alerts.GetSilence)
	add(r, wire.Op(remove, "/v1/silences/{silence}", "end-silence", "End a silence now", http.StatusNoContent), h.alerts.ExpireSilence)
}

// registerNodes registers the routes of nodes.
func (h *handlers) registerNodes(r *registrar) {
	add(r, wire.Op(get, "/v1/nodes", "list-nodes", "List nodes, and programs that wait for approval"), h.nodes.List)
	add(r, wire.Op(post, "/v1/nodes/approve", "approve-node", "Make the program that shows a code a node"), h.nodes.Approve)
	add(r, wire.Op(patch, "/v1/nodes/{node}", "set-node-level", "Change the level of a node; the node is disconnected and connects again"), h.nodes.SetLevel)
	add(r, wire.Op(remove, "/v1/nodes/{node}", "revoke-node", "Revoke a node's access, and disconnect it", http.StatusNoContent), h.nodes.Revoke)
	add(r, nodes.DescribePair(), h.nodes.Pair)
	r.raw(nodes.DescribeConnect(), h.nodes.Connect)
}

// callback hands a platform's request to its adapter, which checks the signature.
func (h *handlers) callback(w http.ResponseWriter, r *http.Request) error {
	c, ok := h.cfg.Callback(r.PathValue("channel"), r.PathValue("account"))
	if !ok {
		return wire.ErrNotFound
	}
	c.ServeHTTP(w, r)
	return nil
}
