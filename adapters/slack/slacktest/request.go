package slacktest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// maxRequest bounds a call.
const maxRequest = 4 << 20

// request is one call of the Web API.
type request struct {
	method string
	token  string
	form   url.Values
}

func readRequest(r *http.Request) (*request, error) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxRequest))
	if err != nil {
		return nil, fmt.Errorf("read request: %w", err)
	}
	req := &request{method: r.PathValue("method"), form: r.URL.Query()}
	kind, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	switch {
	case len(body) == 0:
	case kind == "application/json":
		if err := req.readJSON(body); err != nil {
			return nil, err
		}
	case kind == "application/x-www-form-urlencoded":
		form, err := url.ParseQuery(string(body))
		if err != nil {
			return nil, fmt.Errorf("read form: %w", err)
		}
		for name, values := range form {
			req.form[name] = values
		}
	default:
		return nil, fmt.Errorf("content type %q", kind)
	}
	req.token = req.form.Get("token")
	req.form.Del("token")
	if bearer, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer "); ok {
		req.token = bearer
	}
	return req, nil
}

func (r *request) readJSON(body []byte) error {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(body, &values); err != nil {
		if strings.TrimSpace(string(body)) == "null" {
			return nil
		}
		return fmt.Errorf("read json: %w", err)
	}
	for name, raw := range values {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			text = string(raw)
		}
		r.form.Set(name, text)
	}
	return nil
}

// serveMethod answers one call of the Web API.
func (s *Server) serveMethod(w http.ResponseWriter, r *http.Request) {
	req, err := readRequest(r)
	if err != nil {
		if r.Context().Err() == nil {
			s.violate("%s: %v", r.PathValue("method"), err)
		}
		refuse(w, "invalid_arguments")
		return
	}
	s.check(req)
	fault := s.takeFault(req.method)
	s.mu.Lock()
	s.calls[req.method]++
	s.notify()
	s.mu.Unlock()
	if fault != nil && !fault.before(s, w, r) {
		return
	}
	answer, code := s.call(req)
	if fault != nil && fault.effect {
		fault.sever(s, r)
	}
	if code != "" {
		refuse(w, code)
		return
	}
	answer["ok"] = true
	writeJSON(w, answer)
}

func refuse(w http.ResponseWriter, code string) { writeJSON(w, object{"ok": false, "error": code}) }

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(v) // the caller may have gone
}

// call does what a method does.
func (s *Server) call(req *request) (answer object, code string) {
	s.mu.Lock()
	want := s.bot
	if req.method == "apps.connections.open" {
		want = s.app
	}
	switch {
	case s.revoked:
		s.mu.Unlock()
		return nil, "token_revoked"
	case req.token == "":
		s.mu.Unlock()
		return nil, "not_authed"
	case req.token != want:
		s.mu.Unlock()
		return nil, "invalid_auth"
	}
	answer, code = s.dispatch(req)
	s.notify()
	s.mu.Unlock()
	if code == "" && (posts(req.method) || req.method == "chat.update") && s.opts.OnSent != nil {
		s.opts.OnSent(orElse(req.form.Get("channel"), req.form.Get("channel_id")), orElse(req.form.Get("text"), req.form.Get("initial_comment")))
	}
	return answer, code
}

// dispatch finds the method; mu is held.
func (s *Server) dispatch(req *request) (object, string) {
	switch req.method {
	case "auth.test":
		return object{"url": "https://fake.slack.com/", "team": "Fake", "user": BotName, "team_id": TeamID, "user_id": BotUser, "bot_id": BotID}, ""
	case "apps.connections.open":
		return object{"url": "ws" + strings.TrimPrefix(s.http.URL, "http") + "/socket/" + s.id("ticket")}, ""
	case "chat.postMessage":
		return s.postMessage(req)
	case "chat.update":
		return s.update(req)
	case "chat.delete":
		return s.remove(req)
	case "reactions.add", "reactions.remove":
		return s.react(req)
	case "conversations.history", "conversations.replies":
		return s.history(req)
	case "conversations.info":
		return s.info(req)
	case "conversations.list":
		return s.list(req)
	case "conversations.members":
		return s.membersOf(req)
	case "conversations.open":
		return s.openDirect(req)
	case "users.info":
		return s.userInfo(req)
	case "users.list":
		return s.userList(req)
	case "files.getUploadURLExternal":
		return s.uploadURL(req)
	case "files.completeUploadExternal":
		return s.completeUpload(req)
	case "files.info":
		return s.fileInfo(req)
	}
	return nil, "unknown_method"
}
