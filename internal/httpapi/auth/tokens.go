package auth

import (
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"

	"sluice/policy/flow"
)

// pageHeader is what the page sends with each request. The headers that browsers add by themselves count as well.
const pageHeader = "Sluice-Client"

// Credential is one token of the API, and what its bearer may see and do.
type Credential struct {
	Name  string // in the audit trail as token:<name>; empty: the gateway's own token
	Token string
	Level flow.Level // the highest level that its bearer may see
	Role  Role
}

// Tokens are the tokens that the API accepts.
type Tokens struct {
	known     []hashed
	pageLevel func() flow.Level // the highest level that may be shown on the page
}

// hashed is a credential with its token hashed, so that comparing takes the same time whatever the token's length or beginning.
type hashed struct {
	sum [sha256.Size]byte
	Caller
}

// NewTokens makes Tokens from credentials.
func NewTokens(all []Credential, pageLevel func() flow.Level) *Tokens {
	t := &Tokens{pageLevel: pageLevel}
	for _, c := range all {
		t.known = append(t.known, hashed{sha256.Sum256([]byte(c.Token)), Caller{Name: c.Name, Level: c.Level, Role: c.Role}})
	}
	return t
}

// Secret is the same in every replica that has the same first token.
func (t *Tokens) Secret() [sha256.Size]byte {
	if len(t.known) == 0 {
		return [sha256.Size]byte{}
	}
	return t.known[0].sum
}

// Identify finds the bearer of a request's token. With basic, the token may also be the password of the basic scheme,
// with any user name.
func (t *Tokens) Identify(r *http.Request, basic bool) (Caller, bool) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok && basic {
		_, token, ok = r.BasicAuth()
	}
	who, known := t.Bearer(token)
	if !ok || !known {
		return Caller{}, false
	}
	if fromBrowser(r.Header) {
		who.Page, who.Level = true, flow.Min(who.Level, t.pageLevel())
	}
	return who, true
}

// Bearer finds whose token it is. It compares with every token, also after one fits.
func (t *Tokens) Bearer(token string) (Caller, bool) {
	got := sha256.Sum256([]byte(strings.TrimSpace(token)))
	found := -1
	for i, c := range t.known {
		if subtle.ConstantTimeCompare(got[:], c.sum[:]) == 1 {
			found = i
		}
	}
	if found < 0 {
		return Caller{}, false
	}
	return t.known[found].Caller, true
}

// Named finds what the bearer of a token may see and do now; an empty name means the gateway's own token.
func (t *Tokens) Named(name string) (Caller, bool) {
	for _, c := range t.known {
		if c.Name == name {
			return c.Caller, true
		}
	}
	return Caller{}, false
}

// fromBrowser reports whether a page in a browser makes the request.
func fromBrowser(h http.Header) bool {
	return h.Get(pageHeader) != "" || h.Get("Sec-Fetch-Site") != "" || h.Get("Origin") != ""
}
