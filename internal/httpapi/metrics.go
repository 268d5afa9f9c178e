package httpapi

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// measured counts requests by route and status. A route is its pattern, so that ids do not become labels.
func (s *Server) measured(next http.Handler) http.Handler {
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "sluice", Subsystem: "http", Name: "requests_total", Help: "HTTP requests by route and status.",
	}, []string{"route", "status"})
	s.cfg.Registerer.MustRegister(requests)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		watched := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(watched, r)
		route := r.Pattern
		if route == "" {
			route = "refused"
		}
		requests.WithLabelValues(route, strconv.Itoa(watched.status)).Inc()
		path, _, _ := strings.Cut(r.URL.Path, "/files/") // a file's name may say what is in it
		s.cfg.Log.Debug("http", "method", r.Method, "path", path, "status", watched.status)
	})
}

// statusWriter remembers the status.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap lets [http.ResponseController] reach the connection.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
