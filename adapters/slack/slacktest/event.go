package slacktest

import (
	"encoding/json"
	"hash/fnv"
	"slices"
	"time"
)

// The kinds of envelope.
const (
	eventsAPI   = "events_api"
	slash       = "slash_commands"
	interactive = "interactive"
)

// event is an event that the app has not confirmed yet. The server's mu guards it.
type event struct {
	id      string // of the envelope
	name    string // "<channel>/<ts>" for messages
	lane    string // the channel
	kind    string
	payload object
	raw     []byte // sent as it is, if set
	tries   int
	due     time.Time
	carrier *socket // the last receiver
	done    bool
}

// callbackOf is the Events API's outer object.
func callbackOf(inner object, id string) object {
	return object{
		"token": "legacy", "team_id": TeamID, "api_app_id": "A0001", "type": "event_callback", "event": inner,
		"event_id": id, "event_time": time.Now().Unix(),
		"authorizations": []object{{"team_id": TeamID, "user_id": BotUser, "is_bot": true, "is_enterprise_install": false}},
	}
}

// tell queues an event of a channel. The caller holds mu.
func (s *Server) tell(name, lane, kind string, payload object) *event {
	e := &event{id: s.id("env"), name: name, lane: lane, kind: kind, payload: payload}
	s.events = append(s.events, e)
	s.given[e.id] = e
	s.notify()
	return e
}

// giveOut sends events to the app until the server closes: new ones at once, unconfirmed ones again after a while.
func (s *Server) giveOut() {
	for {
		s.mu.Lock()
		next := s.give(time.Now())
		changed := s.changed
		s.mu.Unlock()
		timer := time.NewTimer(next)
		select {
		case <-s.closing.Done():
			timer.Stop()
			return
		case <-changed:
		case <-timer.C:
		}
		timer.Stop()
	}
}

// give sends the events that are due, and returns the time until the next one is. The caller holds mu.
func (s *Server) give(now time.Time) time.Duration {
	next := time.Hour
	left := s.events[:0]
	for _, e := range s.events {
		if e.done {
			continue
		}
		left = append(left, e)
		if wait := e.due.Sub(now); wait > 0 {
			next = min(next, wait)
			continue
		}
		if s.opts.HTTP {
			if s.posting[e.lane] { // Slack's own requests may overtake each other too, but only by chance
				continue
			}
			s.post(e)
		} else {
			s.send(e)
		}
		if !e.due.IsZero() {
			next = min(next, max(e.due.Sub(now), time.Millisecond))
		}
	}
	clear(s.events[len(left):])
	s.events = left
	return next
}

// send sends an event to a socket. Events of one channel use the same socket while it is open. The caller holds mu.
func (s *Server) send(e *event) {
	sockets := s.staying()
	if len(sockets) == 0 {
		e.due = time.Time{} // a new socket wakes giveOut
		return
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(e.lane)) // never an error
	c := sockets[(int(hash.Sum32())+e.tries)%len(sockets)]
	e.carrier, e.due = c, time.Now().Add(s.opts.Redeliver)
	raw := e.raw
	if raw == nil {
		envelope := object{"type": e.kind, "envelope_id": e.id, "payload": e.payload, "accepts_response_payload": e.kind != eventsAPI}
		if e.tries > 0 {
			envelope["retry_attempt"], envelope["retry_reason"] = e.tries, "timeout"
		}
		raw, _ = json.Marshal(envelope) // maps of texts and numbers always can be
	} else {
		e.done = true
	}
	e.tries++
	c.writeRaw(raw)
}

// confirm handles a confirmation.
func (s *Server) confirm(from *socket, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.given[id]
	switch {
	case e == nil:
		s.violations = append(s.violations, "socket: confirmation of an envelope that never was: "+id)
		return
	case from != nil && from != e.carrier && !e.done && e.tries < 2:
		s.violations = append(s.violations, "socket: confirmation on a socket that did not bring the envelope: "+id)
		return
	}
	e.done = true
	s.notify()
}

// confirmed reports whether all events of a name are confirmed; mu is held.
func (s *Server) confirmed(name string) bool {
	known := false
	for _, e := range s.given {
		if e.name == name {
			known = true
			if !e.done {
				return false
			}
		}
	}
	return known
}

// Confirmed reports whether the app has confirmed all events of a message.
func (s *Server) Confirmed(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.confirmed(name)
}

// Pending returns the number of unconfirmed events.
func (s *Server) Pending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pending()
}

func (s *Server) pending() int {
	n := 0
	for _, e := range s.events {
		if !e.done {
			n++
		}
	}
	return n
}

// Redeliver sends all events of a message again.
func (s *Server) Redeliver(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.given {
		if e.name != name {
			continue
		}
		e.done = false
		if !slices.Contains(s.events, e) {
			s.events = append(s.events, e)
		}
		e.due = time.Time{}
	}
	s.notify()
}
