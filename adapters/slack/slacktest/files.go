package slacktest

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// maxUpload bounds an upload at the fake.
const maxUpload = 64 << 20

// json returns the description of a file in a message; base is the address of its content.
func (f *file) json(base string) object {
	shares := object{}
	for _, share := range f.shares {
		channel, ts, _ := strings.Cut(share, "/")
		shares[channel] = []object{{"ts": ts}}
	}
	return object{
		"id": f.id, "name": f.name, "title": f.name, "mimetype": f.mime, "size": len(f.content), "user": f.owner,
		"url_private": base + "/files/" + f.id, "url_private_download": base + "/files/" + f.id, "shares": object{"private": shares},
	}
}

func (s *Server) uploadURL(req *request) (object, string) {
	length, err := strconv.Atoi(req.form.Get("length"))
	if err != nil || length <= 0 || req.form.Get("filename") == "" {
		return nil, "invalid_arguments"
	}
	f := &file{id: s.id("F"), name: req.form.Get("filename"), mime: "application/octet-stream", length: length, owner: BotUser}
	s.files[f.id] = f
	return object{"upload_url": s.http.URL + "/upload/" + f.id, "file_id": f.id}, ""
}

// serveUpload receives a file's content.
func (s *Server) serveUpload(w http.ResponseWriter, r *http.Request) {
	content, err := io.ReadAll(io.LimitReader(r.Body, maxUpload))
	if err != nil {
		return // the caller has gone
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.files[r.PathValue("id")]
	switch {
	case f == nil:
		w.WriteHeader(http.StatusNotFound)
		return
	case len(content) != f.length:
		s.violations = append(s.violations, "upload: "+strconv.Itoa(len(content))+" bytes where "+strconv.Itoa(f.length)+" were announced")
		w.WriteHeader(http.StatusBadRequest)
		return
	case r.Header.Get("Authorization") != "":
		s.violations = append(s.violations, "upload: the token was sent along")
	}
	f.content = content
	_, _ = io.WriteString(w, "OK - "+strconv.Itoa(len(content))) // the caller may have gone
}

func (s *Server) completeUpload(req *request) (object, string) {
	p, code := s.target(req)
	if code != "" {
		return nil, code
	}
	var wanted []struct {
		ID    string `json:"id"`
		Title string `json:"title"`
	}
	if json.Unmarshal([]byte(req.form.Get("files")), &wanted) != nil || len(wanted) != 1 {
		return nil, "invalid_arguments"
	}
	f := s.files[wanted[0].ID]
	if f == nil || f.content == nil {
		return nil, "file_not_found"
	}
	m := &message{ts: s.ts(), thread: req.form.Get("thread_ts"), user: BotUser, own: true, text: req.form.Get("initial_comment"), file: f}
	p.messages = append(p.messages, m)
	f.shares = append(f.shares, p.id+"/"+m.ts)
	s.echo(p, m)
	return object{"files": []object{{"id": f.id, "title": f.name}}}, ""
}

func (s *Server) fileInfo(req *request) (object, string) {
	f := s.files[req.form.Get("file")]
	if f == nil {
		return nil, "file_not_found"
	}
	return object{"file": f.json(s.http.URL)}, ""
}

// serveFile serves a file to callers with the token, and redirects others to the sign-in page.
func (s *Server) serveFile(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	f := s.files[r.PathValue("id")]
	refused := s.revoked || r.Header.Get("Authorization") != "Bearer "+s.bot
	s.mu.Unlock()
	switch {
	case f == nil:
		http.NotFound(w, r)
	case refused:
		http.Redirect(w, r, "/?redir="+r.URL.Path, http.StatusFound)
	default:
		w.Header().Set("Content-Type", f.mime)
		_, _ = w.Write(f.content) // the caller may have gone
	}
}

// LastFile returns the id of the newest file.
func (s *Server) LastFile() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := ""
	for id := range s.files {
		last = max(last, id)
	}
	return last
}
