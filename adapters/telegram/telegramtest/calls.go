package telegramtest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/go-telegram/bot/models"
)

// Call is one request that reached the server.
type Call struct {
	Token  string
	Method string
	Chat   int64           // 0 for methods without a chat
	Params json.RawMessage // all parameters as one JSON object, whatever the encoding was
	At     time.Time
}

// Message is a message that a bot sent.
type Message struct {
	Token     string
	Chat      int64
	Thread    int64 // topic of a forum; 0 for none
	ID        int64
	Text      string // as it was sent, with its markup
	Plain     string // as people see it
	ParseMode string
	Rich      bool
	Silent    bool
	ReplyTo   int64 // 0 for none
	Edits     int   // how often it was edited; Text is the last one
	At        time.Time
	Buttons   []Button
	File      *models.Document // of a message with a file; Text is then its caption
	Content   []byte           // of the file
	Reactions []string         // the bot's own on it
}

func (s *Server) record(b *Bot, method string, req *request) {
	if s.opts.Forget {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, Call{b.token, method, req.ChatID.ID, req.raw, time.Now()})
	s.notify()
}

// notify wakes everyone in Wait; s.mu is held.
func (s *Server) notify() {
	if s.changed != nil {
		close(s.changed)
		s.changed = nil
	}
}

func (s *Server) violate(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.violations = append(s.violations, text)
}

// Violations are the requests that broke the Bot API's rules, one sentence each.
// A correct client leaves it empty.
func (s *Server) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.violations)
}

// Calls are the recorded calls of one method, or of all for "", in order.
func (s *Server) Calls(method string) []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.callsOf(method)
}

func (s *Server) callsOf(method string) []Call {
	var calls []Call
	for _, c := range s.calls {
		if method == "" || c.Method == method {
			calls = append(calls, c)
		}
	}
	return calls
}

// WaitCalls waits until a method was called at least n times and gives its calls.
func (s *Server) WaitCalls(ctx context.Context, method string, n int) ([]Call, error) {
	var calls []Call
	err := s.wait(ctx, func() bool {
		calls = s.callsOf(method)
		return len(calls) >= n
	})
	if err != nil {
		return calls, fmt.Errorf("wait for %d calls of %s, have %d: %w", n, method, len(calls), err)
	}
	return calls, nil
}

// wait blocks until cond holds; cond runs with s.mu held, after each change.
func (s *Server) wait(ctx context.Context, cond func() bool) error {
	for {
		s.mu.Lock()
		if cond() {
			s.mu.Unlock()
			return nil
		}
		if s.changed == nil {
			s.changed = make(chan struct{})
		}
		changed := s.changed
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
