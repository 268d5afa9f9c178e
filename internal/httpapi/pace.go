package httpapi

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	paceChunk = 32 << 10 // bytes that are given to a reader at once
	// paceLeast is how many bytes a second a reader takes at least, once writeTimeout in all was waited for them.
	paceLeast = 16 << 10
	// paceFree is what a write may take without a reader who holds it up.
	paceFree = 100 * time.Millisecond
)

// paced gives each answer's reader a bounded time to take it: who takes nothing for writeTimeout, or little for long, is cut
// off, and what was kept for them is let go.
func (s *Server) paced(next http.Handler) http.Handler {
	slow := prometheus.NewCounter(prometheus.CounterOpts{
		Namespace: "sluice", Subsystem: "http", Name: "slow_readers_total", Help: "Answers that were cut off because their reader took them too slowly.",
	})
	s.cfg.Registerer.MustRegister(slow)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := &pacedWriter{ResponseWriter: w, control: http.NewResponseController(w)}
		next.ServeHTTP(p, r)
		if p.late {
			slow.Inc()
			s.cfg.Log.Debug("http reader was too slow", "method", r.Method, "written", p.written)
		}
	})
}

// pacedWriter writes an answer in pieces, each with a deadline.
type pacedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	written int64
	waited  time.Duration // for the reader, in all
	late    bool          // the reader was cut off
}

// allowance is how long the next piece may take: what the reader has not waited away of writeTimeout and of the time in
// which what was written is taken at the least pace.
func (p *pacedWriter) allowance() time.Duration {
	earned := time.Duration(p.written) * time.Second / paceLeast
	return min(writeTimeout, max(0, writeTimeout+earned-p.waited))
}

// limit sets the deadline of what is written next.
func (p *pacedWriter) limit() { _ = p.control.SetWriteDeadline(time.Now().Add(p.allowance())) } // not every writer has one

// WriteHeader implements [http.ResponseWriter].
func (p *pacedWriter) WriteHeader(status int) {
	p.limit()
	p.ResponseWriter.WriteHeader(status)
}

// Write implements [io.Writer].
func (p *pacedWriter) Write(text []byte) (n int, err error) {
	for first := true; first || n < len(text); first = false {
		piece := text[n:min(len(text), n+paceChunk)]
		begun := time.Now()
		p.limit()
		var m int
		m, err = p.ResponseWriter.Write(piece)
		n += m
		if err = p.took(m, begun, err); err != nil {
			return n, fmt.Errorf("write answer: %w", err)
		}
	}
	return n, nil
}

// FlushError lets [http.ResponseController] pass on what was written.
func (p *pacedWriter) FlushError() error {
	begun := time.Now()
	p.limit()
	return p.took(0, begun, p.control.Flush())
}

// took counts what a reader has taken, and in which time.
func (p *pacedWriter) took(n int, begun time.Time, err error) error {
	p.written += int64(n)
	if took := time.Since(begun); took > paceFree {
		p.waited += took
	}
	if errors.Is(err, os.ErrDeadlineExceeded) {
		p.late = true
	}
	return err
}

// Unwrap lets [http.ResponseController] reach the connection.
func (p *pacedWriter) Unwrap() http.ResponseWriter { return p.ResponseWriter }

var _ io.Writer = (*pacedWriter)(nil)
