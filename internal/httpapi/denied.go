package httpapi

import (
	"context"
	"net"
	"net/http"
	"strings"

	"sluice/policy/flow"
	"sluice/sessions"
)

// Why a caller was not told something, or not let do it.
const (
	whyAbove  = "above the caller's level"
	whyHeld   = "held back by the gate"
	whyRefuse = "its role, its level or a rule does not allow it"
	whyToken  = "a token that is none"
)

// object is what a caller was not told of.
type object struct {
	kind    string // session, run, delivery …
	id      string // as it is stored, or as the caller has named it
	session sessions.ID
	label   flow.Label
}

// denied notes for the operator what a caller was not told. It never waits.
func (s *Server) denied(ctx context.Context, o object, why string) {
	asked := requestOf(ctx)
	s.denials.note(denial{
		denialKey: denialKey{asked.caller.actor(), o.kind, printable(o.id), why},
		operation: asked.operation(), session: o.session, label: o.label, level: asked.caller.Level, role: asked.caller.Role,
	})
}

// denyRequest notes a request that was refused as a whole: only who sees everything is told of it.
func (s *Server) denyRequest(r *http.Request, actor string, who caller, o object, why string) {
	o.label = flow.Top()
	s.denials.note(denial{
		denialKey: denialKey{actor, o.kind, printable(o.id), why},
		operation: printable(r.Method + " " + r.URL.EscapedPath()), label: o.label, level: who.Level, role: who.Role,
	})
}

// denyStranger notes a wrong token, but not which, and where it came from.
func (s *Server) denyStranger(r *http.Request) {
	if strings.TrimSpace(r.Header.Get("Authorization")) == "" {
		return // it does not try one
	}
	from, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		from = r.RemoteAddr
	}
	s.denyRequest(r, "unknown", caller{}, object{kind: "token", id: from}, whyToken)
}

// denyForbidden notes that a caller was told 403.
func (s *Server) denyForbidden(r *http.Request, who caller) {
	s.denyRequest(r, who.actor(), who, object{kind: "path", id: r.URL.EscapedPath()}, whyRefuse)
}
