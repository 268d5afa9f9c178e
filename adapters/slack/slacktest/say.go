package slacktest

import (
	"fmt"
	"maps"
	"strings"
	"time"
)

// Line is what a person writes.
type Line struct {
	Channel, Thread string
	User, Name      string
	Text            string    // mrkdwn, as Slack's apps send it
	Attachments     []any     // what stands below the text
	At              time.Time // zero: now
	file            *file
}

// Say lets person n write to the app and gives the message's ts; the event is named "<channel>/<ts>".
func (s *Server) Say(n int, text string) string {
	s.mu.Lock()
	s.join(DirectID(n), Direct, "")
	s.mu.Unlock()
	return s.Write(Line{Channel: DirectID(n), User: Person(n), Text: text})
}

// Write lets a person write in a place that exists, and gives the message's ts.
func (s *Server) Write(l Line) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.join(l.Channel, Public, "")
	s.enter(p, l.User, l.Name)
	ts := s.ts()
	if !l.At.IsZero() {
		ts = fmt.Sprintf("%d.%06d", l.At.Unix(), l.At.Nanosecond()/1000)
	}
	m := &message{ts: ts, thread: l.Thread, user: l.User, text: l.Text, attachments: l.Attachments, file: l.file}
	p.messages = append(p.messages, m)
	name := p.id + "/" + m.ts
	s.tell(name, p.id, eventsAPI, callbackOf(s.inner(p, m, "message"), s.id("Ev")))
	if p.kind != Direct && strings.Contains(l.Text, "<@"+BotUser+">") {
		s.tell(name, p.id, eventsAPI, callbackOf(s.inner(p, m, "app_mention"), s.id("Ev")))
	}
	return m.ts
}

// inner is the event of a person's message; mu is held.
func (s *Server) inner(p *place, m *message, kind string) object {
	o := m.json()
	o["type"], o["channel"], o["event_ts"], o["client_msg_id"] = kind, p.id, m.ts, m.ts
	if kind == "message" {
		o["channel_type"] = p.kind
	} else {
		delete(o, "subtype")
	}
	if m.file != nil {
		o["files"] = []object{m.file.json(s.http.URL)}
	}
	if root := p.find(m.thread); root != nil {
		o["parent_user_id"] = root.user
	}
	return o
}

// Tell tells the app of an event of a channel, as it is given.
func (s *Server) Tell(channel string, inner map[string]any) { s.TellAs(TeamID, channel, inner) }

// TellAs tells the app of an event of a workspace.
func (s *Server) TellAs(team, channel string, inner map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	event := maps.Clone(inner)
	if event["type"] == "message" {
		event["channel"], event["channel_type"] = channel, s.join(channel, Public, "").kind
	}
	outer := callbackOf(event, s.id("Ev"))
	outer["team_id"], outer["authorizations"] = team, []object{{"team_id": team, "user_id": BotUser, "is_bot": true}}
	s.tell("", channel, eventsAPI, outer)
}

// Edit lets the writer change a message; without a change of the text it is as if Slack had shown a link's preview.
func (s *Server) Edit(channel, ts, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.places[channel]
	m := p.find(ts)
	before := m.json()
	m.text, m.edited = text, s.ts()
	s.tell("", channel, eventsAPI, callbackOf(object{
		"type": "message", "subtype": "message_changed", "hidden": true, "channel": channel, "channel_type": p.kind, "ts": m.edited,
		"event_ts": m.edited, "message": m.json(), "previous_message": before,
	}, s.id("Ev")))
}

// Delete lets the writer take a message back.
func (s *Server) Delete(channel, ts string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.places[channel]
	m := p.find(ts)
	m.deleted = true
	at := s.ts()
	s.tell("", channel, eventsAPI, callbackOf(object{
		"type": "message", "subtype": "message_deleted", "hidden": true, "channel": channel, "channel_type": p.kind, "ts": at,
		"event_ts": at, "deleted_ts": ts, "previous_message": m.json(),
	}, s.id("Ev")))
}

// React lets a person put an emoji on a message, or take it off.
func (s *Server) React(channel, ts, user, emoji string, removed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.places[channel]
	s.enter(p, user, "")
	s.reacted(p, ts, user, emoji, removed)
}

// reacted tells the app of a reaction, of its own too; mu is held.
func (s *Server) reacted(p *place, ts, user, emoji string, removed bool) {
	kind, author := "reaction_added", user
	if removed {
		kind = "reaction_removed"
	}
	if m := p.find(ts); m != nil {
		author = m.user
	}
	s.tell("", p.id, eventsAPI, callbackOf(object{
		"type": kind, "user": user, "reaction": emoji, "item_user": author, "event_ts": s.ts(),
		"item": object{"type": "message", "channel": p.id, "ts": ts},
	}, s.id("Ev")))
}

// Command lets a person give a slash command; the result names the event.
func (s *Server) Command(channel, user, name, text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.join(channel, Public, "")
	s.enter(p, user, "")
	id := s.id("response")
	s.responses[id] = channel
	s.tell(id, channel, slash, object{
		"token": "legacy", "team_id": TeamID, "channel_id": channel, "channel_name": p.name, "user_id": user, "user_name": "person",
		"command": name, "text": text, "api_app_id": "A0001", "response_url": s.http.URL + "/respond/" + id, "trigger_id": s.id("trigger"),
	})
	return id
}

// Press lets a person press a button of a message.
func (s *Server) Press(channel, ts, user, action, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.places[channel]
	s.enter(p, user, "")
	container := object{"type": "message", "message_ts": ts, "channel_id": channel, "is_ephemeral": false}
	message := object{}
	if m := p.find(ts); m != nil {
		maps.Copy(message, m.json())
		if m.thread != "" {
			container["thread_ts"] = m.thread
		}
	}
	s.tell("", channel, interactive, object{
		"type": "block_actions", "user": object{"id": user, "team_id": TeamID}, "api_app_id": "A0001", "team": object{"id": TeamID},
		"container": container, "channel": object{"id": channel}, "message": message, "trigger_id": s.id("trigger"),
		"actions": []object{{"type": "button", "action_id": action, "block_id": "b", "value": value, "action_ts": s.ts()}},
	})
}
