package telegramtest

import (
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// Always is a Fault.Times without an end.
const Always = -1

// Fault is one way for the server to misbehave. Make it with a constructor,
// narrow it with its fields, and give it to [Server.Inject]. Of several live faults
// that match a call, the one injected first acts.
type Fault struct {
	// Token, Method and Chat narrow the calls that it hits; zero values match all.
	Token  string
	Method string
	Chat   int64
	// Times is how many calls it hits; 0 means once, [Always] without end.
	Times int

	status int           // answer this, without effect
	body   string        // of that answer
	delay  time.Duration // before everything else
	hang   bool          // never answer
	drop   bool          // cut the connection
	effect bool          // drop after the effect, not before
	apiErr *apiError     // answer this Bot API error, without effect

	hits atomic.Int32
}

// RateLimit answers 429 with retry_after seconds.
func RateLimit(seconds int) *Fault {
	return &Fault{apiErr: &apiError{
		Code: 429, Description: "Too Many Requests: retry after " + strconv.Itoa(seconds), RetryAfter: seconds,
	}}
}

// APIError answers with Telegram's own JSON error.
func APIError(code int, description string) *Fault {
	return &Fault{apiErr: &apiError{Code: code, Description: description}}
}

// Status answers with a bare HTTP status and body, as a proxy on the way would.
func Status(code int, body string) *Fault { return &Fault{status: code, body: body} }

// BadEntities refuses the text's markup.
func BadEntities() *Fault {
	return APIError(400, "Bad Request: can't parse entities: Unexpected end tag at byte offset 0")
}

// Blocked answers that the user has blocked the bot.
func Blocked() *Fault { return APIError(403, "Forbidden: bot was blocked by the user") }

// Revoked answers that the token is no longer valid.
func Revoked() *Fault { return APIError(401, "Unauthorized") }

// Conflict answers that another poller uses the token.
func Conflict() *Fault {
	return APIError(409, "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running")
}

// Hang does nothing and never answers, until the caller goes away.
func Hang() *Fault { return &Fault{hang: true} }

// DropBefore cuts the connection and does nothing.
func DropBefore() *Fault { return &Fault{drop: true} }

// DropAfter does what was asked and cuts the connection: the response is lost.
func DropAfter() *Fault { return &Fault{drop: true, effect: true} }

// Slow waits, then answers as usual.
func Slow(d time.Duration) *Fault { return &Fault{delay: d} }

// On narrows the fault to one method and gives it back.
func (f *Fault) On(method string) *Fault { f.Method = method; return f }

// InChat narrows the fault to one chat and gives it back.
func (f *Fault) InChat(chat int64) *Fault { f.Chat = chat; return f }

// For sets how many calls it hits and gives it back.
func (f *Fault) For(times int) *Fault { f.Times = times; return f }

// Hits is how many calls it has hit.
func (f *Fault) Hits() int { return int(f.hits.Load()) }

// Inject makes the server misbehave from now on.
func (s *Server) Inject(f *Fault) *Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.Times == 0 {
		f.Times = 1
	}
	s.faults = append(s.faults, f)
	s.faulty.Store(int32(len(s.faults)))
	return f
}

// Heal ends all faults.
func (s *Server) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
	s.faulty.Store(0)
}

func (s *Server) takeFault(b *Bot, method string, chat int64) *Fault {
	if s.faulty.Load() == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, f := range s.faults {
		if (f.Token != "" && f.Token != b.token) || (f.Method != "" && f.Method != method) || (f.Chat != 0 && f.Chat != chat) {
			continue
		}
		f.hits.Add(1)
		if f.Times > 0 && int(f.hits.Load()) >= f.Times {
			s.faults = append(s.faults[:i:i], s.faults[i+1:]...)
			s.faulty.Store(int32(len(s.faults)))
		}
		s.notify()
		return f
	}
	return nil
}

// before acts ahead of the effect and reports whether the call goes on.
func (f *Fault) before(s *Server, w http.ResponseWriter, r *http.Request) bool {
	if f.delay > 0 {
		timer := time.NewTimer(f.delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-r.Context().Done():
			return false
		case <-s.closing.Done():
			return false
		}
	}
	switch {
	case f.effect:
		return true
	case f.hang || f.drop:
		f.sever(s, r)
		return false
	case f.status != 0:
		w.WriteHeader(f.status)
		_, _ = fmt.Fprint(w, f.body) // the caller may have gone
		return false
	case f.apiErr != nil:
		writeError(w, *f.apiErr)
		return false
	}
	return true
}

// sever waits for the caller to give up, or cuts the connection under it.
func (f *Fault) sever(s *Server, r *http.Request) {
	if f.hang {
		select {
		case <-r.Context().Done():
		case <-s.closing.Done():
		}
	}
	panic(http.ErrAbortHandler) // net/http's own way to close the connection without an answer
}
