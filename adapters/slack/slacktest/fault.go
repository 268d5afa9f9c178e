package slacktest

import (
	"fmt"
	"net/http"
	"strconv"
)

// Fault is one kind of misbehaviour. Make it with a constructor and pass it to [Server.Inject]. If several match a call, the
// first injected one is used.
type Fault struct {
	// Method is the affected method; empty for all calls that post a message.
	Method string
	// Times is the number of affected calls; 0 means one.
	Times int

	status int    // answer this, without effect
	body   string // of that answer
	after  int    // seconds of Retry-After
	code   string // answer with this error code, without effect
	hang   bool   // never answer
	drop   bool   // cut the connection
	effect bool   // drop after the effect, not before
}

// RateLimit answers 429 with Retry-After.
func RateLimit(seconds int) *Fault {
	return &Fault{status: http.StatusTooManyRequests, after: seconds, body: `{"ok":false,"error":"ratelimited"}`}
}

// Status answers with an HTTP status and body, as a proxy on the way would.
func Status(code int, body string) *Fault { return &Fault{status: code, body: body} }

// Code answers with one of Slack's error codes.
func Code(code string) *Fault { return &Fault{code: code} }

// Hang does nothing and never answers.
func Hang() *Fault { return &Fault{hang: true} }

// DropBefore cuts the connection and does nothing.
func DropBefore() *Fault { return &Fault{drop: true} }

// DropAfter executes the call and cuts the connection, so that the response is lost.
func DropAfter() *Fault { return &Fault{drop: true, effect: true} }

// On limits the fault to one method, and returns it.
func (f *Fault) On(method string) *Fault { f.Method = method; return f }

// For sets the number of affected calls, and returns the fault.
func (f *Fault) For(times int) *Fault { f.Times = times; return f }

// Inject makes the server misbehave from now on.
func (s *Server) Inject(f *Fault) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.Times == 0 {
		f.Times = 1
	}
	s.faults = append(s.faults, f)
	return f
}

// posts reports whether a method posts a message.
func posts(method string) bool {
	switch method {
	case "chat.postMessage", "files.completeUploadExternal", "response_url":
		return true
	}
	return false
}

func (s *Server) takeFault(method string) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, f := range s.faults {
		if f.Method != method && (f.Method != "" || !posts(method)) {
			continue
		}
		if f.Times--; f.Times == 0 {
			s.faults = append(s.faults[:i:i], s.faults[i+1:]...)
		}
		return f
	}
	return nil
}

// before misbehaves before the call takes effect, and reports whether the call continues.
func (f *Fault) before(s *Server, w http.ResponseWriter, r *http.Request) bool {
	switch {
	case f.effect:
		return true
	case f.hang || f.drop:
		f.sever(s, r)
	case f.status != 0:
		if f.after > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(f.after))
		}
		w.WriteHeader(f.status)
		_, _ = fmt.Fprint(w, f.body) // the caller may have gone
	case f.code != "":
		refuse(w, f.code)
	}
	return false
}

// sever waits for the caller to give up, or cuts the connection. A panic with http.ErrAbortHandler is net/http's documented
// way to do that.
func (f *Fault) sever(s *Server, r *http.Request) {
	if f.hang {
		select {
		case <-r.Context().Done():
		case <-s.closing.Done():
		}
	}
	panic(http.ErrAbortHandler) // net/http's own way to close the connection without an answer
}
