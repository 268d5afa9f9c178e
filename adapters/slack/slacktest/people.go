package slacktest

import (
	"maps"
	"slices"
	"strings"
)

func (p *place) json() object {
	return object{
		"id": p.id, "name": p.name, "is_channel": p.kind == Public, "is_group": p.kind == Private, "is_im": p.kind == Direct,
		"is_mpim": p.kind == Multi, "is_private": p.kind != Public, "is_archived": p.archived, "is_member": true,
	}
}

func (s *Server) info(req *request) (object, string) {
	p := s.places[req.form.Get("channel")]
	if p == nil {
		return nil, "channel_not_found"
	}
	return object{"channel": p.json()}, ""
}

func (s *Server) list(req *request) (object, string) {
	var all []object
	for _, id := range slices.Sorted(maps.Keys(s.places)) {
		p := s.places[id]
		kind := map[string]string{Public: "public_channel", Private: "private_channel", Multi: "mpim", Direct: "im"}[p.kind]
		if strings.Contains(orElse(req.form.Get("types"), "public_channel"), kind) {
			all = append(all, p.json())
		}
	}
	return paged(req, "channels", all), ""
}

func (s *Server) membersOf(req *request) (object, string) {
	p := s.places[req.form.Get("channel")]
	if p == nil {
		return nil, "channel_not_found"
	}
	return paged(req, "members", p.members), ""
}

func (s *Server) openDirect(req *request) (object, string) {
	user := req.form.Get("users")
	if s.people[user] == "" {
		return nil, "user_not_found"
	}
	p := s.join("D"+strings.TrimPrefix(user, "U"), Direct, "")
	s.enter(p, user, "")
	return object{"channel": p.json(), "no_op": false, "already_open": true}, ""
}

func (s *Server) user(id string) object {
	name := s.people[id]
	return object{
		"id": id, "team_id": TeamID, "name": strings.ToLower(strings.ReplaceAll(name, " ", ".")), "real_name": name,
		"is_bot": id == BotUser, "profile": object{"real_name": name, "display_name": name},
	}
}

func (s *Server) userInfo(req *request) (object, string) {
	id := req.form.Get("user")
	if s.people[id] == "" {
		return nil, "user_not_found"
	}
	return object{"user": s.user(id)}, ""
}

func (s *Server) userList(req *request) (object, string) {
	var all []object
	for _, id := range slices.Sorted(maps.Keys(s.people)) {
		all = append(all, s.user(id))
	}
	return paged(req, "members", all), ""
}
