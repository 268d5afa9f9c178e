package httpapi

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/denials"
	"sluice/internal/httpapi/hooks"
	"sluice/internal/httpapi/mcpserver"
	"sluice/internal/httpapi/openai"
	"sluice/internal/httpapi/operator"
	"sluice/internal/httpapi/senders"
	"sluice/internal/httpapi/signin"
	"sluice/internal/httpapi/wire"
)

// guard checks every request before its handler: it authenticates, limits bodies and recovers panics.
type guard struct {
	tokens   *auth.Tokens
	denials  *denials.Trail
	hosts    func() []string                                  // names under which others may call the gateway, without port
	isOpen   func(*http.Request) bool                         // reports whether a request needs no token of the API
	within   func(ctx context.Context, who auth.Caller) error // counts a request, and says why it is refused; nil: never
	maxBytes func(method, path string) int64
	log      *slog.Logger
}

func (g *guard) protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer g.survive(w, r)
		secure(w.Header())
		if !strings.HasPrefix(r.URL.Path, "/channels/") && !strings.HasPrefix(r.URL.Path, hooks.Prefix) { // platforms call by a public name and sign their requests
			if e := g.foreign(r); e != nil {
				refuse(w, r, e)
				return
			}
		}
		if !g.isOpen(r) {
			asked := r
			defer func() { asked.Pattern = r.Pattern }() // for the request metrics
			var e *wire.Error
			var release func()
			if r, release, e = g.admit(r); e != nil {
				if e.Status == http.StatusUnauthorized {
					w.Header().Set("WWW-Authenticate", `Bearer realm="sluice"`)
				}
				refuse(w, r, e)
				return
			}
			defer release()
			if e := g.limited(r); e != nil {
				refuse(w, r, e)
				return
			}
		}
		r.Body = wire.LimitBody(w, r, g.maxBytes(r.Method, r.URL.Path))
		watched := wire.WatchStatus(w)
		next.ServeHTTP(watched, r)
		if in := auth.RequestOf(r.Context()); in.HTTP != nil && watched.Status == http.StatusForbidden {
			g.denials.Forbidden(r, in.Caller)
		}
	})
}

// admit stores the caller in the request, or says why the request is refused. The request ends when the caller loses their
// access; the function releases it.
func (g *guard) admit(r *http.Request) (*http.Request, func(), *wire.Error) {
	current := g.tokens.Current()
	who, err := g.tokens.Identify(r, senders.Serves(r.URL.Path))
	switch {
	case errors.Is(err, auth.ErrUnknown):
		g.denials.Stranger(r)
		return r, nil, wire.NewError(http.StatusUnauthorized, "unauthorized", "send your access token in the header Authorization: Bearer <token>; the gateway keeps its own in the file token of its state folder. A browser signs in with `sluice open`")
	case err != nil:
		return r, nil, problems{g.log}.of(err)
	case who.Role == auth.RoleSender && !senders.Takes(r.Method, r.URL.Path):
		g.denials.Forbidden(r, who)
		return r, nil, wire.Forbidden("the token " + who.Name + " has the role sender and may only send alerts and notes; use a token with another role")
	case who.Role == auth.RoleViewer && r.Method != http.MethodGet && r.Method != http.MethodHead && !viewersMay(r.URL.Path):
		g.denials.Forbidden(r, who)
		return r, nil, wire.Forbidden("the token " + who.Name + " has the role viewer and may only read; use a token with another role")
	}
	ctx, release := g.tokens.Live().Watch(r.Context(), who)
	if !current() { // a change of the configuration has not ended this request: it was not watched yet
		release()
		return g.admit(r)
	}
	return auth.Admit(r.WithContext(ctx), who), release, nil
}

// limited counts a request with a named token, or of a browser that has signed in with one, and says why it is refused. Owners and
// people whom a proxy has named are not limited.
func (g *guard) limited(r *http.Request) *wire.Error {
	who := auth.CallerOf(r.Context())
	if g.within == nil || auth.IsCounted(r.Context()) || who.Owner() || who.Proxied() {
		return nil
	}
	if err := g.within(r.Context(), who); err != nil {
		return problems{g.log}.of(err)
	}
	return nil
}

// viewersMay reports whether viewers may call a path with any method: the tools behind it are requests of their own, it concerns
// nothing but their own access, or it only reads.
func viewersMay(path string) bool {
	return path == mcpserver.Path || path == signin.LogoutPath || path == signin.LinksPath || path == operator.CheckPath
}

// refuse answers with an error in the shape that the clients of a path know.
func refuse(w http.ResponseWriter, r *http.Request, e *wire.Error) {
	if openai.Serves(r.URL.Path) {
		openai.WriteError(w, e)
		return
	}
	wire.WriteError(w, e)
}

// secure sets the headers that restrict a browser to what the page needs.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "+
		"connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// foreign refuses a request for another host (DNS rebinding), or from a page of another site or of another port of this host.
func (g *guard) foreign(r *http.Request) *wire.Error {
	if !wire.OwnHost(r.Host, g.hosts()) {
		return wire.NewError(http.StatusMisdirectedRequest, "unknown_host", "this gateway does not serve the host "+wire.Printable(r.Host)+"; add it to gateway.allowedHosts or set gateway.publicURL")
	}
	if site := r.Header.Get("Sec-Fetch-Site"); (site == "cross-site" || site == "same-site") && !g.visits(r) {
		return wire.ErrCrossSite
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		if err != nil || u.Host != r.Host {
			return wire.ErrCrossSite
		}
	}
	return nil
}

// visits reports whether a link somewhere else leads to a page of the gateway that holds no data.
func (g *guard) visits(r *http.Request) bool {
	return r.Header.Get("Sec-Fetch-Mode") == "navigate" && (r.Method == http.MethodGet || r.Method == http.MethodHead) && g.isOpen(r)
}

// survive answers a request whose handler panicked.
func (g *guard) survive(w http.ResponseWriter, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler { //nolint:errorlint,err113 // the documented value
		panic(p)
	}
	g.log.Error("handler panicked", "method", r.Method, "path", r.URL.Path, "err", p, "stack", string(debug.Stack()))
	refuse(w, r, wire.ErrInternal)
}

// needAll refuses callers who may not see everything, for results that are computed from everything.
func needAll(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if who := auth.CallerOf(r.Context()); !who.SeesAll() {
			wire.WriteError(w, wire.Forbidden(fmt.Sprintf("the metrics count RESTRICTED data, but your token sees at most %s; use a token whose classification is RESTRICTED", who.Level)))
			return
		}
		next.ServeHTTP(w, r)
	})
}
