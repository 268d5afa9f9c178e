package sessions

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// Errors of moves in the conversation tree.
var (
	// ErrNoTurn: there is no user's message there to go back to.
	ErrNoTurn = errors.New("there is no turn to go back to")
	// ErrOpenCalls: the message asks for tools whose results stand on another branch. A
	// branch at it would run them again: branch at their results, or at what was asked.
	ErrOpenCalls = errors.New("the message calls tools; branch at their results or before the message")
)

// Branch is one of the messages that follow the same message.
type Branch struct {
	Message  Message
	Position int  // among its siblings, from 1, the oldest first
	Count    int  // of siblings, itself too; at most [BranchesMax] stored ones are counted
	Selected bool // the selected thread goes through it
}

// Branch moves the head to a message of the tree, so that what is appended next
// begins a new branch beside what follows that message now. An empty id stands
// for the beginning. Like all moves it is in memory only until the session is stored;
// what is not stored yet is not lost by it.
//
// A move never lowers the session's taint: what was learnt on the branch that is
// left may have been told on, and who drives the session has seen it. Labels are only ever joined.
func (s *Session) Branch(ctx context.Context, id MessageID) error {
	if err := s.tree.move(ctx, id, false); err != nil {
		return fmt.Errorf("branch at message %s: %w", id, err)
	}
	return nil
}

// Switch selects the thread that goes through a message and was written last: the
// head moves to the newest leaf below it. A thread that ends with open tool calls goes on with these.
func (s *Session) Switch(ctx context.Context, id MessageID) error {
	leaf, err := s.tree.newestLeaf(ctx, id)
	if err == nil {
		err = s.tree.move(ctx, leaf, true)
	}
	if err != nil {
		return fmt.Errorf("switch to message %s: %w", id, err)
	}
	return nil
}

// Edit puts another version of a user's or assistant's message beside it and selects it; the
// old one and what follows it stay on their branch. It returns the new message's id.
// [Session.SetMessage] may then change more of the new version than its parts.
func (s *Session) Edit(ctx context.Context, id MessageID, parts []Part) (MessageID, error) {
	old, err := s.tree.lookup(ctx, id)
	if err != nil {
		return "", fmt.Errorf("edit message: %w", err)
	}
	if old.Role != RoleUser && old.Role != RoleAssistant {
		return "", fmt.Errorf("edit message %s: only what a user or the assistant said has versions, this is a %s", id, old.Role)
	}
	if err := s.tree.move(ctx, old.Parent, false); err != nil {
		return "", fmt.Errorf("edit message %s: %w", id, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.append(Message{Role: old.Role, Sender: old.Sender, Model: old.Model, Run: old.Run, Parts: parts})
	return s.record.Head, nil
}

// Retry goes back to the user's message that a message answers, or to the message itself if
// it is a user's, so that the next completion answers it again on a new branch. An empty id
// means the last message. [ErrNoTurn] means that there is no user's message.
func (s *Session) Retry(ctx context.Context, id MessageID) error {
	if id == "" {
		id = s.current().Head
	}
	question := MessageID("")
	err := s.tree.climb(ctx, id, func(m Message) bool {
		if m.Role == RoleUser {
			question = m.ID
		}
		return question == ""
	})
	if err == nil && question == "" {
		err = ErrNoTurn
	}
	if err == nil {
		err = s.tree.move(ctx, question, false)
	}
	if err != nil {
		return fmt.Errorf("retry message %s: %w", id, err)
	}
	return nil
}

// Undo moves the head back before the last n turns and says how many there were: fewer
// at the thread's beginning, [ErrNoTurn] if there were none. A turn is what users
// wrote in a row and all that followed it. What is undone stays in the tree.
func (s *Session) Undo(ctx context.Context, n int) (undone int, err error) {
	if n < 1 {
		return 0, fmt.Errorf("undo %d turns: want at least 1", n)
	}
	head, inTurn := MessageID(""), false
	err = s.tree.climb(ctx, s.current().Head, func(m Message) bool {
		switch {
		case m.Role == RoleUser && !inTurn:
			undone++
		case m.Role != RoleUser && inTurn && undone == n:
			return false
		}
		if inTurn = m.Role == RoleUser; inTurn {
			head = m.Parent
		}
		return true
	})
	if err == nil && undone == 0 {
		err = ErrNoTurn
	}
	if err == nil {
		err = s.tree.move(ctx, head, false)
	}
	if err != nil {
		return 0, fmt.Errorf("undo %d turns: %w", n, err)
	}
	return undone, nil
}

// Branches lists a message and its siblings in the tree, oldest first. An empty id asks for the first messages of the
// conversation.
func (s *Session) Branches(ctx context.Context, id MessageID) ([]Branch, error) {
	var m Message
	var err error
	if id != "" {
		if m, err = s.tree.lookup(ctx, id); err != nil {
			return nil, fmt.Errorf("list branches: %w", err)
		}
	}
	children, err := s.store.Children(ctx, s.current().ID, m.Parent)
	if err != nil {
		return nil, fmt.Errorf("list branches: %w", err)
	}
	children = s.tree.withUnsaved(children, m.Parent)
	selected, err := s.tree.selectedOf(ctx, children)
	if err != nil {
		return nil, fmt.Errorf("list branches: %w", err)
	}
	branches := make([]Branch, len(children))
	for i, c := range children {
		branches[i] = Branch{Message: cloneMessage(c), Position: i + 1, Count: len(children), Selected: c.ID == selected}
	}
	return branches, nil
}

// selectedOf returns the sibling on the selected thread, or an empty id if the thread passes through no sibling.
func (s tree) selectedOf(ctx context.Context, siblings []Message) (MessageID, error) {
	in := func(thread []Message) (MessageID, bool) {
		i := slices.IndexFunc(siblings, func(m Message) bool { return containsID(thread, m.ID) })
		if i < 0 {
			return "", false
		}
		return siblings[i].ID, true
	}
	s.mu.Lock()
	id, found := in(s.messages)
	compacted := s.record.Compacted != ""
	anchor, _ := s.anchor(s.record.Head)
	s.mu.Unlock()
	if found || !compacted {
		return id, nil
	}
	// It may stand before the summary.
	thread, err := s.store.Thread(ctx, Record{ID: s.current().ID, Head: anchor})
	id, _ = in(thread)
	return id, err
}
