package slacktest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// The kinds of place, as channel_type spells them.
const (
	Direct  = "im"
	Multi   = "mpim"
	Public  = "channel"
	Private = "group"
)

// object is a JSON object on its way out.
type object = map[string]any

// place is a conversation; all of it is guarded by the server's mu.
type place struct {
	id, kind, name string
	members        []string
	messages       []*message
	archived       bool
}

// message is one message, of a person or of the app.
type message struct {
	ts, thread string
	user       string
	own        bool // the app's
	text       string
	plain      bool // mrkdwn is off
	blocks     json.RawMessage
	metadata   json.RawMessage
	edited     string // ts of the last edit
	deleted    bool
	private    bool // only one person sees it
	file       *file
	reactions  []string // of the app

	attachments []any // of a person
}

// file is one upload.
type file struct {
	id, name, mime string
	content        []byte
	length         int
	owner          string
	shares         []string // "<channel>/<ts>"
}

// Person is the id of person n, and DirectID that of their direct chat with the app.
func Person(n int) string { return fmt.Sprintf("U%06d", n) }

// DirectID is the id of person n's direct chat with the app.
func DirectID(n int) string { return fmt.Sprintf("D%06d", n) }

// Join makes a place with the app in it, or finds it.
func (s *Server) Join(id, kind, name string, members ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.join(id, kind, name)
	for _, m := range members {
		s.enter(p, m, "")
	}
}

// Name gives a person a name.
func (s *Server) Name(user, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.people[user] = name
}

// Archive makes a place refuse messages.
func (s *Server) Archive(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.join(id, Public, "").archived = true
}

// join finds or makes a place; mu is held.
func (s *Server) join(id, kind, name string) *place {
	p := s.places[id]
	if p == nil {
		p = &place{id: id, kind: kind, name: name, members: []string{BotUser}}
		s.places[id] = p
	}
	return p
}

// enter makes a person known and a member; mu is held.
func (s *Server) enter(p *place, user, name string) {
	if s.people[user] == "" || name != "" {
		s.people[user] = orElse(name, "Person "+strings.TrimLeft(user, "U0"))
	}
	if !slices.Contains(p.members, user) {
		p.members = append(p.members, user)
	}
}

func orElse(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// find gives a message of a place; mu is held.
func (p *place) find(ts string) *message {
	for _, m := range p.messages {
		if m.ts == ts && !m.deleted {
			return m
		}
	}
	return nil
}

// Message is one message of the app, as it stands now.
type Message struct {
	TS, Thread string
	Text       string
	Delivery   string // of its metadata
	Edited     bool
}

// Shown are the app's messages in a place that everybody there sees, in order.
func (s *Server) Shown(channel string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.shown(channel)
}

// Counts is how many messages of the app each place shows.
func (s *Server) Counts() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := map[string]int{}
	for id := range s.places {
		if n := len(s.shown(id)); n > 0 {
			counts[id] = n
		}
	}
	return counts
}

func (s *Server) shown(channel string) []Message {
	p := s.places[channel]
	if p == nil {
		return nil
	}
	var all []Message
	for _, m := range p.messages {
		if m.own && !m.deleted && !m.private {
			all = append(all, Message{TS: m.ts, Thread: m.thread, Text: m.text, Delivery: m.delivery(), Edited: m.edited != ""})
		}
	}
	return all
}

func (m *message) delivery() string {
	var metadata struct {
		Payload struct {
			Delivery string `json:"delivery"`
		} `json:"event_payload"`
	}
	if json.Unmarshal(m.metadata, &metadata) != nil {
		return ""
	}
	return metadata.Payload.Delivery
}

// WaitShown waits until a place shows at least n messages of the app and gives them.
func (s *Server) WaitShown(ctx context.Context, channel string, n int) ([]Message, error) {
	var shown []Message
	err := s.wait(ctx, func() bool {
		shown = s.shown(channel)
		return len(shown) >= n
	})
	if err != nil {
		return shown, fmt.Errorf("wait for %d messages in %s, have %d: %w", n, channel, len(shown), err)
	}
	return shown, nil
}
