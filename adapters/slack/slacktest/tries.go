package slacktest

// Tries is how often the app was given an event of that name: more than once where
// it did not confirm in time. Events that came after it may have overtaken it then.
func (s *Server) Tries(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	tries := 0
	for _, e := range s.given {
		if e.name == name {
			tries = max(tries, e.tries)
		}
	}
	return tries
}
