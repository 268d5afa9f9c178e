package signin

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/google/uuid"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/denials"
	"sluice/internal/httpapi/wire"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

const (
	// linkLife is how long a one-time link works.
	linkLife = time.Minute
	// signInLife is how long a browser stays signed in.
	signInLife = 14 * 24 * time.Hour
	agentMax   = 200 // bytes of a browser's name
)

// Store has the tokens and sign-ins.
type Store interface {
	Commit(ctx context.Context, c ledger.Change) error
	TokenNamed(ctx context.Context, name string) (ledger.APIToken, error)
	ListTokens(ctx context.Context) ([]ledger.APIToken, error)
	SignIn(ctx context.Context, id string) (ledger.SignIn, error)
	SignInByLink(ctx context.Context, sum string) (ledger.SignIn, error)
	ListSignIns(ctx context.Context, limit int) ([]ledger.SignIn, error)
	Uses(ctx context.Context) ([]ledger.Use, error)
}

// Config is what an API needs. All fields but PublicURL are required.
type Config struct {
	Tokens    *auth.Tokens
	Store     Store
	Denials   *denials.Trail
	PageLevel func() flow.Level
	PublicURL string // under which browsers reach the gateway; empty: that of the request
	Now       func() time.Time
}

// API serves sign-ins and tokens.
type API struct {
	cfg      Config
	failures *wire.Failures // wrong tokens and links
}

// New makes an API.
func New(cfg Config) *API { return &API{cfg: cfg, failures: wire.NewFailures(cfg.Now)} }

// meRecord says who makes a request.
type meRecord struct {
	Name       string     `json:"name" doc:"of the token; empty: the gateway's own"`
	Actor      string     `json:"actor" doc:"the caller's name in the audit trail"`
	Role       auth.Role  `json:"role" enum:"owner,operator,viewer,sender"`
	Level      string     `json:"level" doc:"the highest level that this request sees"`
	TokenLevel string     `json:"token_level" doc:"the highest level that the token sees outside a browser"`
	Via        string     `json:"via" enum:"token,sign-in,proxy"`
	SignIn     string     `json:"sign_in,omitempty"`
	SignOut    string     `json:"sign_out,omitempty" doc:"where the caller signs out of the proxy that has signed them in"`
	Expires    *time.Time `json:"expires,omitempty" doc:"end of the sign-in"`
}

// Me says who makes the request.
func (a *API) Me(ctx context.Context, _ *struct{}) (*wire.Body[meRecord], error) {
	who := auth.CallerOf(ctx)
	me := a.me(ctx, who)
	if who.SignIn != "" {
		row, err := a.cfg.Store.SignIn(ctx, who.SignIn)
		if err != nil {
			return nil, err
		}
		me.Expires = &row.Expires
	}
	return wire.NewBody(me), nil
}

func (a *API) me(ctx context.Context, who auth.Caller) meRecord {
	me := meRecord{Name: who.Name, Actor: who.Actor(), Role: who.Role, Level: who.Level.String(), TokenLevel: who.Level.String(), Via: "token", SignIn: who.SignIn}
	if full, err := a.cfg.Tokens.Named(ctx, who.Name); err == nil {
		me.TokenLevel = full.Level.String()
	}
	switch {
	case who.SignIn != "":
		me.Via = "sign-in"
	case who.Proxied():
		me.Via, me.SignOut = "proxy", a.cfg.Tokens.SignOut()
	}
	return me
}

type signedIn struct {
	Key string   `json:"key" doc:"send it with each request as the header Sluice-Key; it is shown only here"`
	Me  meRecord `json:"me"`
}

// LoginInput has the one-time link or the token with which somebody signs in.
type LoginInput struct {
	request *http.Request
	Body    struct {
		Link  string `json:"link,omitempty" maxLength:"200" doc:"code of a one-time link"`
		Token string `json:"token,omitempty" maxLength:"4096" doc:"a token of the API"`
	}
}

// Resolve implements [huma.Resolver]: it keeps the request, which has no caller yet.
func (in *LoginInput) Resolve(ctx huma.Context) []error {
	in.request, _ = humago.Unwrap(ctx)
	return nil
}

// LoggedIn is the answer to who has signed in.
type LoggedIn struct {
	SetCookie http.Cookie `header:"Set-Cookie"`
	Body      signedIn
}

// errTooMany refuses tries after too many that were wrong.
func errTooMany() error {
	return wire.NewError(http.StatusTooManyRequests, "too_many_requests", "too many wrong tokens and links came from this address; try again in a minute, or with a link of `sluice open`")
}

// Login signs a browser in. An address that has sent too many wrong tokens can still use a link, which nobody can guess: behind a
// proxy, strangers have the address of everybody else.
func (a *API) Login(ctx context.Context, in *LoginInput) (*LoggedIn, error) {
	if in.Body.Link == "" && a.failures.Wait(wire.Address(in.request)) > 0 {
		return nil, errTooMany()
	}
	r := in.request
	row := ledger.SignIn{ID: uuid.NewString(), Created: a.cfg.Now(), Expires: a.cfg.Now().Add(signInLife), Address: addressOf(r), Agent: agentOf(r)}
	cookie, key := secret(), secret()
	row.Cookie, row.Key = auth.Sum(cookie), auth.Sum(key)
	who, err := a.enter(ctx, in, &row)
	if err != nil {
		return nil, err
	}
	who.SignIn, who.Page, who.Level = row.ID, true, flow.Min(who.Level, a.cfg.PageLevel())
	me := a.me(ctx, who)
	me.Expires = &row.Expires
	return &LoggedIn{SetCookie: a.cookie(r, cookie, row.Expires), Body: signedIn{Key: key, Me: me}}, nil
}

// enter stores the sign-in of whoever has a link or a token.
func (a *API) enter(ctx context.Context, in *LoginInput, row *ledger.SignIn) (auth.Caller, error) {
	change := ledger.Change{}
	switch {
	case (in.Body.Link == "") == (in.Body.Token == ""):
		return auth.Caller{}, wire.BadRequest("give either link or token")
	case in.Body.Link != "":
		row.Link = auth.Sum(in.Body.Link)
		link, err := a.cfg.Store.SignInByLink(ctx, row.Link)
		if errors.Is(err, sessions.ErrNotFound) || err == nil && !link.Expires.After(a.cfg.Now()) {
			return auth.Caller{}, a.wrong(in.request, "this link was used before or has expired; run `sluice open` for a new one")
		}
		if err != nil {
			return auth.Caller{}, err
		}
		row.ID, row.Token, row.Print = link.ID, link.Token, link.Print
		change.UseLinks = []ledger.SignIn{*row}
	default:
		who, err := a.cfg.Tokens.Bearer(ctx, in.Body.Token)
		if errors.Is(err, auth.ErrUnknown) {
			return who, a.wrong(in.request, "the gateway does not know this token; it may be mistyped, or it was replaced or revoked")
		}
		if err != nil {
			return who, err
		}
		row.Token = who.Name
		if row.Print, err = a.cfg.Tokens.Print(ctx, who.Name); err != nil {
			return who, err
		}
		change.SignIns = []ledger.SignIn{*row}
	}
	who, err := a.cfg.Tokens.Named(ctx, row.Token)
	if now, _ := a.cfg.Tokens.Print(ctx, row.Token); errors.Is(err, auth.ErrUnknown) || err == nil && now != row.Print {
		return who, a.wrong(in.request, "the token of this link was replaced or revoked")
	}
	if err != nil {
		return who, err
	}
	if who.Role == auth.RoleSender {
		return who, wire.Forbidden("a token with the role sender only sends alerts and notes; sign in with another token")
	}
	change.Audit = []sessions.AuditEntry{entry(a.cfg.Now(), who.Actor(), "access.sign_in", row.ID, map[string]any{"address": row.Address})}
	err = a.cfg.Store.Commit(ctx, change)
	if errors.Is(err, sessions.ErrNotFound) { // another browser was faster
		return who, a.wrong(in.request, "this link was used before or has expired; run `sluice open` for a new one")
	}
	return who, err
}

// wrong counts a wrong token or link, and refuses it.
func (a *API) wrong(r *http.Request, text string) error {
	if a.failures.Add(wire.Address(r)) > 0 {
		return errTooMany()
	}
	a.cfg.Denials.WrongToken(r)
	return wire.NewError(http.StatusUnauthorized, "unauthorized", text)
}

// LoggedOut is the answer to who has signed out.
type LoggedOut struct {
	SetCookie http.Cookie `header:"Set-Cookie"`
}

// Logout ends the sign-in that makes the request, and its streams.
func (a *API) Logout(ctx context.Context, _ *struct{}) (*LoggedOut, error) {
	who := auth.CallerOf(ctx)
	out := &LoggedOut{SetCookie: a.cookie(auth.RequestOf(ctx).HTTP, "", time.Unix(1, 0))}
	if who.SignIn == "" {
		return out, nil
	}
	return out, a.end(ctx, who.SignIn, "access.sign_out")
}

// end ends a sign-in with its streams. Nothing of the request depends on them then.
func (a *API) end(ctx context.Context, id, action string) error {
	err := a.cfg.Store.Commit(ctx, ledger.Change{
		AccessChange: ledger.AccessChange{EndSignIns: []string{id}},
		Change:       sessions.Change{Audit: []sessions.AuditEntry{entry(a.cfg.Now(), auth.CallerOf(ctx).Actor(), action, id, nil)}},
	})
	if err == nil || errors.Is(err, sessions.ErrNotFound) {
		a.cfg.Tokens.Live().End(func(c auth.Caller) bool { return c.SignIn == id })
	}
	return err
}

// cookie is the cookie of a sign-in, or one that removes it.
func (a *API) cookie(r *http.Request, value string, expires time.Time) http.Cookie {
	return http.Cookie{ //nolint:gosec // a gateway on this machine has no TLS; elsewhere Secure is set
		Name: a.cfg.Tokens.CookieName(), Value: value, Path: "/", Expires: expires, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		Secure: r.TLS != nil || a.public(r),
	}
}

// public reports whether a request came by an HTTPS address in front of the gateway.
func (a *API) public(r *http.Request) bool {
	u, err := url.Parse(a.cfg.PublicURL)
	return err == nil && u.Scheme == "https" && u.Host == r.Host
}

// entry is an entry of the audit trail about access. Only who sees everything reads of it.
func entry(now time.Time, actor, action, object string, detail any) sessions.AuditEntry {
	return sessions.AuditEntry{At: now, Actor: actor, Action: action, Object: object, Label: flow.Top(), Detail: detail}
}

// secret is a new random text.
func secret() string {
	raw := make([]byte, 32)
	_, _ = rand.Read(raw) // never fails, see crypto/rand
	return base64.RawURLEncoding.EncodeToString(raw)
}

func addressOf(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	return wire.Printable(host)
}

func agentOf(r *http.Request) string {
	text := strings.ToValidUTF8(r.UserAgent(), "?")
	return strings.ToValidUTF8(text[:min(len(text), agentMax)], "")
}

type linkRecord struct {
	Code    string    `json:"code"`
	Path    string    `json:"path" doc:"below the gateway's address; opening it signs the browser in, once"`
	Expires time.Time `json:"expires"`
}

// MakeLink makes a one-time link that signs a browser in as the caller.
func (a *API) MakeLink(ctx context.Context, _ *struct{}) (*wire.Body[linkRecord], error) {
	who := auth.CallerOf(ctx)
	if who.Page || who.Proxied() {
		return nil, wire.Forbidden("only a token makes links; run `sluice open`, or sign in with the token")
	}
	sum, err := a.cfg.Tokens.Print(ctx, who.Name)
	if err != nil {
		return nil, err
	}
	code := secret()
	row := ledger.SignIn{ID: uuid.NewString(), Token: who.Name, Print: sum, Link: auth.Sum(code), Created: a.cfg.Now(), Expires: a.cfg.Now().Add(linkLife)}
	if err := a.cfg.Store.Commit(ctx, ledger.Change{AccessChange: ledger.AccessChange{SignIns: []ledger.SignIn{row}}}); err != nil {
		return nil, err
	}
	return wire.NewBody(linkRecord{Code: code, Path: "/#link=" + code, Expires: row.Expires}), nil
}

type signInRecord struct {
	ID       string     `json:"id"`
	Name     string     `json:"name" doc:"of the token; empty: the gateway's own"`
	Created  time.Time  `json:"created"`
	LastUsed *time.Time `json:"last_used,omitempty" doc:"to the minute"`
	Expires  time.Time  `json:"expires"`
	Address  string     `json:"address" doc:"of the browser when it signed in"`
	Agent    string     `json:"agent" doc:"what the browser calls itself"`
	Current  bool       `json:"current" doc:"it makes this request"`
}

type signInList struct {
	SignIns []signInRecord `json:"sign_ins"`
}

// signInsListed is how many sign-ins a list has at most.
const signInsListed = 1000

// ListSignIns lists sign-ins, the newest first: an owner sees all, others their own.
func (a *API) ListSignIns(ctx context.Context, _ *struct{}) (*wire.Body[signInList], error) {
	who := auth.CallerOf(ctx)
	rows, err := a.cfg.Store.ListSignIns(ctx, signInsListed)
	if err != nil {
		return nil, err
	}
	used, err := a.uses(ctx)
	if err != nil {
		return nil, err
	}
	out := signInList{SignIns: []signInRecord{}}
	for _, r := range rows {
		if !r.Expires.After(a.cfg.Now()) || !mayEnd(who, r) {
			continue
		}
		out.SignIns = append(out.SignIns, signInRecord{
			ID: r.ID, Name: r.Token, Created: r.Created, LastUsed: used[auth.UseOfSignIn(r.ID)], Expires: r.Expires, Address: r.Address, Agent: r.Agent, Current: r.ID == who.SignIn,
		})
	}
	return wire.NewBody(out), nil
}

// mayEnd reports whether a caller may know of a sign-in and end it.
func mayEnd(who auth.Caller, r ledger.SignIn) bool { return ownerOf(who) || r.Token == who.Name }

// EndSignIn ends a sign-in with its streams.
func (a *API) EndSignIn(ctx context.Context, in *struct {
	ID string `path:"sign_in" maxLength:"64"`
},
) (*struct{}, error) {
	who := auth.CallerOf(ctx)
	row, err := a.cfg.Store.SignIn(ctx, in.ID)
	if errors.Is(err, sessions.ErrNotFound) || err == nil && !mayEnd(who, row) {
		return nil, wire.ErrNotFound
	}
	if err != nil {
		return nil, err
	}
	return nil, a.end(ctx, row.ID, "access.sign_in_ended")
}

// uses is when each token and sign-in was last used.
func (a *API) uses(ctx context.Context) (map[string]*time.Time, error) {
	rows, err := a.cfg.Store.Uses(ctx)
	if err != nil {
		return nil, err
	}
	used := make(map[string]*time.Time, len(rows))
	for _, u := range append(rows, a.cfg.Tokens.Uses().Noted()...) {
		if before := used[u.Subject]; before == nil || before.Before(u.At) {
			used[u.Subject] = &u.At
		}
	}
	return used, nil
}

// ownerOf reports whether a caller manages access. Access has no level, so neither that of the page nor that of the token counts
// here; but no token is made that sees more than the owner's own.
func ownerOf(who auth.Caller) bool { return who.Owner() }

// needOwner refuses everybody else.
func needOwner(ctx context.Context) error {
	if who := auth.CallerOf(ctx); !ownerOf(who) {
		return wire.Forbidden("only an owner manages tokens; the token " + who.Name + " has the role " + cmp.Or(string(who.Role), "none"))
	}
	return nil
}
