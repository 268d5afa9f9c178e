package httpapi

import "net/http"

// Handler is everything that the server serves.
func (s *Server) Handler() http.Handler { return s.handler }
