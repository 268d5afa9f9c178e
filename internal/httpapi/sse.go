package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"sluice/sessions"
)

const (
	heartbeat    = 15 * time.Second
	writeTimeout = 20 * time.Second // a reader that takes nothing for so long is cut off
	reconnectMs  = 1000             // what browsers are told to wait before they come back
)

// stream writes server-sent events.
type stream struct {
	session sessions.ID
	cursor  func(seq uint64) string // nil: events bear their numbers
	w       http.ResponseWriter
	control *http.ResponseController
}

// newStream begins a stream of a session's events.
func (s *Server) newStream(ctx context.Context, w http.ResponseWriter, id sessions.ID) (*stream, error) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // proxies must not hold events back
	w.WriteHeader(http.StatusOK)
	out := &stream{session: id, w: w, control: http.NewResponseController(w)}
	if !callerOf(ctx).seesAll() {
		out.cursor = func(seq uint64) string { return s.cursors.seal(id, seq) }
	}
	return out, out.write(fmt.Sprintf("retry: %d\n\n", reconnectMs))
}

func (s *stream) write(text string) error {
	if _, err := s.w.Write([]byte(text)); err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	if err := s.control.Flush(); err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	return nil
}

// beat tells that the stream lives.
func (s *stream) beat() error { return s.write(": still here\n\n") }

// eventRecord is an event as programs see it.
type eventRecord struct {
	sessions.Event
	Withheld *withheldRecord `json:"withheld,omitempty" doc:"of run.done: there is an answer that is not told; text has the gateway's own words"`
}

// withhold makes an event say that the answer is withheld.
func (e *eventRecord) withhold(w *withheldRecord) { e.Withheld, e.Text = w, w.Message }

// event writes one event.
func (s *stream) event(e sessions.Event) error { return s.record(eventRecord{Event: e}) }

// record writes one event. Its id is that under which a reader resumes.
func (s *stream) record(e eventRecord) error {
	id := ""
	if e.Seq > 0 {
		id = strconv.FormatUint(e.Seq, 10)
	}
	if s.cursor != nil && e.Seq > 0 {
		id, e.Seq = s.cursor(e.Seq), 0
	}
	data, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	var b strings.Builder
	if id != "" {
		b.WriteString("id: " + id + "\n")
	}
	fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", e.Type, data)
	return s.write(b.String())
}
