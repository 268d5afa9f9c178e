package auth

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"strings"

	"sluice/policy"
	"sluice/policy/flow"
)

// Role is what a caller may do.
type Role string

// The roles. An owner does everything that its level allows, as the gateway's own token does; an operator acts up to its
// level; a viewer only reads; a sender sends alerts and notes and does nothing else.
const (
	RoleOwner    Role = "owner"
	RoleOperator Role = "operator"
	RoleViewer   Role = "viewer"
	RoleSender   Role = "sender"
)

// ParseRole reads a role. The configuration may call a viewer a reader.
func ParseRole(text string) Role {
	if text == "reader" {
		return RoleViewer
	}
	return Role(text)
}

// operator is the actor in the audit trail for the gateway's own token.
const operator = "operator"

// Caller is who makes a request. The zero value sees and does nothing.
type Caller struct {
	Name  string     // of the token; empty: the gateway's own
	Level flow.Level // the highest level that the caller may see
	Role  Role
	// Page: the request comes from the gateway's own page, or from another page in a browser. Level is then at most the page's.
	Page bool
	// SignIn is the sign-in of the browser that makes the request; empty: the request carries a token itself.
	SignIn string
}

// proxied begins the name of a person whom a trusted proxy has named.
const proxied = "proxy:"

// Proxied reports whether a trusted proxy has named the caller.
func (c Caller) Proxied() bool { return strings.HasPrefix(c.Name, proxied) }

// Actor is the caller's name in the audit trail.
func (c Caller) Actor() string {
	switch {
	case c.Name == "":
		return operator
	case c.Proxied():
		return c.Name
	}
	return "token:" + c.Name
}

// Owner reports whether the caller acts as an owner: with the gateway's own token, or with another token of this role.
func (c Caller) Owner() bool { return c.Role == RoleOwner }

// OnPage reports whether the owner speaks on the page. The page is a chat like any other: the session hears what is said
// there whatever it has learnt, and the gate decides about the answer.
func (c Caller) OnPage() bool { return c.Page && c.Owner() }

// Sees reports whether a label is within the caller's level. A missing label is above every level but the highest.
func (c Caller) Sees(l flow.Label) bool { return c.SeesAll() || l.FlowsTo(c.Level) }

// SeesAll reports whether nothing is above the caller's level.
func (c Caller) SeesAll() bool { return flow.CanFlow(flow.Restricted, c.Level) }

// Quotes shows the caller those texts of other people that are within the caller's level.
func (c Caller) Quotes() *policy.Quotation { return policy.NewQuotation(c.Level) }

// Key makes a caller's idempotency key its own: the same key from another token is another request. Empty stays empty.
func (c Caller) Key(key string) string {
	switch {
	case key == "":
		return ""
	case c.Name == "":
		return "api/" + key
	}
	return "token:" + c.Name + "/" + key
}

// alertKeyMax is the longest key of an alert, in bytes.
const alertKeyMax = 255

// AlertKey is the key of a caller's alert. The keys of a named token are its own: the same key from another token means another
// alert. What would be too long is hashed.
func (c Caller) AlertKey(key string) string {
	if c.Owner() {
		return key
	}
	if len(c.Name)+1+len(key) > alertKeyMax {
		key = fmt.Sprintf("%x", sha256.Sum256([]byte(key)))
	}
	return c.Name + "/" + key
}

// Request is a request that was let in, and who makes it.
type Request struct {
	Caller Caller
	HTTP   *http.Request // nil in the zero value
}

type requestKey struct{}

// Admit puts the caller into a request's context.
func Admit(r *http.Request, who Caller) *http.Request {
	in := &Request{Caller: who}
	in.HTTP = r.WithContext(context.WithValue(r.Context(), requestKey{}, in))
	return in.HTTP
}

// As is a context in which the gateway works for a caller outside a request.
func As(ctx context.Context, who Caller) context.Context {
	return context.WithValue(ctx, requestKey{}, &Request{Caller: who})
}

type countedKey struct{}

// Counted marks the context of a request that the gateway makes on behalf of a request that was counted already.
func Counted(ctx context.Context) context.Context { return context.WithValue(ctx, countedKey{}, true) }

// IsCounted reports whether a context is [Counted].
func IsCounted(ctx context.Context) bool { return ctx.Value(countedKey{}) != nil }

// RequestOf returns the admitted request that a context belongs to, or the zero value if the context belongs to no request.
func RequestOf(ctx context.Context) Request {
	if r, ok := ctx.Value(requestKey{}).(*Request); ok {
		return *r
	}
	return Request{}
}

// Operation is the route of the request; empty until the request has been routed.
func (r Request) Operation() string {
	if r.HTTP == nil {
		return ""
	}
	return r.HTTP.Pattern
}

// CallerOf is who makes the request that a context belongs to. Every endpoint filters by the caller's level. Without an
// admitted request it is the zero Caller, which sees nothing.
func CallerOf(ctx context.Context) Caller { return RequestOf(ctx).Caller }
