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

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/denials"
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
		record, err := a.existing(ctx, agent, name)
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
		record, err := a.existing(ctx, agent, n.conversation)
		return chosen{record, false}, notFound(err, "conversation", "there is no session "+wire.Printable(n.conversation)+" of this model that your token may see")
	case len(n.user) > userMax:
		return chosen{}, refuse("user", codeInvalid, "it is longer than %d bytes", userMax)
	case n.user != "":
		record, err := a.open(ctx, agent, manage.NewSession{Persistent: true}, "user", n.user)
		return chosen{record, true}, err
	}
	key := r.Header.Get(keyHeader) // a repeated request finds its session again
	if key == "" {
		key = uuid.NewString()
	}
	fresh := manage.NewSession{TTL: shortTTL}
	if n.lasting {
		fresh = manage.NewSession{Persistent: true, TTL: storeTTL}
	}
	record, err := a.open(ctx, agent, fresh, r.URL.Path, key)
	return chosen{record, false}, err
}

// notFound says about a parameter that what it names is missing or hidden.
func notFound(err error, param, text string) error {
	if errors.Is(err, wire.ErrNotFound) || errors.Is(err, sessions.ErrNotFound) {
		return &fault{wire.NewError(http.StatusNotFound, wire.ErrNotFound.Code, param+": "+text), param}
	}
	return err
}

// existing finds a session of an agent by its id or key.
func (a *API) existing(ctx context.Context, agent Agent, name string) (sessions.Record, error) {
	record, err := a.Visible.Session(ctx, name)
	if err == nil && record.Agent != agent.ID {
		err = wire.ErrNotFound
	}
	return record, err
}

// sessionOf finds the session of a response.
func (a *API) sessionOf(ctx context.Context, agent Agent, response string) (sessions.Record, error) {
	run, _, err := a.run(ctx, response)
	if err != nil {
		return sessions.Record{}, err
	}
	return a.existing(ctx, agent, string(run.Session))
}

// open opens the session that belongs to something of the caller. Its name has the caller's level: with another level, the
// same caller gets another session, so that none is ever above who opens it.
func (a *API) open(ctx context.Context, agent Agent, n manage.NewSession, kind, of string) (sessions.Record, error) {
	who := auth.CallerOf(ctx)
	n.Agent, n.Clearance = agent.ID, who.Level
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %s %q %q", who.Name, who.Level, kind, of))
	record, err := a.Keeper.OpenSession(ctx, "openai-"+hex.EncodeToString(sum[:16]), n)
	if err != nil {
		return record, err
	}
	return a.Visible.UnlessHidden(ctx, record)
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
	run, err = a.Turns.Runs.Run(ctx, id)
	if err := a.Visible.Check(ctx, err, denials.Object{Kind: "run", ID: string(run.ID), Label: run.Label}, run.Session); err != nil {
		return run, "", err
	}
	record, err := a.Visible.Rows.Session(ctx, run.Session)
	if err == nil && !a.published(record.Agent) {
		err = wire.ErrNotFound
	}
	return run, record.Agent, err
}
