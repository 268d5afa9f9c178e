package sessiontest

import (
	"context"
	"slices"
	"sync"

	"sluice/sessions"
)

// Memory is a sessions store in memory. FailAt makes a commit fail.
type Memory struct {
	mu       sync.Mutex
	records  map[sessions.ID]sessions.Record
	messages []sessions.StoredMessage // in the order in which they were inserted
	audit    []sessions.AuditEntry
	commits  int
	fail     int
	late     bool
}

var _ sessions.Store = (*Memory)(nil)

// NewMemory makes an empty store.
func NewMemory() *Memory { return &Memory{records: map[sessions.ID]sessions.Record{}} }

// Audit is the trail, oldest first.
func (m *Memory) Audit() []sessions.AuditEntry {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]sessions.AuditEntry(nil), m.audit...)
}

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

// CommitSession implements [sessions.Store]. It knows sessions and messages, no runs.
func (m *Memory) CommitSession(_ context.Context, change sessions.Change) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.commits++
	m.fail--
	if m.fail == 0 && !m.late {
		return ErrFault
	}
	if err := m.check(change); err != nil {
		return err
	}
	m.apply(change)
	m.audit = append(m.audit, change.Audit...)
	if m.fail == 0 {
		return ErrFault
	}
	return nil
}

func (m *Memory) check(change sessions.Change) error {
	for _, r := range change.Create {
		if _, ok := m.records[r.ID]; ok {
			return sessions.ErrConflict
		}
	}
	for _, r := range change.Save {
		if stored, ok := m.records[r.ID]; !ok || stored.Revision != r.Revision {
			return sessions.ErrConflict
		}
	}
	for _, p := range change.Patch {
		created := slices.ContainsFunc(change.Create, func(r sessions.Record) bool { return r.ID == p.ID })
		if stored, ok := m.records[p.ID]; !created && (!ok || !stored.Ended.IsZero()) {
			return sessions.ErrNotFound
		}
	}
	for _, s := range change.Messages {
		i := m.find(s.Message.ID)
		switch {
		case s.Message.Revision == 0 && i >= 0:
			return sessions.ErrDuplicate
		case s.Message.Revision > 0 && (i < 0 || m.messages[i].Message.Revision >= s.Message.Revision):
			return sessions.ErrConflict
		}
	}
	return nil
}

func (m *Memory) apply(change sessions.Change) {
	for _, r := range change.Create {
		m.records[r.ID] = r
	}
	for _, r := range change.Save {
		m.records[r.ID] = saved(m.records[r.ID], r)
	}
	for _, p := range change.Patch {
		r := m.records[p.ID]
		p.Apply(&r)
		m.records[p.ID] = r
	}
	for _, s := range change.Messages {
		s.Message = clone(s.Message)
		if i := m.find(s.Message.ID); i >= 0 {
			m.messages[i] = s
		} else {
			m.messages = append(m.messages, s)
		}
	}
}

// saved writes what [sessions.Change] says of Save.
func saved(stored, r sessions.Record) sessions.Record {
	stored.Revision++
	stored.Agent, stored.Taint, stored.Route, stored.Head, stored.Compacted = r.Agent, r.Taint, r.Route, r.Head, r.Compacted
	stored.Usage, stored.ContextSize, stored.AbortedLast, stored.LastActivity = r.Usage, r.ContextSize, r.AbortedLast, r.LastActivity
	return stored
}

func (m *Memory) find(id sessions.MessageID) int {
	return slices.IndexFunc(m.messages, func(s sessions.StoredMessage) bool { return s.Message.ID == id })
}

func clone(m sessions.Message) sessions.Message {
	m.Parts = slices.Clone(m.Parts)
	for i := range m.Parts {
		m.Parts[i].Args = slices.Clone(m.Parts[i].Args)
	}
	return m
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
	path, err := m.path(record.ID, record.Head)
	if err != nil || record.Compacted == "" || record.Head == "" {
		return path, err
	}
	i := m.find(record.Compacted)
	if i < 0 {
		return nil, sessions.ErrNotFound
	}
	summary := clone(m.messages[i].Message)
	at := slices.IndexFunc(path, func(p sessions.Message) bool { return p.ID == summary.Parent })
	if at < 0 && summary.Parent != "" {
		return path, nil
	}
	return append([]sessions.Message{summary}, path[at+1:]...), nil
}

// path is the way from the root to a message.
func (m *Memory) path(session sessions.ID, head sessions.MessageID) ([]sessions.Message, error) {
	var path []sessions.Message
	for id := head; id != ""; id = path[len(path)-1].Parent {
		i := m.find(id)
		if i < 0 || m.messages[i].Session != session {
			return nil, sessions.ErrNotFound
		}
		path = append(path, clone(m.messages[i].Message))
	}
	slices.Reverse(path)
	return path, nil
}
