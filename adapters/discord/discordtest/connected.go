package discordtest

// Connected is how many gateway sessions have a connection now.
func (s *Server) Connected() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.connected()
}
