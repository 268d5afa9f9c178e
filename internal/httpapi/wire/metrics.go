package wire

import (
	"log/slog"
	"net/http"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// LogPath is where the gateway's log is read. Reading it adds no line: otherwise whoever follows the log would have to read it again and again.
const LogPath = "/v1/logs"

// Count counts requests by route and status. A route is its pattern, so that ids do not become labels.
func Count(next http.Handler, registerer prometheus.Registerer, log *slog.Logger) http.Handler {
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "sluice", Subsystem: "http", Name: "requests_total", Help: "HTTP requests by route and status.",
	}, []string{"route", "status"})
	registerer.MustRegister(requests)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		watched := WatchStatus(w)
		next.ServeHTTP(watched, r)
		route := r.Pattern
		if route == "" {
			route = "refused"
		}
		requests.WithLabelValues(route, strconv.Itoa(watched.Status)).Inc()
		if r.URL.Path == LogPath && watched.Status == http.StatusOK {
			return
		}
		path, _, _ := strings.Cut(r.URL.Path, "/files/") // a file's name may say what is in it
		log.Debug("http", "method", r.Method, "path", path, "status", watched.Status)
	})
}

// StatusWriter remembers the status of a response.
type StatusWriter struct {
	http.ResponseWriter
	Status int
}

// WatchStatus wraps a writer; until a handler sets a status, it is 200.
func WatchStatus(w http.ResponseWriter) *StatusWriter {
	return &StatusWriter{ResponseWriter: w, Status: http.StatusOK}
}

// WriteHeader implements [http.ResponseWriter].
func (w *StatusWriter) WriteHeader(status int) {
	w.Status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets [http.ResponseController] reach the connection.
func (w *StatusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
