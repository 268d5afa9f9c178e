package httpapi

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"

	"sluice/policy"
	"sluice/policy/flow"
)

// Role is what a caller may do.
type Role string

// The roles. A reader only looks; an operator acts up to its level. Only the gateway's own token acts as an owner.
const (
	RoleOperator Role = "operator"
	RoleReader   Role = "reader"
)

// Credential is one token of the API, and what its bearer may see and do.
type Credential struct {
	Name  string // in the audit trail as token:<name>; empty: it is the gateway's own token
	Token string
	Level flow.Level // the most that its bearer sees
	Role  Role
}

// caller is who has made a request. Its zero value sees and does nothing.
type caller struct {
	Name  string // of the token; empty: the gateway's own
	Level flow.Level
	Role  Role
	// Page: the request was made by the gateway's own page, or by another in a browser. Level is at most the page's.
	Page bool
}

// pageHeader is what the page says of itself with each request. Where a browser
// says of its own that it asks, that counts as well.
const pageHeader = "Sluice-Client"

type requestKey struct{}

// request is one that was let in, and who has made it.
type request struct {
	caller caller
	http   *http.Request // nil: there is none
}

// requestOf is the request whose context this is; the zero value where nobody was let in.
func requestOf(ctx context.Context) request {
	if r, ok := ctx.Value(requestKey{}).(*request); ok {
		return *r
	}
	return request{}
}

// operation is the route of what was asked for; empty before there is one.
func (r request) operation() string {
	if r.http == nil {
		return ""
	}
	return r.http.Pattern
}

// callerOf is who has made the request whose context this is. Its level is what
// every endpoint filters by. Where nobody was let in, it sees nothing.
func callerOf(ctx context.Context) caller {
	return requestOf(ctx).caller
}

// operator is who acts with the gateway's own token.
const operator = "operator"

// actor is the caller's name in the audit trail.
func (c caller) actor() string {
	if c.Name == "" {
		return operator
	}
	return "token:" + c.Name
}

// sees reports whether a label is within the caller's level. One that was lost is the top.
func (c caller) sees(l flow.Label) bool { return c.seesAll() || l.FlowsTo(c.Level) }

// quotes shows the caller of what others have set what is within the caller's level.
func (c caller) quotes() *policy.Quotation { return policy.NewQuotation(c.Level) }

// seesAll reports whether nothing is above the caller's level.
func (c caller) seesAll() bool { return flow.CanFlow(flow.Restricted, c.Level) }

// hashed is a credential without its token, so that neither the token's length nor its beginning shows in the time.
type hashed struct {
	sum [sha256.Size]byte
	caller
}

func hashCredentials(all []Credential) []hashed {
	out := make([]hashed, len(all))
	for i, c := range all {
		out[i] = hashed{sha256.Sum256([]byte(c.Token)), caller{Name: c.Name, Level: c.Level, Role: c.Role}}
	}
	return out
}

// identify finds whose token a request bears. Every token is looked at, whichever fits.
func (s *Server) identify(r *http.Request) (caller, bool) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	got := sha256.Sum256([]byte(strings.TrimSpace(token)))
	found := -1
	for i, c := range s.credentials {
		if subtle.ConstantTimeCompare(got[:], c.sum[:]) == 1 {
			found = i
		}
	}
	if !ok || found < 0 {
		return caller{}, false
	}
	who := s.credentials[found].caller
	if r.Header.Get(pageHeader) != "" || r.Header.Get("Sec-Fetch-Site") != "" || r.Header.Get("Origin") != "" {
		who.Page, who.Level = true, flow.Min(who.Level, s.cfg.SinkLevel(s.cfg.PageRoute))
	}
	return who, true
}

// admit puts the caller into the request, or says why it may not be made.
func (s *Server) admit(r *http.Request) (*http.Request, *apiError) {
	who, ok := s.identify(r)
	switch {
	case !ok:
		s.denyStranger(r)
		return r, &apiError{http.StatusUnauthorized, "unauthorized", "want the header Authorization: Bearer <token>; the token is in the file token of the state folder"}
	case who.Role != RoleOperator && r.Method != http.MethodGet && r.Method != http.MethodHead:
		s.denyForbidden(r, who)
		return r, forbidden("the token " + who.Name + " may only read: its role is reader; gateway.tokens in the configuration says so")
	}
	in := &request{caller: who}
	in.http = r.WithContext(context.WithValue(r.Context(), requestKey{}, in))
	return in.http, nil
}

// forbidden refuses what a caller may never do, whatever there is: it tells nothing of what is hidden.
func forbidden(message string) *apiError {
	return &apiError{http.StatusForbidden, "forbidden", message}
}
