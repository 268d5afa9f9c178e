package sessions

import (
	"errors"
	"slices"

	"sluice/policy/flow"
)

// ErrNothingToCompact: the thread has nothing before its newest turn that a summary could replace.
var ErrNothingToCompact = errors.New("nothing to compact")

// CompactionPoint returns how many of the oldest messages a summary may replace. The rest has at most keep bytes of text,
// begins with a message of a user or another agent, and contains at least the newest such message, so that no tool call
// loses its result. It returns 0 if no message can be replaced.
func (s *Session) CompactionPoint(keep int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	point, size := 0, 0
	for i := len(s.messages) - 1; i > 0; i-- {
		size += textSize(s.messages[i])
		if role := s.messages[i].Role; role == RoleUser || role == RoleAgent {
			if point > 0 && size > keep {
				break
			}
			point = i
		}
	}
	if point == 1 && s.messages[0].Role == RoleSummary {
		return 0 // a summary of a summary alone gains nothing
	}
	return point
}

// textSize is a message's size in bytes, for estimates.
func textSize(m Message) int {
	n := 0
	for _, p := range m.Parts {
		n += len(p.Text) + len(p.Args)
	}
	return n
}

// Compact replaces the n oldest messages of the thread by a summary. They
// stay stored; the thread that a model sees begins with the summary. Notes are parts of it that the caller finds again, word for word.
func (s *Session) Compact(summary string, n int, notes ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n < 1 || n >= len(s.messages) {
		return ErrNothingToCompact
	}
	label := flow.Bottom()
	for _, m := range s.messages[:n] {
		label = label.Join(m.Label)
	}
	m := Message{
		ID: NewMessageID(), Role: RoleSummary, Created: s.now(), Label: label, Run: s.last().Run,
		Parent: s.lastTreeNode(n), Parts: []Part{TextPart(summary, label)},
	}
	for _, note := range notes {
		m.Parts = append(m.Parts, TextPart(note, label))
	}
	for _, old := range s.messages[:n] {
		if _, ok := s.unsaved[old.ID]; ok {
			return ErrDirty // it must be stored before it leaves the memory
		}
	}
	s.messages = append([]Message{m}, slices.Clone(s.messages[n:])...)
	s.mark(m.ID)
	s.record.Compacted, s.changed = m.ID, true
	return nil
}

// lastTreeNode is the newest of the n oldest messages that is a node of the tree; a summary is stored beside it.
func (s *state) lastTreeNode(n int) MessageID {
	last := s.messages[n-1]
	if last.Role == RoleSummary {
		return last.Parent
	}
	return last.ID
}
