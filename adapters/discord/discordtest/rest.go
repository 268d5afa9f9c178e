package discordtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// maxUpload bounds a request's body: a file of ten megabytes and its description.
const maxUpload = 11 << 20

// call is one request that the fake handles.
type call struct {
	*Server
	w     http.ResponseWriter
	r     *http.Request
	body  []byte            // JSON
	files map[string][]byte // of a form, by name
	index int               // in the list of calls
}

// route is one endpoint: its template in the published description, and its handler.
type route struct {
	method, path string
	open         bool // needs no token
	posts        bool // shows a message: faults go here
	do           func(*call)
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /gateway/", s.serveGateway)
	mux.HandleFunc("GET /gateway", s.serveGateway)
	mux.HandleFunc("GET /files/{channel}/{message}/{name}", s.serveFile)
	for _, rt := range s.endpoints() {
		mux.HandleFunc(rt.method+" /api/v10"+rt.path, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, rt) })
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.violate("no such endpoint: %s %s", r.Method, r.URL.Path)
		refuse(w, http.StatusNotFound, 0, "404: Not Found")
	})
	return mux
}

func (s *Server) endpoints() []route {
	return []route{
		{method: "GET", path: "/users/@me", do: (*call).me},
		{method: "POST", path: "/users/@me/channels", do: (*call).openDirect},
		{method: "GET", path: "/users/@me/guilds", do: (*call).guilds},
		{method: "GET", path: "/applications/@me", do: (*call).application},
		{method: "PUT", path: "/applications/{application_id}/commands", do: (*call).putCommands},
		{method: "GET", path: "/gateway/bot", do: (*call).gateway},
		{method: "GET", path: "/guilds/{guild_id}", do: (*call).guild},
		{method: "GET", path: "/guilds/{guild_id}/channels", do: (*call).guildChannels},
		{method: "GET", path: "/guilds/{guild_id}/members", do: (*call).members},
		{method: "GET", path: "/guilds/{guild_id}/members/search", do: (*call).searchMembers},
		{method: "GET", path: "/guilds/{guild_id}/members/{user_id}", do: (*call).member},
		{method: "GET", path: "/channels/{channel_id}", do: (*call).channel},
		{method: "GET", path: "/channels/{channel_id}/thread-members", do: (*call).threadMembers},
		{method: "GET", path: "/channels/{channel_id}/messages", do: (*call).history},
		{method: "GET", path: "/channels/{channel_id}/messages/{message_id}", do: (*call).message},
		{method: "POST", path: "/channels/{channel_id}/messages", posts: true, do: (*call).post},
		{method: "PATCH", path: "/channels/{channel_id}/messages/{message_id}", do: (*call).edit},
		{method: "DELETE", path: "/channels/{channel_id}/messages/{message_id}", do: (*call).deleteMessage},
		{method: "PUT", path: "/channels/{channel_id}/messages/{message_id}/reactions/{emoji_name}/@me", do: (*call).react},
		{method: "DELETE", path: "/channels/{channel_id}/messages/{message_id}/reactions/{emoji_name}/@me", do: (*call).unreact},
		{method: "POST", path: "/channels/{channel_id}/typing", do: (*call).typing},
		{method: "POST", path: "/interactions/{interaction_id}/{interaction_token}/callback", open: true, do: (*call).callback},
		{method: "PATCH", path: "/webhooks/{webhook_id}/{webhook_token}/messages/{message_id}", open: true, posts: true, do: (*call).patchHook},
		{method: "POST", path: "/webhooks/{webhook_id}/{webhook_token}", open: true, posts: true, do: (*call).postHook},
	}
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request, rt route) {
	c := &call{Server: s, w: w, r: r}
	if err := c.read(); err != nil {
		if r.Context().Err() == nil {
			s.violate("%s %s: %v", r.Method, r.URL.Path, err)
		}
		c.refuse(http.StatusBadRequest, 50035, "Invalid Form Body")
		return
	}
	c.record()
	s.check(rt, c)
	switch auth := r.Header.Get("Authorization"); {
	case rt.open && auth != "":
		s.violate("%s %s: the bot's token was sent where none is wanted", r.Method, rt.path)
	case !rt.open && (auth != "Bot "+s.opts.Token || s.isRevoked()):
		c.refuse(http.StatusUnauthorized, 0, "401: Unauthorized")
		return
	}
	if s.limited(c, rt) {
		return
	}
	f := s.takeFault(rt)
	if f != nil && !f.before(c) {
		return
	}
	if f != nil { // the effect happens, and nobody hears of it
		c.w = nowhere{http.Header{}}
	}
	rt.do(c)
	if f != nil {
		sever(w)
	}
}

// read reads the body: JSON, or a form with it as payload_json.
func (c *call) read() error {
	raw, err := io.ReadAll(io.LimitReader(c.r.Body, maxUpload+1))
	if err != nil {
		return err
	}
	if len(raw) > maxUpload {
		return fmt.Errorf("body of more than %d bytes", maxUpload)
	}
	kind, params, _ := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	switch {
	case len(raw) == 0:
	case kind == "application/json":
		c.body = raw
	case kind == "multipart/form-data":
		return c.readForm(multipart.NewReader(bytes.NewReader(raw), params["boundary"]))
	default:
		return fmt.Errorf("body of type %q", kind)
	}
	return nil
}

func (c *call) readForm(form *multipart.Reader) error {
	c.files = map[string][]byte{}
	for {
		part, err := form.NextPart()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		raw, err := io.ReadAll(part)
		if err != nil {
			return err
		}
		switch name := part.FormName(); {
		case name == "payload_json":
			c.body = raw
		case strings.HasPrefix(name, "files[") && part.FileName() != "":
			c.files[part.FileName()] = raw
		default:
			return fmt.Errorf("form field %q", name)
		}
	}
}

func (c *call) record() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.index = len(c.calls)
	c.calls = append(c.calls, Call{
		Method: c.r.Method, Path: strings.TrimPrefix(c.r.URL.Path, "/api/v10"), Query: c.r.URL.RawQuery, Body: c.body,
	})
	c.notify()
}

func (c *call) answered(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[c.index].Status = status
	c.notify()
}

// answer writes a success; nil is 204.
func (c *call) answer(v any) {
	if v == nil {
		c.answered(http.StatusNoContent)
		c.w.WriteHeader(http.StatusNoContent)
		return
	}
	c.answered(http.StatusOK)
	c.w.Header().Set("Content-Type", "application/json")
	_, _ = c.w.Write(encode(v)) // the caller may have gone
}

func (c *call) refuse(status, code int, message string) {
	c.answered(status)
	refuse(c.w, status, code, message)
}

func refuse(w http.ResponseWriter, status, code int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(encode(obj{"message": message, "code": code})) // the caller may have gone
}

// limited refuses a call that exceeds a rate limit, and sets the headers of the limits.
func (s *Server) limited(c *call, rt route) bool {
	s.mu.Lock()
	now := time.Now()
	channelID := c.r.PathValue("channel_id")
	wait, global := s.limits[channelID].Sub(now), false
	if left := s.global.Sub(now); left > 0 && !rt.open {
		wait, global = left, true
	}
	reset, last := s.exhaust[channelID]
	if rt.posts && last && wait <= 0 {
		delete(s.exhaust, channelID)
		s.limits[channelID] = now.Add(reset)
	}
	s.mu.Unlock()
	h := c.w.Header()
	if wait > 0 && (global || rt.posts) {
		tooMany(c, wait, global)
		return true
	}
	if rt.posts {
		h.Set("X-RateLimit-Bucket", "messages")
		h.Set("X-RateLimit-Limit", "5")
		h.Set("X-RateLimit-Remaining", "4")
		h.Set("X-RateLimit-Reset-After", "5")
		if last {
			h.Set("X-RateLimit-Remaining", "0")
			h.Set("X-RateLimit-Reset-After", strconv.FormatFloat(reset.Seconds(), 'f', 3, 64))
		}
	}
	return false
}

func tooMany(c *call, wait time.Duration, global bool) {
	seconds := wait.Seconds()
	h := c.w.Header()
	h.Set("Retry-After", strconv.FormatFloat(seconds, 'f', 3, 64))
	h.Set("X-RateLimit-Scope", "user")
	if global {
		h.Set("X-RateLimit-Global", "true")
		h.Set("X-RateLimit-Scope", "global")
	}
	h.Set("Content-Type", "application/json")
	c.answered(http.StatusTooManyRequests)
	c.w.WriteHeader(http.StatusTooManyRequests)
	_, _ = c.w.Write(encode(obj{"message": "You are being rate limited.", "retry_after": seconds, "global": global})) // the caller may have gone
}

// decode reads the body into v. An unreadable body is already recorded as a violation.
func (c *call) decode(v any) bool {
	if err := json.Unmarshal(c.body, v); err != nil {
		c.refuse(http.StatusBadRequest, 50109, "The request body contains invalid JSON.")
		return false
	}
	return true
}
