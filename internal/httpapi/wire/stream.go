package wire

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

const (
	// Heartbeat is how often a quiet stream sends a comment, so that proxies keep the connection open.
	Heartbeat = 15 * time.Second
	// writeTimeout is how long a reader may take nothing before it is cut off.
	writeTimeout = 20 * time.Second
	reconnectMs  = 1000 // how long browsers wait before they reconnect
)

// Stream writes server-sent events. It is for one goroutine.
type Stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	beat    string
}

// NewStream begins a stream: it sends the headers and how soon to reconnect. An error means that the caller has gone.
func NewStream(w http.ResponseWriter) (*Stream, error) {
	return begin(w, fmt.Sprintf("retry: %d\n\n", reconnectMs), beat+"\n\n")
}

// NewDataStream begins a stream for readers that take every block for data: it says nothing about reconnecting, and what
// tells them that it is alive belongs to the next event.
func NewDataStream(w http.ResponseWriter) (*Stream, error) { return begin(w, "", beat+"\n") }

func begin(w http.ResponseWriter, first, beat string) (*Stream, error) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // proxies must not hold events back
	w.WriteHeader(http.StatusOK)
	s := &Stream{w: w, control: http.NewResponseController(w), beat: beat}
	return s, s.write(first)
}

// beat is a comment.
const beat = ": still here"

// Beat tells the reader that the stream is alive.
func (s *Stream) Beat() error { return s.write(s.beat) }

// Data writes an event that has no name. The text must be one line.
func (s *Stream) Data(text string) error { return s.write("data: " + text + "\n\n") }

// Event writes one event. A reader resumes after its id, if it has one.
func (s *Stream) Event(id, name string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	var b strings.Builder
	if id != "" {
		b.WriteString("id: " + id + "\n")
	}
	fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", name, data)
	return s.write(b.String())
}

func (s *Stream) write(text string) error {
	if _, err := s.w.Write([]byte(text)); err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	if err := s.control.Flush(); err != nil {
		return fmt.Errorf("write event: %w", err)
	}
	return nil
}
