package auth

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"sluice/internal/httpapi/wire"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

// pageHeader is what the page sends with each request. The headers that browsers add by themselves count as well.
const pageHeader = "Sluice-Client"

// ErrUnknown means that a request has no token, sign-in or person that the gateway knows.
var ErrUnknown = errors.New("unknown caller")

// Credential is one token of the API, and what its bearer may see and do.
type Credential struct {
	Name  string // in the audit trail as token:<name>; empty: the gateway's own token
	Token string
	Level flow.Level // the highest level that its bearer may see
	Role  Role
}

// Rows reads the tokens that were made at run time, and who has signed in. What is missing is sessions.ErrNotFound.
type Rows interface {
	TokenBySum(ctx context.Context, sum string) (ledger.APIToken, error)
	TokenNamed(ctx context.Context, name string) (ledger.APIToken, error)
	SignInByCookie(ctx context.Context, sum string) (ledger.SignIn, error)
	SignIn(ctx context.Context, id string) (ledger.SignIn, error)
}

// Config is what Tokens need.
type Config struct {
	Credentials []Credential // the gateway's own token is the first
	PageLevel   func() flow.Level
	Rows        Rows
	Proxy       Proxy
	Now         func() time.Time
}

// Tokens know who may call the API. Safe for concurrent use.
type Tokens struct {
	configured atomic.Pointer[configured]
	secret     [sha256.Size]byte
	cfg        Config
	live       *Live
	uses       *Uses
}

// configured is the part of the configuration that decides who may call.
type configured struct {
	known []hashed
	proxy Proxy
}

// hashed is a credential with its token hashed, so that comparing takes the same time whatever the token's length or beginning.
type hashed struct {
	sum [sha256.Size]byte
	Caller
}

// NewTokens makes Tokens.
func NewTokens(cfg Config) *Tokens {
	t := &Tokens{cfg: cfg, uses: newUses(cfg.Now)}
	t.live = &Live{still: t.still, open: map[*watched]struct{}{}}
	t.set(cfg.Credentials, cfg.Proxy)
	if known := t.known(); len(known) > 0 {
		t.secret = known[0].sum
	}
	return t
}

func (t *Tokens) set(credentials []Credential, proxy Proxy) {
	c := &configured{proxy: proxy}
	for _, one := range credentials {
		c.known = append(c.known, hashed{sha256.Sum256([]byte(one.Token)), Caller{Name: one.Name, Level: one.Level, Role: one.Role}})
	}
	t.configured.Store(c)
}

func (t *Tokens) known() []hashed { return t.configured.Load().known }

// Configure puts other tokens and proxies into effect. Requests and streams of callers whose access ends or changes are ended,
// also those of browsers that were signed in with the token, and those of people whom a proxy has identified.
func (t *Tokens) Configure(ctx context.Context, credentials []Credential, proxy Proxy) {
	before := t.known()
	t.set(credentials, proxy)
	after := t.known()
	t.live.End(func(who Caller) bool {
		return who.Proxied() || find(before, who.Name) != find(after, who.Name) || who.Page && !flow.CanFlow(who.Level, t.cfg.PageLevel())
	})
	limited, done := context.WithTimeout(ctx, recheckEvery) // the keeper looks again
	defer done()
	t.live.Recheck(limited)
}

// SignOut is where the proxy signs people out; empty: unknown.
func (t *Tokens) SignOut() string { return t.configured.Load().proxy.SignOut }

// find returns the credential with a name, or the zero value.
func find(known []hashed, name string) hashed {
	if i := slices.IndexFunc(known, func(c hashed) bool { return c.Name == name }); i >= 0 {
		return known[i]
	}
	return hashed{}
}

// Current returns a function that reports whether the tokens and proxies of now are still in effect.
func (t *Tokens) Current() func() bool {
	now := t.configured.Load()
	return func() bool { return t.configured.Load() == now }
}

// Live knows the requests that end when their callers lose their access.
func (t *Tokens) Live() *Live { return t.live }

// Uses knows when tokens and sign-ins were last used.
func (t *Tokens) Uses() *Uses { return t.uses }

// Secret is the same in every replica that was started with the same first token.
func (t *Tokens) Secret() [sha256.Size]byte { return t.secret }

// Configured are the callers of the configured tokens, the gateway's own first.
func (t *Tokens) Configured() []Caller {
	known := t.known()
	all := make([]Caller, len(known))
	for i, c := range known {
		all[i] = c.Caller
	}
	return all
}

// Identify finds who makes a request: the bearer of its token, whoever has signed in with this browser, or the person whom a
// trusted proxy names. With basic, the token may also be the password of the basic scheme, with any user name. If the
// request has nobody that the gateway knows, it returns ErrUnknown.
func (t *Tokens) Identify(r *http.Request, basic bool) (Caller, error) {
	who, err := t.identify(r, basic)
	if err != nil {
		return Caller{}, err
	}
	if who.SignIn != "" || fromBrowser(r.Header) {
		who.Page, who.Level = true, flow.Min(who.Level, t.cfg.PageLevel())
	}
	t.uses.note(who)
	return who, nil
}

func (t *Tokens) identify(r *http.Request, basic bool) (Caller, error) {
	given := r.Header.Get("Authorization")
	token, ok := wire.Bearer(r)
	if !ok && basic {
		_, token, ok = r.BasicAuth()
	}
	switch {
	case ok:
		return t.Bearer(r.Context(), token)
	case given != "":
		return Caller{}, ErrUnknown
	}
	if who, err := t.signedIn(r); !errors.Is(err, ErrUnknown) {
		return who, err
	}
	return t.configured.Load().proxy.person(r)
}

// Sum is the hash under which a secret is stored, in hexadecimal. Secrets are random and long, so they need no salt.
func Sum(secret string) string {
	sum := sha256.Sum256([]byte(strings.TrimSpace(secret)))
	return hex.EncodeToString(sum[:])
}

// Bearer finds whose token it is. It compares with every configured token, also after one fits.
func (t *Tokens) Bearer(ctx context.Context, token string) (Caller, error) {
	got := sha256.Sum256([]byte(strings.TrimSpace(token)))
	known, found := t.known(), -1
	for i, c := range known {
		if subtle.ConstantTimeCompare(got[:], c.sum[:]) == 1 {
			found = i
		}
	}
	if found >= 0 {
		return known[found].Caller, nil
	}
	if !strings.HasPrefix(strings.TrimSpace(token), MadePrefix) {
		return Caller{}, ErrUnknown // only what looks like a token of a row costs a look into the store
	}
	who, err := t.made(t.cfg.Rows.TokenBySum(ctx, hex.EncodeToString(got[:])))
	if err == nil && t.taken(who.Name) { // the configured token was added later: a token must not get the role of another token with the same name
		return Caller{}, ErrUnknown
	}
	return who, err
}

// SeesAll reports whether a caller's token has the highest level, even if the page is limited to a lower one.
func (t *Tokens) SeesAll(ctx context.Context, who Caller) bool {
	own, err := t.Named(ctx, who.Name)
	return err == nil && own.SeesAll()
}

// taken reports whether the configuration has a token of this name.
func (t *Tokens) taken(name string) bool {
	return slices.ContainsFunc(t.known(), func(c hashed) bool { return c.Name == name })
}

// MadePrefix begins every token that the gateway makes at run time.
const MadePrefix = "slt_"

// made is the bearer of a token's row.
func (t *Tokens) made(row ledger.APIToken, err error) (Caller, error) {
	switch {
	case errors.Is(err, sessions.ErrNotFound):
		return Caller{}, ErrUnknown
	case err != nil:
		return Caller{}, fmt.Errorf("read token: %w", err)
	case !row.Expires.IsZero() && !row.Expires.After(t.cfg.Now()):
		return Caller{}, ErrUnknown
	}
	return Caller{Name: row.Name, Level: row.Level, Role: Role(row.Role)}, nil
}

// Named finds what the bearer of a token may see and do now; an empty name means the gateway's own token.
func (t *Tokens) Named(ctx context.Context, name string) (Caller, error) {
	who, _, err := t.named(ctx, name)
	return who, err
}

// named also returns the print of the token.
func (t *Tokens) named(ctx context.Context, name string) (Caller, string, error) {
	for _, c := range t.known() {
		if c.Name == name {
			return c.Caller, printOf(hex.EncodeToString(c.sum[:])), nil
		}
	}
	if name == "" || strings.HasPrefix(name, proxied) {
		return Caller{}, "", ErrUnknown
	}
	row, err := t.cfg.Rows.TokenNamed(ctx, name)
	who, err := t.made(row, err)
	return who, printOf(row.Sum), err
}

// still returns nil as long as a caller may go on, and ErrUnknown after they have lost their access.
func (t *Tokens) still(ctx context.Context, who Caller) error {
	switch {
	case who.SignIn != "":
		_, err := t.session(ctx, who.SignIn)
		return err
	case who.Proxied(): // the proxy decides
		return nil
	}
	_, err := t.Named(ctx, who.Name)
	return err
}

// fromBrowser reports whether a page in a browser makes the request.
func fromBrowser(h http.Header) bool {
	return h.Get(pageHeader) != "" || h.Get("Sec-Fetch-Site") != "" || h.Get("Origin") != ""
}
