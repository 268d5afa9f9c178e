package wire

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	paceChunk = 32 << 10 // bytes written at once
	// paceMin is the rate in bytes a second that a reader must keep up once the gateway has waited writeTimeout for it, and a
	// sender of a body after BodyTimeout.
	paceMin = 16 << 10
	// paceFree is how long one write may take without counting as waiting for the reader.
	paceFree = 100 * time.Millisecond
)

// Pace bounds how long a response may take: a reader who takes nothing for writeTimeout, or little for long, is cut off,
// and the memory held for them is freed.
func Pace(next http.Handler, registerer prometheus.Registerer, log *slog.Logger) http.Handler {
	slow := prometheus.NewCounter(prometheus.CounterOpts{
		Namespace: "sluice", Subsystem: "http", Name: "slow_readers_total", Help: "Responses cut off because the reader was too slow.",
	})
	registerer.MustRegister(slow)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := &pacedWriter{ResponseWriter: w, control: http.NewResponseController(w)}
		next.ServeHTTP(p, r)
		if p.late {
			slow.Inc()
			log.Debug("http reader was too slow", "method", r.Method, "written", p.written)
		}
	})
}

// pacedWriter writes a response in chunks, each with a deadline.
type pacedWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	written int64
	waited  time.Duration // for the reader, in total
	late    bool          // the reader was cut off
}

// allowance is how long the next chunk may take. A reader starts with writeTimeout, earns time with every byte it takes,
// and uses up the time that the gateway waits for it.
func (p *pacedWriter) allowance() time.Duration {
	earned := time.Duration(p.written) * time.Second / paceMin
	return min(writeTimeout, max(0, writeTimeout+earned-p.waited))
}

// limit sets the deadline of the next write.
func (p *pacedWriter) limit() { _ = p.control.SetWriteDeadline(time.Now().Add(p.allowance())) } // not every writer has one

// WriteHeader implements [http.ResponseWriter].
func (p *pacedWriter) WriteHeader(status int) {
	p.limit()
	p.ResponseWriter.WriteHeader(status)
}

// Write implements [io.Writer].
func (p *pacedWriter) Write(text []byte) (n int, err error) {
	for first := true; first || n < len(text); first = false {
		chunk := text[n:min(len(text), n+paceChunk)]
		begun := time.Now()
		p.limit()
		var m int
		m, err = p.ResponseWriter.Write(chunk)
		n += m
		if err = p.took(m, begun, err); err != nil {
			return n, fmt.Errorf("write response: %w", err)
		}
	}
	return n, nil
}

// FlushError lets [http.ResponseController] flush within the deadline.
func (p *pacedWriter) FlushError() error {
	begun := time.Now()
	p.limit()
	return p.took(0, begun, p.control.Flush())
}

// took counts the bytes that a reader has taken and the time that took.
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
