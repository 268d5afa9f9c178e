// Package offline has models that need no network: a guide that shows what the gateway can do, and models for tests.
// None of them is an AI.
package offline

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"sluice/internal/model/wire"
	"sluice/internal/pause"
	"sluice/policy/flow"
	"sluice/sessions"
)

// The names of the models. Slow is followed by a duration, for example "slow-2s".
const (
	Guide = "guide"
	Echo  = "echo"
	Slow  = "slow-"
)

// Model is one of the offline models.
type Model struct {
	name   string
	delay  time.Duration
	answer func(req sessions.Request) sessions.Completion
}

var (
	_ sessions.Model      = (*Model)(nil)
	_ sessions.Classified = (*Model)(nil)
)

// Names returns the models that anybody may choose. Models that wait are for tests only.
func Names() []string { return []string{Echo, Guide} }

// New creates the model with a name.
func New(name string) (*Model, error) {
	if name == Guide {
		return &Model{name: name, answer: guide}, nil
	}
	if name == Echo {
		return &Model{name: name, answer: echo}, nil
	}
	if wait, ok := strings.CutPrefix(name, Slow); ok {
		if delay, err := time.ParseDuration(wait); err == nil && delay >= 0 {
			return &Model{name: name, delay: delay, answer: echo}, nil
		}
	}
	return nil, fmt.Errorf("model offline/%s: there are offline/%s, offline/%s and offline/%s<duration>, for example offline/slow-2s", name, Guide, Echo, Slow)
}

// Name implements [sessions.Model].
func (m *Model) Name() string { return "offline/" + m.name }

// ContextWindow implements [sessions.Model]: there is no limit.
func (m *Model) ContextWindow() int { return 0 }

// Classification implements [sessions.Classified]: no data leaves the process.
func (m *Model) Classification() flow.Level { return flow.Restricted }

// Complete implements [sessions.Model]. It streams word by word.
func (m *Model) Complete(ctx context.Context, req sessions.Request, on func(sessions.Chunk)) (sessions.Completion, error) {
	if m.delay > 0 {
		if pause.Wait(ctx, m.delay) != nil {
			return sessions.Completion{}, &sessions.ModelError{Kind: sessions.ModelUnavailable, Model: m.Name(), Err: wire.Ended(ctx)}
		}
	}
	c := m.answer(req)
	for _, p := range c.Parts {
		if p.Type == sessions.PartToolCall {
			on(sessions.Chunk{Type: p.Type, CallID: p.CallID, Tool: p.Tool})
			continue
		}
		stream(p.Text, on)
	}
	c.Usage = sessions.Usage{InputTokens: tokens(req), OutputTokens: words(c)}
	return c, nil
}

// chunksMax is the maximum number of chunks of a streamed answer.
const chunksMax = 200

// stream cuts a text into chunks at spaces.
func stream(text string, on func(sessions.Chunk)) {
	least := len(text)/chunksMax + 1
	for len(text) > 0 {
		cut := len(text)
		if least < len(text) {
			if i := strings.IndexByte(text[least:], ' '); i >= 0 {
				cut = least + i + 1
			}
		}
		on(sessions.Chunk{Type: sessions.PartText, Text: text[:cut]})
		text = text[cut:]
	}
}

// tokens counts the words of the newest messages instead of tokens. Older ones cost the same each time and carry no
// information.
func tokens(req sessions.Request) int {
	n := 0
	for _, m := range pending(req) {
		n += count(m.Text())
	}
	return n
}

func words(c sessions.Completion) int {
	n := 0
	for _, p := range c.Parts {
		n += count(p.Text)
	}
	return n
}

func count(text string) int {
	n := 0
	for range strings.FieldsSeq(text) {
		n++
	}
	return n
}

// pending returns the messages of people and other agents that have no answer yet.
func pending(req sessions.Request) []sessions.Message {
	i := len(req.Messages)
	for i > 0 && (req.Messages[i-1].Role == sessions.RoleUser || req.Messages[i-1].Role == sessions.RoleAgent) {
		i--
	}
	return req.Messages[i:]
}

func echo(req sessions.Request) sessions.Completion {
	var texts []string
	for _, m := range pending(req) {
		texts = append(texts, m.Text())
	}
	return says("echo: " + strings.Join(texts, "\n"))
}

func says(text string) sessions.Completion {
	return sessions.Completion{Parts: []sessions.Part{{Type: sessions.PartText, Text: text}}}
}

// results returns the tool results after the last answer; nil if the thread does not end with tool results.
func results(req sessions.Request) []sessions.Part {
	if len(req.Messages) == 0 {
		return nil
	}
	last := req.Messages[len(req.Messages)-1]
	if last.Role != sessions.RoleToolResult {
		return nil
	}
	return slices.Clone(last.Parts)
}
