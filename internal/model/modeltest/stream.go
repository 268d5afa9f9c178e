package modeltest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
)

// api is the protocol of one provider. Its methods keep no state.
type api interface {
	// key returns the caller's key, or an empty text.
	key(h http.Header) string
	// read checks a request; the error names the broken rule.
	read(h http.Header, raw []byte) (Request, error)
	// fail writes a failure in the API's format.
	fail(w http.ResponseWriter, r Reply)
	// events returns the events of an answer in order.
	events(id string, q Request, r Reply) answer
}

// answer is a stream before it is sent.
type answer struct {
	body []string // the content
	tail []string // the reason of the end, usage, the end marker
	bad  string   // an error event
	ping string   // an event that keeps the connection alive
}

// event is one server-sent event; name may be empty.
func event(name string, data any) string {
	var head string
	if name != "" {
		head = "event: " + name + "\n"
	}
	return head + "data: " + text(data) + "\n\n"
}

// text returns a value as JSON; every value that this package sends can be encoded.
func text(value any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		panic(fmt.Sprintf("modeltest: encode event: %v", err))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// stream sends an answer with its fault. A failed write means that the client has disconnected.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, reply Reply, a answer) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	events := slices.Concat(a.body, a.tail)
	if reply.Fault != NoFault {
		events = a.body[:min(max(reply.After, 0), len(a.body))]
	}
	out := http.NewResponseController(w)
	if out.Flush() != nil || s.wait(r.Context(), reply.FirstByte) != nil {
		return
	}
	for i, e := range events {
		if i > 0 && s.wait(r.Context(), reply.Pause) != nil {
			return
		}
		if reply.Pings {
			e = a.ping + e
		}
		if !send(w, out, e) {
			return
		}
	}
	s.spoil(w, r, reply.Fault, a)
}

// spoil causes the fault at the current position. A panic with http.ErrAbortHandler is net/http's documented way to break
// the connection; the server recovers from it and logs nothing.
func (s *Server) spoil(w http.ResponseWriter, r *http.Request, f Fault, a answer) {
	out := http.NewResponseController(w)
	switch f {
	case Break:
		panic(http.ErrAbortHandler)
	case HalfBreak:
		send(w, out, a.bad[:len(a.bad)/2])
		panic(http.ErrAbortHandler)
	case Stall:
		_ = s.wait(r.Context(), -1) // ends with the client or with the server
	case Malformed:
		send(w, out, "data: {\"choices\":[{\"delta\n\n")
	case Failure:
		send(w, out, a.bad)
	case NoFault, Cut:
	}
}

func send(w io.Writer, out *http.ResponseController, e string) bool {
	_, err := io.WriteString(w, e)
	return err == nil && out.Flush() == nil
}
