package slacktest

import (
	"encoding/json"
	"regexp"
	"unicode/utf8"
)

// The published limits.
const (
	maxText      = 40_000
	maxBlocks    = 50
	maxSection   = 3000
	maxElements  = 25
	maxLabel     = 75
	maxValue     = 2000
	maxActionID  = 255
	maxMetadata  = 16 << 10
	maxReactName = 100
)

var (
	tsShape     = regexp.MustCompile(`^\d{10}\.\d{6}$`)
	encoded     = regexp.MustCompile(`&(amp|lt|gt);`)
	referenced  = regexp.MustCompile(`<[^<>]+>`)
	quotes      = regexp.MustCompile(`(?m)^>+`)
	emojiName   = regexp.MustCompile(`^[\p{L}0-9_+'-]+(::skin-tone-[2-6])?$`)
	bareSpecial = regexp.MustCompile(`[&<>]`)
)

// checkLimits checks a call against the published limits.
func (s *Server) checkLimits(req *request) {
	s.checkText(req.method, req.form.Get("text"))
	s.checkBlocks(req.method, rawOf(req, "blocks"))
	s.checkMetadata(req)
	for _, name := range []string{"ts", "thread_ts", "timestamp", "oldest"} {
		if v := req.form.Get(name); v != "" && !tsShape.MatchString(v) {
			s.violate("%s: %s %q is no timestamp", req.method, name, v)
		}
	}
	if name := req.form.Get("name"); req.form.Has("name") && (!emojiName.MatchString(name) || len(name) > maxReactName) {
		s.violate("%s: %q is not the name of an emoji", req.method, name)
	}
}

// checkText checks the length of a text, and that & < > are encoded outside of markup.
func (s *Server) checkText(method, text string) {
	if n := utf8.RuneCountInString(text); n > maxText {
		s.violate("%s: text of %d characters", method, n)
	}
	rest := quotes.ReplaceAllString(referenced.ReplaceAllString(encoded.ReplaceAllString(text, ""), ""), "")
	if bareSpecial.MatchString(rest) {
		s.violate("%s: & < or > not encoded: %.200q", method, text)
	}
}

// block is what of a block has limits.
type block struct {
	Type string `json:"type"`
	Text struct {
		Type string `json:"type"`
		Text string `json:"text"`
	} `json:"text"`
	Elements []struct {
		Type   string `json:"type"`
		Action string `json:"action_id"`
		Value  string `json:"value"`
		Text   struct {
			Type string `json:"type"`
			Text string `json:"text"`
		} `json:"text"`
	} `json:"elements"`
}

func (s *Server) checkBlocks(method string, raw json.RawMessage) {
	if raw == nil {
		return
	}
	var blocks []block
	if err := json.Unmarshal(raw, &blocks); err != nil {
		s.violate("%s: blocks: %v", method, err)
		return
	}
	if len(blocks) > maxBlocks {
		s.violate("%s: %d blocks", method, len(blocks))
	}
	for _, b := range blocks {
		switch b.Type {
		case "section":
			if n := utf8.RuneCountInString(b.Text.Text); n < 1 || n > maxSection {
				s.violate("%s: section of %d characters", method, n)
			}
			if b.Text.Type == "mrkdwn" {
				s.checkText(method, b.Text.Text)
			}
		case "actions":
			s.checkActions(method, b)
		default:
			s.violate("%s: block of type %q", method, b.Type)
		}
	}
}

func (s *Server) checkActions(method string, b block) {
	if n := len(b.Elements); n < 1 || n > maxElements {
		s.violate("%s: actions block with %d elements", method, n)
	}
	seen := map[string]bool{}
	for _, e := range b.Elements {
		label := utf8.RuneCountInString(e.Text.Text)
		if e.Type != "button" || e.Text.Type != "plain_text" || label < 1 || label > maxLabel {
			s.violate("%s: bad button %q", method, e.Text.Text)
		}
		if len(e.Value) > maxValue || len(e.Action) > maxActionID || seen[e.Action] {
			s.violate("%s: value or action id of button %q", method, e.Text.Text)
		}
		seen[e.Action] = true
	}
}

func (s *Server) checkMetadata(req *request) {
	raw := rawOf(req, "metadata")
	if raw == nil {
		return
	}
	var metadata struct {
		Type    string         `json:"event_type"`
		Payload map[string]any `json:"event_payload"`
	}
	if json.Unmarshal(raw, &metadata) != nil || metadata.Type == "" || metadata.Payload == nil || len(raw) > maxMetadata {
		s.violate("%s: metadata %.200s", req.method, raw)
	}
}
