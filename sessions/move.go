package sessions

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"sluice/sessions/message"
)

// tree moves through the conversation tree, in memory and in the store.
type tree struct{ *state }

// move selects the thread that ends at a message. Only with resting may the thread end with open calls; otherwise their
// results would be on another branch.
func (s tree) move(ctx context.Context, head MessageID, resting bool) error {
	thread, err := s.threadTo(ctx, head)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.building != nil:
		return ErrStepBusy
	case !resting && head != s.record.Head && len(message.OpenCalls(thread)) > 0:
		return ErrOpenCalls
	}
	s.take(thread, head)
	return nil
}

// take selects a thread. Unsaved messages of the old thread are kept until they are stored. The taint stays, see
// [Session.Branch].
func (s *state) take(thread []Message, head MessageID) {
	for _, m := range s.messages {
		if _, ok := s.unsaved[m.ID]; ok {
			s.aside[m.ID] = m
		}
	}
	s.messages, s.children = thread, map[string]*PendingSubAgentToolCall{}
	compacted, size := MessageID(""), 0
	for _, m := range thread {
		delete(s.aside, m.ID)
		switch m.Role {
		case RoleSummary:
			compacted = m.ID
		case RoleAssistant:
			size = cmp.Or(m.Usage.InputTokens+m.Usage.OutputTokens, size)
		}
	}
	if s.record.Head != head || s.record.Compacted != compacted {
		s.record.Head, s.record.Compacted, s.record.ContextSize, s.changed = head, compacted, size, true
	}
}

// threadTo returns the thread that ends at a message, from memory as far as possible, the rest from the store.
func (s tree) threadTo(ctx context.Context, head MessageID) ([]Message, error) {
	if head == "" {
		return nil, nil
	}
	s.mu.Lock()
	anchor, tail := s.anchor(head)
	thread, ok := s.upTo(anchor)
	session := s.record.ID
	s.mu.Unlock()
	if ok {
		return append(thread, tail...), nil
	}
	summary, err := s.store.Summary(ctx, session, anchor)
	if err != nil {
		return nil, fmt.Errorf("find summary: %w", err)
	}
	thread, err = s.store.Thread(ctx, Record{ID: session, Head: anchor, Compacted: summary})
	if err != nil {
		return nil, fmt.Errorf("read thread: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return append(s.refreshed(thread), tail...), nil
}

// upTo returns the selected thread up to one of its stored messages, or up to the summary that replaces that message.
func (s *state) upTo(id MessageID) (thread []Message, ok bool) {
	if id == "" {
		return nil, true
	}
	for i, m := range s.messages {
		if m.ID == id && m.Role != RoleSummary || m.Role == RoleSummary && m.Parent == id {
			return slices.Clone(s.messages[:i+1]), true
		}
	}
	return nil, false
}

// anchor is the newest message on the way to head that is stored, and what follows it up to head.
func (s *state) anchor(head MessageID) (anchor MessageID, tail []Message) {
	for head != "" {
		m, ok := s.held(head)
		if !ok || !s.fresh(m) {
			break
		}
		tail = append(tail, m)
		head = m.Parent
	}
	slices.Reverse(tail)
	return head, tail
}

// refreshed returns the stored thread with its unsaved changes: edits, and a nearer summary.
func (s *state) refreshed(thread []Message) []Message {
	for i, m := range thread {
		if held, ok := s.held(m.ID); ok {
			thread[i] = held
		}
	}
	for _, m := range s.notStored() {
		if m.Role != RoleSummary {
			continue
		}
		i := slices.IndexFunc(thread, func(t Message) bool { return t.ID == m.Parent && t.Role != RoleSummary })
		if i >= 0 || len(thread) > 0 && thread[0].Role == RoleSummary && thread[0].Parent == m.Parent {
			thread = append([]Message{m}, thread[max(i, 0)+1:]...)
		}
	}
	return thread
}

// fresh reports whether a message can't be stored yet.
func (s *state) fresh(m Message) bool {
	_, unsaved := s.unsaved[m.ID]
	return unsaved && m.Revision == 0
}

// held returns a message that is in memory, on the selected thread or among the unsaved messages.
func (s *state) held(id MessageID) (Message, bool) {
	for i := len(s.messages) - 1; i >= 0; i-- {
		if s.messages[i].ID == id {
			return s.messages[i], true
		}
	}
	m, ok := s.aside[id]
	return m, ok
}

// notStored returns the messages that differ from their stored form, in the order of their creation.
func (s *state) notStored() []Message {
	messages := make([]Message, 0, len(s.unsaved))
	for _, m := range slices.Backward(s.messages) {
		if len(messages) == len(s.unsaved)-len(s.aside) {
			break // what is older is stored
		}
		if _, ok := s.unsaved[m.ID]; ok {
			messages = append(messages, m)
		}
	}
	for _, m := range s.aside {
		messages = append(messages, m)
	}
	slices.SortFunc(messages, func(a, b Message) int { return cmp.Compare(s.unsaved[a.ID], s.unsaved[b.ID]) })
	return messages
}

// lookup finds a message anywhere in the tree.
func (s tree) lookup(ctx context.Context, id MessageID) (Message, error) {
	s.mu.Lock()
	m, ok := s.held(id)
	session := s.record.ID
	s.mu.Unlock()
	if ok {
		return m, nil
	}
	m, err := s.store.Message(ctx, session, id)
	if err != nil {
		return m, fmt.Errorf("message %s in session %s: %w", id, session, err)
	}
	return m, nil
}

// climb visits the messages from id to the root, until visit says no.
func (s tree) climb(ctx context.Context, id MessageID, visit func(Message) (on bool)) error {
	for id != "" {
		m, err := s.lookup(ctx, id)
		if err != nil {
			return err
		}
		if !visit(m) {
			return nil
		}
		id = m.Parent
	}
	return nil
}

// withUnsaved returns stored siblings with their unsaved changes, followed by siblings that are not stored yet.
func (s tree) withUnsaved(siblings []Message, parent MessageID) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, m := range siblings {
		if held, ok := s.held(m.ID); ok {
			siblings[i] = held
		}
	}
	for _, m := range s.notStored() {
		if m.Parent == parent && m.Role != RoleSummary && !containsID(siblings, m.ID) {
			siblings = append(siblings, m)
		}
	}
	return siblings
}

// newestLeaf returns the newest message among a message and its descendants. Unsaved messages are newer than stored ones.
func (s tree) newestLeaf(ctx context.Context, id MessageID) (MessageID, error) {
	s.mu.Lock()
	session := s.record.ID
	candidates := s.notStored()
	s.mu.Unlock()
	for _, m := range slices.Backward(candidates) {
		if m.Role == RoleSummary || m.Revision > 0 {
			continue
		}
		below, err := s.below(ctx, m.ID, id)
		if err != nil {
			return "", err
		}
		if below {
			return m.ID, nil
		}
	}
	return s.store.NewestLeaf(ctx, session, id)
}

// below reports whether the way to a message goes through another one.
func (s tree) below(ctx context.Context, head, through MessageID) (bool, error) {
	s.mu.Lock()
	anchor, tail := s.anchor(head)
	near, known := s.upTo(anchor)
	whole := known && s.record.Compacted == ""
	session := s.record.ID
	s.mu.Unlock()
	if containsID(tail, through) || containsID(near, through) {
		return true, nil
	}
	if whole {
		return false, nil
	}
	path, err := s.store.Thread(ctx, Record{ID: session, Head: anchor})
	if err != nil {
		return false, fmt.Errorf("read thread: %w", err)
	}
	return containsID(path, through), nil
}

func containsID(messages []Message, id MessageID) bool {
	return slices.ContainsFunc(messages, func(m Message) bool { return m.ID == id })
}
