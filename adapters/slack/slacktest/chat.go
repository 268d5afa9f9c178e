package slacktest

import (
	"encoding/json"
	"slices"
	"strconv"
)

// target finds the place of a call, or the code that refuses it; mu is held.
func (s *Server) target(req *request) (*place, string) {
	p := s.places[orElse(req.form.Get("channel"), req.form.Get("channel_id"))]
	switch {
	case p == nil:
		return nil, "channel_not_found"
	case p.archived:
		return nil, "is_archived"
	}
	return p, ""
}

func (s *Server) postMessage(req *request) (object, string) {
	p, code := s.target(req)
	if code != "" {
		return nil, code
	}
	text := req.form.Get("text")
	if text == "" && req.form.Get("blocks") == "" {
		return nil, "no_text"
	}
	m := &message{
		ts: s.ts(), thread: req.form.Get("thread_ts"), user: BotUser, own: true, text: text, plain: req.form.Get("mrkdwn") == "false",
		blocks: rawOf(req, "blocks"), metadata: rawOf(req, "metadata"),
	}
	p.messages = append(p.messages, m)
	s.echo(p, m)
	return object{"channel": p.id, "ts": m.ts, "message": m.json()}, ""
}

func rawOf(req *request, name string) json.RawMessage {
	if v := req.form.Get(name); v != "" {
		return json.RawMessage(v)
	}
	return nil
}

// echo tells the app of its own message, as Slack does; mu is held.
func (s *Server) echo(p *place, m *message) {
	inner := m.json()
	inner["channel"], inner["channel_type"], inner["event_ts"], inner["bot_id"] = p.id, p.kind, m.ts, BotID
	s.tell(p.id+"/"+m.ts, p.id, eventsAPI, callbackOf(inner, s.id("Ev")))
}

// json is a message as the Web API and events show it.
func (m *message) json() object {
	o := object{"type": "message", "user": m.user, "text": m.text, "ts": m.ts, "team": TeamID}
	if m.own {
		o["bot_id"] = BotID
	}
	if m.thread != "" {
		o["thread_ts"] = m.thread
	}
	if m.edited != "" {
		o["edited"] = object{"user": m.user, "ts": m.edited}
	}
	if m.blocks != nil {
		o["blocks"] = m.blocks
	}
	if m.attachments != nil {
		o["attachments"] = m.attachments
	}
	if m.file != nil {
		o["files"], o["subtype"] = []object{m.file.json("")}, "file_share"
	}
	return o
}

// own finds the app's message that a call names. If another sender wrote it, the code is foreign.
func (s *Server) own(req *request, foreign string) (p *place, m *message, code string) {
	if p, code = s.target(req); code != "" {
		return nil, nil, code
	}
	switch m = p.find(req.form.Get("ts")); {
	case m == nil:
		return nil, nil, "message_not_found"
	case !m.own:
		return nil, nil, foreign
	}
	return p, m, ""
}

func (s *Server) update(req *request) (object, string) {
	p, m, code := s.own(req, "cant_update_message")
	if code != "" {
		return nil, code
	}
	m.text, m.edited = req.form.Get("text"), s.ts()
	if blocks := rawOf(req, "blocks"); blocks != nil {
		m.blocks = blocks
	}
	return object{"channel": p.id, "ts": m.ts, "text": m.text}, ""
}

func (s *Server) remove(req *request) (object, string) {
	p, m, code := s.own(req, "cant_delete_message")
	if code != "" {
		return nil, code
	}
	m.deleted = true
	return object{"channel": p.id, "ts": m.ts}, ""
}

func (s *Server) react(req *request) (object, string) {
	p, code := s.target(req)
	if code != "" {
		return nil, code
	}
	m := p.find(req.form.Get("timestamp"))
	if m == nil {
		return nil, "message_not_found"
	}
	name := req.form.Get("name")
	at := slices.Index(m.reactions, name)
	switch {
	case req.method == "reactions.add" && at >= 0:
		return nil, "already_reacted"
	case req.method == "reactions.add":
		m.reactions = append(m.reactions, name)
	case at < 0:
		return nil, "no_reaction"
	default:
		m.reactions = slices.Delete(m.reactions, at, at+1)
	}
	s.reacted(p, m.ts, BotUser, name, req.method == "reactions.remove")
	return object{}, ""
}

// history answers for a conversation, newest first, and for a thread, oldest first; mu is held.
func (s *Server) history(req *request) (object, string) {
	p, code := s.target(req)
	if code != "" {
		return nil, code
	}
	thread, metadata := req.form.Get("ts"), req.form.Get("include_all_metadata") == "1"
	var found []object
	for _, m := range p.messages {
		in := m.thread == "" || m.thread == m.ts
		if req.method == "conversations.replies" {
			in = m.thread == thread || m.ts == thread
		}
		if !in || m.deleted || m.private || !within(req, m.ts) {
			continue
		}
		o := m.json()
		if metadata && m.metadata != nil {
			o["metadata"] = m.metadata
		}
		found = append(found, o)
	}
	if req.method == "conversations.history" {
		slices.Reverse(found)
	}
	return paged(req, "messages", found), ""
}

// within reports whether a message's time is between oldest and latest.
func within(req *request, ts string) bool {
	oldest, latest := req.form.Get("oldest"), req.form.Get("latest")
	if ts == oldest || ts == latest {
		return req.form.Get("inclusive") == "1" || req.form.Get("inclusive") == "true"
	}
	return ts > oldest && (latest == "" || ts < latest)
}

// paged cuts a list by limit and cursor, where the cursor is the place to go on at.
func paged[T any](req *request, name string, all []T) object {
	from, _ := strconv.Atoi(req.form.Get("cursor")) // none: from the beginning
	limit, err := strconv.Atoi(req.form.Get("limit"))
	if err != nil || limit <= 0 {
		limit = 100
	}
	from = min(max(from, 0), len(all))
	page := all[from:min(from+limit, len(all))]
	next := ""
	if from+limit < len(all) {
		next = strconv.Itoa(from + limit)
	}
	if page == nil {
		page = []T{}
	}
	return object{name: page, "has_more": next != "", "response_metadata": object{"next_cursor": next}}
}
