package discordtest

// Connected returns the number of gateway sessions with a connection.
func (s *Server) Connected() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.connected()
}
