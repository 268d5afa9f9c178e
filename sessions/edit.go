package sessions

import (
	"fmt"
	"slices"

	"sluice/policy/flow"
)

// Append adds messages to the end of the thread, in memory only. It fills in an empty id, time or label, replaces an id
// that another message already has, and always sets the parent. The session's taint joins the labels of the messages.
func (s *Session) Append(messages ...Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range messages {
		s.append(m)
	}
}

func (s *state) append(m Message) {
	if _, taken := s.held(m.ID); taken || m.ID == "" {
		m.ID = NewMessageID() // else it could become its own parent
	}
	if m.Created.IsZero() {
		m.Created = s.now()
	}
	m.Parent = s.record.Head
	m.Parts = slices.Clone(m.Parts)
	s.relabel(&m)
	s.messages = append(s.messages, m)
	s.mark(m.ID)
	s.record.Head, s.record.LastActivity, s.changed = m.ID, m.Created, true
}

// relabel sets the message's label to the join of its own label and its parts' labels, and raises the session's taint to at
// least this label. A part without a label is RESTRICTED.
func (s *state) relabel(m *Message) {
	label := m.Label
	if !label.Valid() {
		label = flow.Bottom()
		if len(m.Parts) == 0 {
			label = s.record.Taint
		}
	}
	for i := range m.Parts {
		if !m.Parts[i].Label.Valid() {
			m.Parts[i].Label = flow.Top()
		}
		label = label.Join(m.Parts[i].Label)
	}
	m.Label = label
	s.raise(label)
}

// Raise joins a label into the session's taint. The taint never falls.
func (s *Session) Raise(label flow.Label) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.raise(label)
}

func (s *state) raise(label flow.Label) {
	if taint := s.record.Taint.Join(label); taint != s.record.Taint {
		s.record.Taint, s.changed = taint, true
	}
}

// SetContent replaces a message's first text, or adds one. The label must be that of the new text.
func (s *Session) SetContent(id MessageID, text string, label flow.Label) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.find(id)
	if err != nil {
		return err
	}
	parts := slices.Clone(m.Parts)
	i := slices.IndexFunc(parts, func(p Part) bool { return p.Type == PartText })
	if i < 0 {
		parts = append(parts, TextPart(text, label))
	} else {
		parts[i] = TextPart(text, label)
	}
	s.replace(m, parts)
	return nil
}

// SetParts replaces a message's parts.
func (s *Session) SetParts(id MessageID, parts []Part) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.find(id)
	if err != nil {
		return err
	}
	s.replace(m, slices.Clone(parts))
	return nil
}

// SetMessage replaces a message's role, sender, model, run and parts. Its place in the tree stays.
func (s *Session) SetMessage(id MessageID, with Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	m, err := s.find(id)
	if err != nil {
		return err
	}
	m.Role, m.Sender, m.Model, m.Run, m.Usage = with.Role, with.Sender, with.Model, with.Run, with.Usage
	s.replace(m, slices.Clone(with.Parts))
	return nil
}

// IsDirty reports whether a message of the thread or of another branch differs from its stored form.
func (s *Session) IsDirty(id MessageID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, dirty := s.unsaved[id]
	return dirty
}

// mark notes that a message differs from its stored form.
func (s *state) mark(id MessageID) {
	s.serial++
	s.unsaved[id] = s.serial
}

// replace gives a message new parts. A stored message gets the next revision, once until it is stored again.
func (s *state) replace(m *Message, parts []Part) {
	m.Parts = parts
	s.relabel(m)
	if _, ok := s.unsaved[m.ID]; !ok {
		m.Revision++
		s.mark(m.ID)
	}
}

// find returns a message of the thread, for changes.
func (s *state) find(id MessageID) (*Message, error) {
	s.own()
	for i := len(s.messages) - 1; i >= 0; i-- {
		if s.messages[i].ID == id {
			return &s.messages[i], nil
		}
	}
	return nil, fmt.Errorf("message %s in session %s: %w", id, s.record.ID, ErrNotFound)
}

// own copies the messages if a request shares them.
func (s *state) own() {
	if s.lent {
		s.messages, s.lent = slices.Clone(s.messages), false
	}
}

// last is the newest message of the thread, or nil.
func (s *state) last() *Message {
	if len(s.messages) == 0 {
		return nil
	}
	return &s.messages[len(s.messages)-1]
}
