// Package starting serves HTTP while the gateway's store and bus are missing, and tries to reach them.
package starting

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"sluice/internal/httpapi/operator"
	"sluice/internal/httpapi/wire"
	"sluice/internal/pause"
)

const (
	// Shown is how long a start may wait before the HTTP server reports it.
	Shown = 300 * time.Millisecond
	// waitFirst and waitMax bound the pause between tries to reach a component.
	waitFirst, waitMax = 250 * time.Millisecond, 5 * time.Second
)

// FatalError is a start failure that waiting does not fix.
type FatalError struct{ Err error }

// Error implements error.
func (e FatalError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e FatalError) Unwrap() error { return e.Err }

// Waiting serves while the gateway's store and bus are missing. It is not ready and says why: in the log once per
// reason, and over HTTP. Its goroutine is that of its HTTP server; Stop waits for it.
type Waiting struct {
	log     *slog.Logger
	token   string
	version string
	handle  *net.TCPListener
	serve   sync.Once
	server  *http.Server
	wg      sync.WaitGroup

	mu    sync.Mutex
	parts map[string]string // what is wrong with each missing component; empty: not known yet
}

// New makes a Waiting; nothing is served before Begin.
func New(l net.Listener, log *slog.Logger, token, version string) *Waiting {
	w := &Waiting{log: log, token: token, version: version, parts: map[string]string{}}
	w.handle, _ = l.(*net.TCPListener) // gateway.listen is always TCP
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprintln(rw, "ok") })
	mux.HandleFunc("GET /readyz", func(rw http.ResponseWriter, r *http.Request) { w.answer(rw, w.health(w.hasToken(r))) })
	mux.HandleFunc("/", func(rw http.ResponseWriter, r *http.Request) {
		switch {
		case !w.hasToken(r):
			w.answer(rw, map[string]string{"error": "starting", "message": "the gateway is starting"})
		case r.URL.Path == "/v1/status":
			rw.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(rw).Encode(w.health(true)) // the client has disconnected
		default:
			w.answer(rw, map[string]string{"error": "starting", "message": "the gateway waits: " + w.reasons()})
		}
	})
	w.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second}
	return w
}

// hasToken reports whether a caller has the gateway's token. Other callers learn only which components are missing.
func (w *Waiting) hasToken(r *http.Request) bool {
	given, ok := wire.Bearer(r)
	return ok && w.token != "" && subtle.ConstantTimeCompare([]byte(given), []byte(w.token)) == 1
}

type waitingHealth struct {
	Version string            `json:"version,omitempty"`
	Ready   bool              `json:"ready"`
	Parts   []operator.Health `json:"parts"`
}

func (w *Waiting) health(known bool) waitingHealth {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := waitingHealth{Parts: []operator.Health{}}
	for name, why := range w.parts {
		part := operator.Health{Name: name}
		if known {
			h.Version, part.Detail = w.version, why
		}
		h.Parts = append(h.Parts, part)
	}
	slices.SortFunc(h.Parts, func(a, b operator.Health) int { return strings.Compare(a.Name, b.Name) })
	return h
}

func (w *Waiting) reasons() string {
	var texts []string
	for _, p := range w.health(true).Parts {
		texts = append(texts, p.Name+": "+p.Detail)
	}
	return strings.Join(texts, "; ")
}

func (w *Waiting) answer(rw http.ResponseWriter, body any) {
	rw.Header().Set("Content-Type", "application/json")
	rw.Header().Set("Retry-After", "1")
	rw.WriteHeader(http.StatusServiceUnavailable)
	_ = json.NewEncoder(rw).Encode(body) // the client has disconnected
}

// Begin starts the HTTP server. The listener stays open when it ends.
func (w *Waiting) Begin() {
	w.serve.Do(func() {
		if w.handle == nil {
			return
		}
		w.wg.Go(func() {
			if err := w.server.Serve(sharedListener{w.handle}); !errors.Is(err, http.ErrServerClosed) {
				w.log.Error("HTTP server ended while the gateway waits", "err", err)
			}
		})
	})
}

// Stop ends the HTTP server and leaves the listener to the next one.
func (w *Waiting) Stop() error {
	w.serve.Do(func() {}) // it no longer starts
	err := w.server.Close()
	w.wg.Wait()
	if w.handle != nil {
		err = errors.Join(err, w.handle.SetDeadline(time.Time{}))
	}
	return err
}

// sharedListener is a listener whose Close only ends the current user's Accept.
type sharedListener struct{ *net.TCPListener }

// Close implements [net.Listener].
func (l sharedListener) Close() error { return l.SetDeadline(time.Unix(1, 0)) }

// Until tries to open a component until that works, ctx ends, or it fails with a FatalError.
func (w *Waiting) Until(ctx context.Context, name string, open func() error) error {
	w.note(name, "it is being opened")
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.parts, name)
	}()
	began := time.Now()
	pauses, said := pause.Doubling(waitFirst, waitMax, 0), ""
	for {
		err := open()
		if err == nil {
			if said != "" {
				w.log.Info("start continues", "part", name, "after", time.Since(began).Round(time.Millisecond).String())
			}
			return nil
		}
		if fatal := (FatalError{}); errors.As(err, &fatal) {
			return fatal.Err
		}
		if ctx.Err() != nil {
			return err
		}
		w.note(name, err.Error())
		w.Begin()
		if said == "" { // /readyz reports it at the same time as the log
			w.log.Warn("not ready: the start waits", "part", name, "reason", err.Error())
			said = err.Error()
		}
		if err := pause.Wait(ctx, pauses.NextBackOff()); err != nil {
			return err
		}
	}
}

func (w *Waiting) note(name, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.parts[name] = why
}
