package httpapi

import (
	"encoding/json"
	"fmt"
	"net/http"
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
	w       http.ResponseWriter
	control *http.ResponseController
}

// newStream begins a stream.
func newStream(w http.ResponseWriter) (*stream, error) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // proxies must not hold events back
	w.WriteHeader(http.StatusOK)
	s := &stream{w: w, control: http.NewResponseController(w)}
	return s, s.write(fmt.Sprintf("retry: %d\n\n", reconnectMs))
}

func (s *stream) write(text string) error {
	if err := s.control.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return fmt.Errorf("set deadline: %w", err)
	}
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

// event writes one event. Its number is the id under which a reader resumes.
func (s *stream) event(e sessions.Event) error {
	data, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	var b strings.Builder
	if e.Seq > 0 {
		fmt.Fprintf(&b, "id: %d\n", e.Seq)
	}
	fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", e.Type, data)
	return s.write(b.String())
}
