package denials

import (
	"context"
	"net"
	"net/http"
	"strings"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/wire"
	"sluice/policy/flow"
	"sluice/sessions"
)

// Reason says why a caller was not shown something, or not allowed to do it.
type Reason string

// The reasons.
const (
	AboveLevel Reason = "above the caller's level"
	HeldByGate Reason = "withheld by the gate"
	notAllowed Reason = "the caller's role, its level or a rule forbids it"
	badToken   Reason = "unknown token"
	tooMany    Reason = "more different denials than are listed separately"
)

// Object is what a caller was not shown.
type Object struct {
	Kind    string // session, run, delivery …
	ID      string // as stored, or as the caller has named it
	Session sessions.ID
	Label   flow.Label
}

// Hidden notes that the caller was not shown an object. It never waits.
func (t *Trail) Hidden(ctx context.Context, o Object, why Reason) {
	asked := auth.RequestOf(ctx)
	t.note(denial{
		key:       key{asked.Caller.Actor(), o.Kind, wire.Printable(o.ID), why},
		operation: asked.Operation(), session: o.Session, label: o.Label, level: asked.Caller.Level, role: asked.Caller.Role,
	})
}

// Stranger notes a wrong token and where it came from, but not the token. A request without any token is not noted.
func (t *Trail) Stranger(r *http.Request) {
	if strings.TrimSpace(r.Header.Get("Authorization")) != "" {
		t.WrongToken(r)
	}
}

// WrongToken notes a wrong token that is not in a header.
func (t *Trail) WrongToken(r *http.Request) {
	from, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		from = r.RemoteAddr
	}
	t.refused(r, auth.Caller{}, key{"unknown", "token", wire.Printable(from), badToken})
}

// Forbidden notes that a caller got 403.
func (t *Trail) Forbidden(r *http.Request, who auth.Caller) {
	t.refused(r, who, key{who.Actor(), "path", wire.Printable(r.URL.EscapedPath()), notAllowed})
}

// refused notes a request that was refused as a whole. Only who sees everything may read of it.
func (t *Trail) refused(r *http.Request, who auth.Caller, k key) {
	t.note(denial{
		key: k, operation: wire.Printable(r.Method + " " + r.URL.EscapedPath()), label: flow.Top(), level: who.Level, role: who.Role,
	})
}

// Unsigned notes a request to a hook whose sender could not be verified, and where it came from.
func (t *Trail) Unsigned(r *http.Request) {
	from, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		from = r.RemoteAddr
	}
	t.refused(r, auth.Caller{}, key{"unknown", "hook", wire.Printable(from), badToken})
}
