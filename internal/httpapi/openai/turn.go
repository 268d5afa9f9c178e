package openai

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"sluice/internal/httpapi/conversation"
	"sluice/internal/httpapi/wire"
	"sluice/router/ledger"
	"sluice/sessions"
)

// begin takes the turn of a request in. The context must end with the request.
func (a *API) begin(ctx context.Context, w http.ResponseWriter, r *http.Request, agent Agent, n names, t turn) (*conversation.Started, error) {
	key, err := idempotencyKey(r)
	if err != nil {
		return nil, err
	}
	if agent.Program && len(t.functions) > 0 {
		return nil, refuse("tools", codeUnsupported, "a program works as this agent, and it can't call functions of the client; leave it out")
	}
	var session chosen
	if len(t.results) > 0 {
		session, err = a.continued(ctx, r, agent, n, &t)
		key = cmp.Or(key, t.resultsKey())
	} else {
		n.calls = len(t.functions) > 0
		session, err = a.choose(r, agent, n)
	}
	if err != nil {
		return nil, err
	}
	if session.remembered && len(t.results) == 0 {
		t.quotations = nil
	}
	got, err := a.Turns.Start(ctx, session.Record, conversation.Turn{Text: t.text, ID: key, Label: r.Header.Get(labelHeader), Quotations: t.quotations, Functions: t.functions})
	if err != nil {
		return nil, err
	}
	if got.Outcome == ledger.OutcomeIgnored {
		end, err := a.Turns.Finish(ctx, got)
		return nil, cmp.Or(err, error(wire.NewError(http.StatusBadRequest, "not_taken", cmp.Or(end.Text, "the agent does not take this message"))))
	}
	w.Header().Set("X-Session-Id", string(got.Of))
	if got.Run != "" {
		w.Header().Set("X-Run-Id", string(got.Run))
		w.Header().Set("X-Request-Id", string(got.Run)) // clients show it with their errors
	}
	return got, nil
}

// failure is why a run that has ended has no reply; nil if it has one, or if the reply is withheld.
func failure(end conversation.End) *wire.Error {
	switch {
	case end.Withheld != nil, end.Status == sessions.RunDone, end.Status == "":
		return nil
	case !end.Status.Terminal():
		return wire.NewError(http.StatusGatewayTimeout, "run_timeout", "the agent still works on the message; repeat the request with the same "+keyHeader+" to wait on")
	case end.Status == sessions.RunTimeout:
		return wire.NewError(http.StatusGatewayTimeout, "run_timeout", cmp.Or(end.Text, "the agent ran out of time"))
	case end.Status == sessions.RunAborted, end.Status == sessions.RunDropped:
		return wire.NewError(http.StatusConflict, "run_aborted", cmp.Or(end.Text, "the run was stopped"))
	}
	return wire.NewError(http.StatusBadGateway, "run_failed", cmp.Or(end.Text, "the agent failed"))
}

// finish waits for the end of a turn. If the run has no reply, the clients are told not to repeat the request by themselves.
func (a *API) finish(ctx context.Context, w http.ResponseWriter, got *conversation.Started) (conversation.End, error) {
	end, err := a.Turns.Finish(ctx, got)
	if err != nil {
		return end, err
	}
	if failed := failure(end); failed != nil {
		once(w.Header())
		return end, failed
	}
	return end, nil
}

// isLast reports whether an event is the last of its turn. A notice without buttons is the gateway's own answer; one with buttons
// is a question, which a person answers elsewhere.
func isLast(e conversation.EventRecord) bool {
	return e.Type.Terminal() || e.Type == sessions.EventNotice && len(e.Buttons) == 0
}

var (
	// errOver ends a stream that has had its last event.
	errOver = errors.New("the stream is over")
	// errRestarted: text that was sent already is void, and a client can't take it back.
	errRestarted = wire.NewError(http.StatusBadGateway, "stream_restarted", "the model failed in the middle of its reply and began again; repeat the request with the same "+keyHeader+" and without stream to get the whole reply")
	// errCut: the stream ends, and the run goes on.
	errCut = wire.NewError(http.StatusServiceUnavailable, "stream_cut", "the stream ended before the reply; the run continues: repeat the request with the same "+keyHeader)
)
