package slacktest

import (
	"context"
	"fmt"
)

// What tests wait for beside messages.

// WaitConfirmed waits until the app has confirmed everything.
func (s *Server) WaitConfirmed(ctx context.Context) error {
	if err := s.wait(ctx, func() bool { return s.pending() == 0 }); err != nil {
		return fmt.Errorf("wait for confirmations, %d are missing: %w", s.Pending(), err)
	}
	return nil
}

// WaitSockets waits until at least n sockets are open.
func (s *Server) WaitSockets(ctx context.Context, n int) error {
	return s.waitFor(ctx, "sockets", n, func() int { return len(s.sockets) })
}

// WaitPings waits until the app has answered n pings more.
func (s *Server) WaitPings(ctx context.Context, n int) error {
	return s.waitMore(ctx, "answered pings", n, &s.answered)
}

// WaitPongs waits until the app has sent n pings more.
func (s *Server) WaitPongs(ctx context.Context, n int) error {
	return s.waitMore(ctx, "pings", n, &s.asked)
}

// WaitCalls waits until a method was called n times.
func (s *Server) WaitCalls(ctx context.Context, method string, n int) error {
	return s.waitFor(ctx, "calls of "+method, n, func() int { return s.calls[method] })
}

// WaitGiven waits until n events were given to the app at least once.
func (s *Server) WaitGiven(ctx context.Context, n int) error {
	return s.waitFor(ctx, "events given", n, func() int {
		given := 0
		for _, e := range s.given {
			if e.tries > 0 {
				given++
			}
		}
		return given
	})
}

// FewestSockets is the smallest number of sockets that were open since there were two.
func (s *Server) FewestSockets() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fewest
}

func (s *Server) waitMore(ctx context.Context, what string, n int, count *int) error {
	s.mu.Lock()
	from := *count
	s.mu.Unlock()
	return s.waitFor(ctx, what, n, func() int { return *count - from })
}

func (s *Server) waitFor(ctx context.Context, what string, n int, count func() int) error {
	have := 0
	err := s.wait(ctx, func() bool {
		have = count()
		return have >= n
	})
	if err != nil {
		return fmt.Errorf("wait for %d %s, have %d: %w", n, what, have, err)
	}
	return nil
}
