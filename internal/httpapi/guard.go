package httpapi

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"sluice/internal/workspace"
)

// open reports whether a path needs no token: what only says how the gateway
// does, what platforms sign themselves, and the page's files, which hold no data.
func open(path string) bool {
	return path == "/healthz" || path == "/readyz" ||
		strings.HasPrefix(path, "/channels/") || (!strings.HasPrefix(path, "/v1/") && !strings.HasPrefix(path, "/openapi") && path != "/metrics")
}

// guard stands before everything that the server serves.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer s.survive(w, r)
		secure(w.Header())
		if !strings.HasPrefix(r.URL.Path, "/channels/") { // a platform calls by a public name and signs what it says
			if e := s.foreign(r); e != nil {
				writeError(w, e)
				return
			}
		}
		if !open(r.URL.Path) {
			asked := r
			defer func() { asked.Pattern = r.Pattern }() // which the requests are counted by
			var e *apiError
			if r, e = s.admit(r); e != nil {
				if e.status == http.StatusUnauthorized {
					w.Header().Set("WWW-Authenticate", `Bearer realm="sluice"`)
				}
				writeError(w, e)
				return
			}
		}
		r.Body = http.MaxBytesReader(w, timed(w, r), s.bodyMost(r.Method, r.URL.Path))
		watched := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(watched, r)
		if in := requestOf(r.Context()); in.http != nil && watched.status == http.StatusForbidden {
			s.denyForbidden(r, in.caller)
		}
	})
}

// bodyMost is how large the body of a request may be.
func (s *Server) bodyMost(method, path string) int64 {
	if method == http.MethodPost && path == messagesPath {
		return max(s.cfg.MaxUpload, s.cfg.MaxBody)
	}
	if isFile(method, path) {
		return workspace.FileMost
	}
	return s.cfg.MaxBody
}

// timedBody is a body that must come within bodyTimeout. Its deadline ends with
// it: behind a body the server reads on to see the caller go, and would take a
// deadline that passes for that, which ends the request's context in the middle
// of a stream.
type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
}

func timed(w http.ResponseWriter, r *http.Request) io.ReadCloser {
	b := &timedBody{r.Body, http.NewResponseController(w)}
	if r.Body != http.NoBody {
		b.deadline(time.Now().Add(bodyTimeout))
	}
	return b
}

// Read implements [io.Reader].
func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.deadline(time.Time{})
	}
	return n, err
}

func (b *timedBody) deadline(at time.Time) { _ = b.control.SetReadDeadline(at) } // not every writer has one

// secure sets the headers that keep a browser from doing more than the page needs.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "+
		"connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// foreign refuses a request that does not name this gateway (DNS rebinding) or that another site's page makes.
func (s *Server) foreign(r *http.Request) *apiError {
	if !s.ownHost(r.Host) {
		return &apiError{http.StatusMisdirectedRequest, "unknown_host", "this gateway does not answer to the host " + printable(r.Host) + "; add it to gateway.allowedHosts or set gateway.publicURL"}
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site == "cross-site" && r.Header.Get("Sec-Fetch-Mode") != "navigate" {
		return errForeign
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		if err != nil || u.Host != r.Host {
			return errForeign
		}
	}
	return nil
}

// ownHost reports whether a Host header names this gateway: by a configured name,
// or by an address. Only names can be made to point somewhere else.
func (s *Server) ownHost(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	if name == "localhost" || net.ParseIP(name) != nil {
		return true
	}
	for _, h := range s.cfg.Hosts {
		if strings.EqualFold(h, name) {
			return true
		}
	}
	return false
}

// printable is the beginning of what a caller has sent, as it may stand in a text or in the audit trail.
func printable(text string) string {
	const most = 100
	if len(text) > most {
		text = text[:most]
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text)
}

// survive answers for a handler that panicked.
func (s *Server) survive(w http.ResponseWriter, r *http.Request) {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler { //nolint:errorlint,err113 // the documented value
		panic(p)
	}
	s.cfg.Log.Error("handler panicked", "method", r.Method, "path", r.URL.Path, "err", p, "stack", string(debug.Stack()))
	writeError(w, errInternal)
}
