package sessiontest

import (
	"context"
	"slices"

	"sluice/sessions"
)

// Message implements [sessions.Store].
func (m *Memory) Message(_ context.Context, session sessions.ID, id sessions.MessageID) (sessions.Message, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := m.find(id)
	if i < 0 || m.messages[i].Session != session {
		return sessions.Message{}, sessions.ErrNotFound
	}
	return clone(m.messages[i].Message), nil
}

// Children implements [sessions.Store].
func (m *Memory) Children(_ context.Context, session sessions.ID, parent sessions.MessageID) ([]sessions.Message, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var children []sessions.Message
	for _, s := range m.messages {
		if s.Session == session && s.Message.Parent == parent && s.Message.Role != sessions.RoleSummary {
			children = append(children, clone(s.Message))
		}
	}
	return children[max(0, len(children)-sessions.BranchesMax):], nil
}

// NewestLeaf implements [sessions.Store].
func (m *Memory) NewestLeaf(_ context.Context, session sessions.ID, id sessions.MessageID) (sessions.MessageID, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range slices.Backward(m.messages) {
		if s.Session != session || s.Message.Role == sessions.RoleSummary {
			continue
		}
		path, err := m.path(session, s.Message.ID)
		if err != nil {
			return "", err
		}
		if slices.ContainsFunc(path, func(p sessions.Message) bool { return p.ID == id }) {
			return s.Message.ID, nil
		}
	}
	return "", sessions.ErrNotFound
}

// Summary implements [sessions.Store].
func (m *Memory) Summary(_ context.Context, session sessions.ID, head sessions.MessageID) (sessions.MessageID, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	path, err := m.path(session, head)
	if err != nil {
		return "", nil // as a database: no rows, no summary
	}
	for _, p := range slices.Backward(path) {
		for _, s := range slices.Backward(m.messages) {
			if s.Message.Role == sessions.RoleSummary && s.Message.Parent == p.ID {
				return s.Message.ID, nil
			}
		}
	}
	return "", nil
}
