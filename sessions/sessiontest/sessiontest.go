// Package sessiontest has a store in memory and a scripted model, for tests of what drives sessions.
package sessiontest

import (
	"context"
	"errors"
	"slices"
	"sync"

	"sluice/policy/flow"
	"sluice/sessions"
)

// Memory is a sessions store in memory. FailAt makes the n-th commit from now fail, before
// it is applied or, with late set, after it: as when the answer to a commit is lost.
type Memory struct {
	mu       sync.Mutex
	records  map[sessions.ID]sessions.Record
	messages map[sessions.MessageID]sessions.Message
	commits  int
	fail     int
	late     bool
}

var (
	_ sessions.Store = (*Memory)(nil)
	_ sessions.Model = (*Scripted)(nil)
)

// NewMemory makes an empty store.
func NewMemory() *Memory {
	return &Memory{records: map[sessions.ID]sessions.Record{}, messages: map[sessions.MessageID]sessions.Message{}}
}

// ErrCommit is what a commit fails with that was told to.
var ErrCommit = errors.New("disk is on fire")

// FailAt makes the n-th commit from now fail: before it is applied or, if late,
// after it, as when the answer to a commit is lost.
func (m *Memory) FailAt(n int, late bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fail, m.late = n, late
}

// Commits counts the commits that were tried.
func (m *Memory) Commits() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.commits
}

// CommitSession implements [sessions.Store].
func (m *Memory) CommitSession(_ context.Context, change sessions.Change) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.commits++
	m.fail--
	if m.fail == 0 && !m.late {
		return ErrCommit
	}
	for _, r := range change.Save {
		if m.records[r.ID].Revision != r.Revision {
			return sessions.ErrConflict
		}
	}
	for _, r := range change.Create {
		if _, ok := m.records[r.ID]; ok {
			return sessions.ErrConflict
		}
		m.records[r.ID] = r
	}
	for _, r := range change.Save {
		r.Revision++
		m.records[r.ID] = r
	}
	for _, stored := range change.Messages {
		msg := stored.Message
		msg.Parts = slices.Clone(msg.Parts)
		m.messages[msg.ID] = msg
	}
	if m.fail == 0 {
		return ErrCommit
	}
	return nil
}

// Session implements [sessions.Store].
func (m *Memory) Session(_ context.Context, id sessions.ID) (sessions.Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.records[id]
	if !ok {
		return r, sessions.ErrNotFound
	}
	return r, nil
}

// Thread implements [sessions.Store].
func (m *Memory) Thread(_ context.Context, record sessions.Record) ([]sessions.Message, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var thread []sessions.Message
	summary, compacted := m.messages[record.Compacted]
	for id := record.Head; id != "" && (!compacted || id != summary.Parent); {
		msg, ok := m.messages[id]
		if !ok {
			return nil, sessions.ErrNotFound
		}
		msg.Parts = slices.Clone(msg.Parts)
		thread = append(thread, msg)
		id = msg.Parent
	}
	if compacted {
		thread = append(thread, summary)
	}
	slices.Reverse(thread)
	return thread, nil
}

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
	m.mu.Lock()
	m.asked = append(m.asked, req)
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
