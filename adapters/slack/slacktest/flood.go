package slacktest

import "encoding/json"

// Flood sends unknown kinds of events and envelopes, and data that is not an event. It returns the names of those that can
// be confirmed.
func (s *Server) Flood() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	inner := []object{
		{"type": "something_new", "channel": object{"id": "C1"}},
		{"type": "message", "channel": object{"id": "C1"}, "ts": 17},
		{"type": "message", "text": "nowhere"},
		{"type": "reaction_added", "item": object{"type": "file"}},
		{},
	}
	var names []string
	for _, event := range inner {
		names = append(names, s.tell(s.id("flood"), "", eventsAPI, callbackOf(event, s.id("Ev"))).name)
	}
	names = append(names,
		s.tell(s.id("flood"), "", eventsAPI, object{"type": "app_rate_limited", "team_id": TeamID}).name,
		s.tell(s.id("flood"), "", interactive, object{"type": "view_closed"}).name,
		s.tell(s.id("flood"), "", interactive, object{"type": 7}).name,
		s.tell(s.id("flood"), "", slash, object{"command": "/sluice"}).name)
	if !s.opts.HTTP {
		names = append(names, s.tell(s.id("flood"), "", "something_new", object{}).name)
	}
	for _, raw := range []string{`"text"`, `{"type":"something_new"}`, "not json at all", "{}", `{"type":"events_api","payload":{}}`} {
		s.tell("", "", eventsAPI, nil).raw = json.RawMessage(raw)
	}
	return names
}
