package completions

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// request is what the server looks at of a request.
type request struct {
	Stream   bool      `json:"stream"`
	Messages []message `json:"messages"`
}

type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"` // a text, or a list of parts
}

func (m message) text() string {
	var whole string
	if json.Unmarshal(m.Content, &whole) == nil {
		return whole
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(m.Content, &parts) // neither form: there is no text
	var texts []string
	for _, p := range parts {
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "\n")
}

// pending are the user's messages that no assistant's text has followed, oldest first.
func (r *request) pending() []string {
	var texts []string
	for _, m := range r.Messages {
		switch {
		case m.Role == "user":
			texts = append(texts, m.text())
		case m.Role == "assistant" && m.text() != "":
			texts = nil
		}
	}
	return texts
}

// toolAnswered reports whether a tool was called since the last text of the assistant.
func (r *request) toolAnswered() bool {
	answered := false
	for _, m := range r.Messages {
		switch {
		case m.Role == "tool":
			answered = true
		case m.Role == "assistant" && m.text() != "":
			answered = false
		}
	}
	return answered
}

// stream writes one answer, as server-sent events or at its end as a whole.
type stream struct {
	w      http.ResponseWriter
	pieces bool
	whole  strings.Builder
}

func (s *stream) contentType() string {
	if s.pieces {
		return "text/event-stream"
	}
	return "application/json"
}

const head = `"id":"cmpl-1","created":1700000000,"model":"fake"`

func (s *stream) begin() {
	if s.pieces {
		s.event(`{"role":"assistant","content":""}`, "null")
	}
}

// event writes one piece; a failed write means that the gateway has gone, which the next wait sees.
func (s *stream) event(delta, finish string) {
	_, _ = fmt.Fprintf(s.w, "data: {%s,\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n", head, delta, finish)
	if f, ok := s.w.(http.Flusher); ok {
		f.Flush()
	}
}

func (s *stream) text(text string) {
	s.whole.WriteString(text)
	if s.pieces {
		quoted, _ := json.Marshal(text) // a string always marshals
		s.event(fmt.Sprintf(`{"content":%s}`, quoted), "null")
	}
}

func (s *stream) callTool(name, id string) {
	call := fmt.Sprintf(`{"index":0,"id":%q,"type":"function","function":{"name":%q,"arguments":"{}"}}`, id, name)
	if s.pieces {
		s.event(`{"tool_calls":[`+call+`]}`, "null")
		s.done("tool_calls")
		return
	}
	s.write(`{"role":"assistant","content":null,"tool_calls":[`+call+`]}`, "tool_calls")
}

func (s *stream) end(finish string) {
	if s.pieces {
		s.done(finish)
		return
	}
	quoted, _ := json.Marshal(s.whole.String()) // a string always marshals
	s.write(fmt.Sprintf(`{"role":"assistant","content":%s}`, quoted), finish)
}

const usage = `"usage":{"prompt_tokens":10,"completion_tokens":10,"total_tokens":20}`

func (s *stream) done(finish string) {
	s.event("{}", fmt.Sprintf("%q", finish))
	_, _ = fmt.Fprintf(s.w, "data: {%s,\"object\":\"chat.completion.chunk\",\"choices\":[],%s}\n\ndata: [DONE]\n\n", head, usage)
}

func (s *stream) write(message, finish string) {
	_, _ = fmt.Fprintf(s.w, `{%s,"object":"chat.completion","choices":[{"index":0,"message":%s,"finish_reason":%q}],%s}`, head, message, finish, usage)
}
