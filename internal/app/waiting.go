package app

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
)

const (
	// waitShown is how long a start takes before the HTTP server says what it waits for.
	waitShown = 300 * time.Millisecond
	// waitFirst and waitMax bound the pause between two tries to reach a part.
	waitFirst, waitMax = 250 * time.Millisecond, 5 * time.Second
)

// fatalError is a failure of a start that no waiting mends.
type fatalError struct{ error }

// Unwrap gives the cause.
func (e fatalError) Unwrap() error { return e.error }

// waiting is what a gateway is before its store and bus are there: not ready, and it says why, in the log once for each
// reason and over HTTP. Its goroutine is that of its HTTP server, for which stop waits.
type waiting struct {
	log     *slog.Logger
	token   string
	version string
	handle  *net.TCPListener
	serve   sync.Once
	server  *http.Server
	wg      sync.WaitGroup

	mu    sync.Mutex
	parts map[string]string // what is wrong with each part that is not there yet; empty: it is being looked for
}

func newWaiting(l net.Listener, log *slog.Logger, token, version string) *waiting {
	w := &waiting{log: log, token: token, version: version, parts: map[string]string{}}
	w.handle, _ = l.(*net.TCPListener) // gateway.listen is always TCP
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprintln(rw, "ok") })
	mux.HandleFunc("GET /readyz", func(rw http.ResponseWriter, r *http.Request) { w.answer(rw, w.health(w.knows(r))) })
	mux.HandleFunc("/", func(rw http.ResponseWriter, r *http.Request) {
		switch {
		case !w.knows(r):
			w.answer(rw, map[string]string{"error": "starting", "message": "the gateway is starting"})
		case r.URL.Path == "/v1/status":
			rw.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(rw).Encode(w.health(true)) // the caller has gone
		default:
			w.answer(rw, map[string]string{"error": "starting", "message": "the gateway waits: " + w.reasons()})
		}
	})
	w.server = &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second}
	return w
}

// knows reports whether a caller has the gateway's token. Others learn only which parts are missing.
func (w *waiting) knows(r *http.Request) bool {
	given, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	return ok && w.token != "" && subtle.ConstantTimeCompare([]byte(given), []byte(w.token)) == 1
}

type waitingHealth struct {
	Version string            `json:"version,omitempty"`
	Ready   bool              `json:"ready"`
	Parts   []operator.Health `json:"parts"`
}

func (w *waiting) health(known bool) waitingHealth {
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

func (w *waiting) reasons() string {
	var texts []string
	for _, p := range w.health(true).Parts {
		texts = append(texts, p.Name+": "+p.Detail)
	}
	return strings.Join(texts, "; ")
}

func (w *waiting) answer(rw http.ResponseWriter, body any) {
	rw.Header().Set("Content-Type", "application/json")
	rw.Header().Set("Retry-After", "1")
	rw.WriteHeader(http.StatusServiceUnavailable)
	_ = json.NewEncoder(rw).Encode(body) // the caller has gone
}

// begin lets the HTTP server answer. The listener stays open when it ends.
func (w *waiting) begin() {
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

// stop ends the HTTP server and leaves the listener to the next one.
func (w *waiting) stop() error {
	w.serve.Do(func() {}) // it does not begin any more
	err := w.server.Close()
	w.wg.Wait()
	if w.handle != nil {
		err = errors.Join(err, w.handle.SetDeadline(time.Time{}))
	}
	return err
}

// sharedListener is a listener that its borrower can't close: it only ends the borrower's Accept.
type sharedListener struct{ *net.TCPListener }

// Close implements [net.Listener].
func (l sharedListener) Close() error { return l.SetDeadline(time.Unix(1, 0)) }

// until tries to open a part until that works, ctx ends, or the failure is one that no waiting mends.
func (w *waiting) until(ctx context.Context, name string, open func() error) error {
	w.note(name, "it is being opened")
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.parts, name)
	}()
	began := time.Now()
	for pause, said := waitFirst, ""; ; pause = min(2*pause, waitMax) {
		err := open()
		if err == nil {
			if said != "" {
				w.log.Info("start continues", "part", name, "after", time.Since(began).Round(time.Millisecond).String())
			}
			return nil
		}
		if fatal := (fatalError{}); errors.As(err, &fatal) {
			return fatal.error
		}
		if ctx.Err() != nil {
			return err
		}
		w.note(name, err.Error())
		w.begin()
		if said == "" { // when the log tells it, so does /readyz
			w.log.Warn("not ready: the start waits", "part", name, "reason", err.Error())
			said = err.Error()
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (w *waiting) note(name, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.parts[name] = why
}
