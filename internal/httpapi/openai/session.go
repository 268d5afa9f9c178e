package openai

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"sluice/internal/httpapi/wire"
	"sluice/router/manage"
	"sluice/sessions"
)

// The headers of a request, besides those of OpenAI.
const (
	SessionHeader = "X-Sluice-Session" // a session's id or key
	keyHeader     = "Idempotency-Key"
	labelHeader   = "Sluice-Label"
)

const (
	keyMax   = 200 // bytes
	userMax  = 512
	shortTTL = 4 * time.Hour       // of a session for one request, which ends earlier if it is idle
	storeTTL = 30 * 24 * time.Hour // of a session that later requests can continue
)

// names are what a request says about its session.
type names struct {
	user         string
	conversation string
	previous     string // id of a response
	lasting      bool   // later requests may continue a session that this one begins
	calls        bool   // the agent may call functions of the client, whose results come later
}

// chosen is the session of a request.
type chosen struct {
	sessions.Record
	remembered bool // it knows the earlier messages that the request repeats
}

// idempotencyKey is what names a request.
func idempotencyKey(r *http.Request) (string, error) {
	key := r.Header.Get(keyHeader)
	if len(key) > keyMax {
		return "", refuse(keyHeader, codeInvalid, "it is longer than %d bytes", keyMax)
	}
	return key, nil
}

// choose finds the session of a request, or opens one.
func (a *API) choose(r *http.Request, agent Agent, n names) (chosen, error) {
	ctx := r.Context()
	if name := r.Header.Get(SessionHeader); name != "" {
		record, err := a.Face.Existing(ctx, agent.ID, name)
		return chosen{record, true}, notFound(err, SessionHeader, "there is no session "+wire.Printable(name)+" of this model that your token may see")
	}
	if n.previous != "" && n.conversation != "" {
		return chosen{}, refuse("previous_response_id", codeInvalid, "give this or conversation, not both")
	}
	switch {
	case n.previous != "":
		record, err := a.sessionOf(ctx, agent, n.previous)
		return chosen{record, false}, notFound(err, "previous_response_id", "there is no response "+wire.Printable(n.previous)+" of this model that can be continued; its session may have ended")
	case n.conversation != "":
		record, err := a.Face.Existing(ctx, agent.ID, n.conversation)
		return chosen{record, false}, notFound(err, "conversation", "there is no session "+wire.Printable(n.conversation)+" of this model that your token may see")
	case len(n.user) > userMax:
		return chosen{}, refuse("user", codeInvalid, "it is longer than %d bytes", userMax)
	case n.user != "":
		record, err := a.Face.Open(ctx, agent.ID, manage.NewSession{Persistent: true}, "user", n.user)
		return chosen{record, true}, err
	}
	key := r.Header.Get(keyHeader) // a repeated request finds its session again
	if key == "" {
		key = uuid.NewString()
	}
	fresh := manage.NewSession{TTL: shortTTL, Persistent: n.calls}
	if n.lasting {
		fresh = manage.NewSession{Persistent: true, TTL: storeTTL}
	}
	record, err := a.Face.Open(ctx, agent.ID, fresh, r.URL.Path, key)
	return chosen{record, false}, err
}

// named reports whether a request names its session.
func (n *names) named(r *http.Request) bool {
	return r.Header.Get(SessionHeader) != "" || n.user != "" || n.conversation != "" || n.previous != ""
}

// continued finds the session of the calls whose results a turn has, and makes the results what the agent is told.
func (a *API) continued(ctx context.Context, r *http.Request, agent Agent, n names, t *turn) (chosen, error) {
	run, err := a.calling(ctx, agent, t)
	if err != nil {
		return chosen{}, err
	}
	if n.named(r) {
		other, err := a.choose(r, agent, n)
		if err != nil {
			return chosen{}, err
		}
		if other.ID != run.Session {
			return chosen{}, refuse(t.at, codeInvalid, "the results are of calls in another session; name that session, or none")
		}
	}
	record, err := a.Face.Existing(ctx, agent.ID, string(run.Session))
	if err != nil {
		return chosen{}, notFound(err, t.at, "the session of the calls has ended; start a new conversation")
	}
	return chosen{record, true}, t.report(run)
}

// resultsKey names the request with some results: they are told to the agent once.
func (t *turn) resultsKey() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q", t.text, t.results))
	return "results-" + hex.EncodeToString(sum[:16])
}

// notFound says about a parameter that what it names is missing or hidden.
func notFound(err error, param, text string) error {
	if errors.Is(err, wire.ErrNotFound) || errors.Is(err, sessions.ErrNotFound) {
		return &fault{wire.NewError(http.StatusNotFound, wire.ErrNotFound.Code, param+": "+text), param}
	}
	return err
}

// sessionOf finds the session of a response.
func (a *API) sessionOf(ctx context.Context, agent Agent, response string) (sessions.Record, error) {
	run, _, err := a.run(ctx, response)
	if err != nil {
		return sessions.Record{}, err
	}
	return a.Face.Existing(ctx, agent.ID, string(run.Session))
}

// responsePrefix begins the ids of responses; the rest is that of a run's id.
const responsePrefix = "resp_"

// idOf is the id that clients know a run by.
func idOf(prefix string, run sessions.RunID) string {
	return prefix + strings.TrimPrefix(string(run), "run_")
}

// run finds the run of a response and its agent, if the caller may see it and clients may talk to the agent.
func (a *API) run(ctx context.Context, response string) (run sessions.Run, agent string, err error) {
	digits, ok := strings.CutPrefix(response, responsePrefix)
	id, bad := sessions.ParseRunID("run_" + digits)
	if !ok || bad != nil {
		return run, "", wire.ErrNotFound
	}
	run, agent, err = a.Face.Run(ctx, id)
	if err == nil && !a.published(agent) {
		err = wire.ErrNotFound
	}
	return run, agent, err
}
