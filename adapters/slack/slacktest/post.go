package slacktest

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// post sends an event to the callback, until it is answered with 200; mu is held.
func (s *Server) post(e *event) {
	e.due = time.Now().Add(s.opts.Redeliver)
	if s.callback == "" {
		return
	}
	s.posting[e.lane] = true
	target, tries := s.callback, e.tries
	e.tries++
	body, kind := e.body()
	s.start(func() {
		err := s.postOnce(target, body, kind, tries)
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.posting, e.lane)
		e.done = err == nil || e.raw != nil
		s.notify()
	})
}

// body is an event as it is posted: JSON for events, a form for the rest.
func (e *event) body() (body []byte, kind string) {
	const form = "application/x-www-form-urlencoded"
	switch {
	case e.raw != nil:
		return e.raw, "application/json"
	case e.kind == eventsAPI:
		body, _ = json.Marshal(e.payload) // maps of texts and numbers always can be
		return body, "application/json"
	case e.kind == interactive:
		body, _ = json.Marshal(e.payload)
		return []byte(url.Values{"payload": {string(body)}}.Encode()), form
	}
	values := url.Values{}
	for name, v := range e.payload {
		values.Set(name, fmt.Sprint(v))
	}
	return []byte(values.Encode()), form
}

func (s *Server) postOnce(target string, body []byte, kind string, tries int) error {
	ctx, cancel := context.WithTimeout(s.closing, 3*time.Second) // as long as Slack waits
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("post event: %w", err)
	}
	r.Header.Set("Content-Type", kind)
	Sign(r, body, time.Now())
	if tries > 0 {
		r.Header.Set("X-Slack-Retry-Num", strconv.Itoa(tries))
		r.Header.Set("X-Slack-Retry-Reason", "http_error")
	}
	resp, err := s.client.Do(r)
	if err != nil {
		return fmt.Errorf("post event: %w", err)
	}
	_, _ = io.Copy(io.Discard, resp.Body) // so that the connection is used again
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("post event: status %d", resp.StatusCode)
	}
	return nil
}

// Sign signs a request as Slack does at a time.
func Sign(r *http.Request, body []byte, at time.Time) {
	stamp := strconv.FormatInt(at.Unix(), 10)
	mac := hmac.New(sha256.New, []byte(SigningSecret))
	_, _ = fmt.Fprintf(mac, "v0:%s:%s", stamp, body) // never an error
	r.Header.Set("X-Slack-Request-Timestamp", stamp)
	r.Header.Set("X-Slack-Signature", "v0="+hex.EncodeToString(mac.Sum(nil)))
}

// serveResponse takes the answer to a slash command.
func (s *Server) serveResponse(w http.ResponseWriter, r *http.Request) {
	fault := s.takeFault("response_url")
	if fault != nil && !fault.before(s, w, r) {
		return
	}
	var answer struct {
		Type    string          `json:"response_type"`
		Replace bool            `json:"replace_original"`
		Text    string          `json:"text"`
		Blocks  json.RawMessage `json:"blocks"`
		Mrkdwn  *bool           `json:"mrkdwn"`
	}
	if err := json.NewDecoder(io.LimitReader(r.Body, maxRequest)).Decode(&answer); err != nil {
		s.violate("response_url: %v", err)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.checkText("response_url", answer.Text)
	s.checkBlocks("response_url", answer.Blocks)
	s.mu.Lock()
	channel, known := s.responses[r.PathValue("id")]
	if known {
		p := s.places[channel]
		p.messages = append(p.messages, &message{
			ts: s.ts(), user: BotUser, own: true, text: answer.Text, blocks: answer.Blocks, private: answer.Type == "ephemeral",
			plain: answer.Mrkdwn != nil && !*answer.Mrkdwn,
		})
		s.notify()
	}
	s.mu.Unlock()
	switch {
	case !known:
		w.Header().Set("Content-Type", "text/plain")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, "expired_url") // the caller may have gone
		return
	case fault != nil && fault.effect:
		fault.sever(s, r)
	case s.opts.OnSent != nil:
		s.opts.OnSent(channel, answer.Text)
	}
	_, _ = io.WriteString(w, "ok")
}

// Expire makes all response URLs so far useless, as half an hour would.
func (s *Server) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.responses)
}
