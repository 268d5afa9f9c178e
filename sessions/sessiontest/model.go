package sessiontest

import (
	"context"
	"errors"
	"slices"
	"sync"

	"sluice/policy/flow"
	"sluice/sessions"
)

var _ sessions.Model = (*Scripted)(nil)

// Answer is one completion of a scripted model.
type Answer = func(ctx context.Context, req sessions.Request, on func(sessions.Chunk)) (sessions.Completion, error)

// Scripted is a model that gives its answers one after the other.
type Scripted struct {
	mu      sync.Mutex
	Answers []Answer
	Level   flow.Level // classification
	Window  int        // context window
	asked   []sessions.Request
}

// Name implements [sessions.Model].
func (m *Scripted) Name() string { return "test/scripted" }

// ContextWindow implements [sessions.Model].
func (m *Scripted) ContextWindow() int { return m.Window }

// Classification implements [sessions.Classified].
func (m *Scripted) Classification() flow.Level { return m.Level }

// Asked are the requests so far.
func (m *Scripted) Asked() []sessions.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.asked)
}

// Complete implements [sessions.Model].
func (m *Scripted) Complete(ctx context.Context, req sessions.Request, on func(sessions.Chunk)) (sessions.Completion, error) {
	kept := req
	kept.Messages = slices.Clone(req.Messages) // a request's are the session's own
	m.mu.Lock()
	m.asked = append(m.asked, kept)
	if len(m.Answers) == 0 {
		m.mu.Unlock()
		return sessions.Completion{}, &sessions.ModelError{Kind: sessions.ModelRefused, Model: m.Name(), Err: errors.New("the script has ended")}
	}
	next := m.Answers[0]
	m.Answers = m.Answers[1:]
	m.mu.Unlock()
	return next(ctx, req, on)
}

// Says answers with a text, in two pieces.
func Says(text string) Answer {
	return func(_ context.Context, _ sessions.Request, on func(sessions.Chunk)) (sessions.Completion, error) {
		for _, piece := range []string{text[:len(text)/2], text[len(text)/2:]} {
			on(sessions.Chunk{Type: sessions.PartText, Text: piece})
		}
		return sessions.Completion{
			Parts: []sessions.Part{{Type: sessions.PartText, Text: text}},
			Usage: sessions.Usage{InputTokens: 10, OutputTokens: len(text)},
		}, nil
	}
}

// Calls asks for a tool, once for each call id.
func Calls(tool, args string, ids ...string) Answer {
	return func(_ context.Context, _ sessions.Request, on func(sessions.Chunk)) (sessions.Completion, error) {
		var c sessions.Completion
		for _, id := range ids {
			on(sessions.Chunk{Type: sessions.PartToolCall, CallID: id, Tool: tool})
			c.Parts = append(c.Parts, sessions.Part{Type: sessions.PartToolCall, CallID: id, Tool: tool, Args: []byte(args)})
		}
		return c, nil
	}
}
