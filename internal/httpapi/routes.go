package httpapi

import (
	"net/http"

	"sluice/internal/httpapi/conversation"
	"sluice/internal/httpapi/operator"
	"sluice/internal/httpapi/wire"
)

const (
	get    = http.MethodGet
	post   = http.MethodPost
	put    = http.MethodPut
	patch  = http.MethodPatch
	remove = http.MethodDelete
)

// register registers every route of the server, in the order of docs/http.md.
func (h *handlers) register(r *registrar) {
	h.registerSessions(r)
	h.registerMessages(r)
	h.registerOperations(r)

	r.mux.HandleFunc("GET /healthz", operator.Alive)
	r.mux.HandleFunc("GET /readyz", r.plain(h.status.Ready))
	r.mux.Handle("GET /metrics", needAll(h.cfg.Metrics))
	r.mux.HandleFunc("POST /channels/{channel}/{account}", r.plain(h.callback))
	r.mux.HandleFunc("/v1/", r.plain(func(http.ResponseWriter, *http.Request) error { return wire.ErrNotFound }))
	r.mux.Handle("/", h.cfg.Page)
}

// registerSessions registers what is about one conversation.
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
	r.raw(conversation.DescribeEvents(r), h.events.Watch)
	r.raw(conversation.DescribeGetFile(r), h.files.With(h.files.Get))
	r.raw(conversation.DescribePutFile(r), h.files.With(conversation.PutFile))
	r.raw(conversation.DescribeDeleteFile(), h.files.With(conversation.DeleteFile))

	add(r, wire.Op(get, "/v1/runs", "list-runs", "List runs, newest first"), h.runs.List)
	add(r, wire.Op(get, "/v1/runs/{run}", "get-run", "Get a run, or wait for its end"), h.runs.Get)
	add(r, wire.Op(get, "/v1/sessions/{id}/runs", "list-session-runs", "List a session's runs, newest first"), h.runs.ListOfSession)
	add(r, wire.Op(post, "/v1/sessions/{id}/runs/{run}/cancel", "cancel-run", "Stop a session's current run and clear its queue", http.StatusAccepted), h.runs.Cancel)

	add(r, wire.Op(get, "/v1/exchanges", "list-exchanges", "List requests between sessions, newest first"), h.exchanges.List)
	add(r, wire.Op(get, "/v1/exchanges/{exchange}", "get-exchange", "Get an exchange"), h.exchanges.Get)
	add(r, wire.Op(post, "/v1/sessions/{id}/tasks", "start-task", "Give a task to a sub-agent of a session", http.StatusAccepted), h.exchanges.StartTask)
}

// registerMessages registers what is sent to people, and what decides about it.
func (h *handlers) registerMessages(r *registrar) {
	add(r, wire.Op(post, operator.MessagesPath, "send-message", "Send a message that answers nothing, through the gate", http.StatusAccepted), h.deliveries.Send)
	add(r, wire.Op(get, "/v1/deliveries", "list-deliveries", "List deliveries, newest first, and count the unsettled ones"), h.deliveries.List)
	add(r, wire.Op(get, "/v1/deliveries/{delivery}", "get-delivery", "Get a delivery"), h.deliveries.Get)
	add(r, wire.Op(post, "/v1/deliveries/{delivery}/retry", "retry-delivery", "Send a delivery again that ended without success"), h.deliveries.Retry)
	add(r, wire.Op(post, "/v1/deliveries/{delivery}/discard", "discard-delivery", "Discard a delivery"), h.deliveries.Discard)
	add(r, wire.Op(get, "/v1/directory", "look-up", "Find a conversation by name or id, and its members"), h.deliveries.LookUp)
	add(r, operator.DescribeMedia(), h.media.Get)

	add(r, wire.Op(get, "/v1/approvals", "list-approvals", "List tool calls and messages that wait for a decision, or had one, newest first"), h.approvals.List)
	add(r, wire.Op(get, "/v1/approvals/{approval}", "get-approval", "Get an approval"), h.approvals.Get)
	add(r, wire.Op(post, "/v1/approvals/{approval}/allow", "allow-approval", "Allow a tool call or a message"), h.approvals.Decide(true))
	add(r, wire.Op(post, "/v1/approvals/{approval}/deny", "deny-approval", "Deny a tool call or a message; the model reads the reason"), h.approvals.Decide(false))
	add(r, wire.Op(get, "/v1/policy/check", "check-policy", "Show what the gate would decide, with every rule that it checks; no effects"), h.policy.Check)
	add(r, wire.Op(post, "/v1/policy/simulate", "simulate-tool-call", "Show how a tool call of a session would be decided if the caller asked for it, with every rule that is checked; no effects"), h.policy.Simulate)
}

// registerOperations registers what operators look after.
func (h *handlers) registerOperations(r *registrar) {
	add(r, wire.Op(get, "/v1/memory", "list-memories", "List what agents remember by key, or search it, best match first"), h.memories.List)
	add(r, wire.Op(get, "/v1/memory/{memory}", "get-memory", "Get a memory with all versions of its key"), h.memories.Get)
	add(r, wire.Op(remove, "/v1/memory/{memory}", "delete-memory", "Delete a memory; its versions are kept", http.StatusNoContent), h.memories.Delete)
	add(r, wire.Op(get, "/v1/pairings", "list-pairings", "List who has asked to talk and who may"), h.pairings.List)
	add(r, wire.Op(post, "/v1/pairings/{code}/approve", "approve-pairing", "Admit the person with this code"), h.pairings.Approve)
	add(r, wire.Op(post, "/v1/pairings/{code}/deny", "deny-pairing", "Refuse the person with this code; they may ask again after a day"), h.pairings.Deny)
	add(r, wire.Op(post, "/v1/pairings/revoke", "revoke-pairing", "Remove an admitted person", http.StatusNoContent), h.pairings.Revoke)
	add(r, wire.Op(get, "/v1/audit", "list-audit", "List the audit trail, newest first"), h.audit.List)
	add(r, wire.Op(get, "/v1/audit/verify", "verify-audit", "Check that the audit trail is unaltered"), h.audit.Verify)
	add(r, wire.Op(get, "/v1/status", "status", "Get the state of the gateway"), h.status.Get)
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
