// Package branches lists the branches of the last turn of a conversation: the versions of its question, each with its answers.
package branches

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"sluice/router/usertext"
	"sluice/sessions"
)

// Tree reads the messages of sessions.
type Tree interface {
	Message(ctx context.Context, session sessions.ID, id sessions.MessageID) (sessions.Message, error)
	Children(ctx context.Context, session sessions.ID, parent sessions.MessageID) ([]sessions.Message, error)
	NewestLeaf(ctx context.Context, session sessions.ID, id sessions.MessageID) (sessions.MessageID, error)
}

// Branch is one branch of the last turn.
type Branch struct {
	ID       sessions.MessageID // of the answer's first message, or of the question if it has no answer
	Question sessions.Message
	Answer   sessions.Message // the last one; the zero value if there is no answer, or only one branch
	Selected bool
}

// Of lists the branches of the last turn of a thread, oldest first. A branch keeps its number when others are added.
func Of(ctx context.Context, tree Tree, session sessions.ID, thread []sessions.Message) ([]Branch, error) {
	newest := usertext.NewestMessage(thread)
	if newest.ID == "" {
		return nil, nil
	}
	siblings, err := tree.Children(ctx, session, newest.Parent)
	if err != nil {
		return nil, fmt.Errorf("read branches: %w", err)
	}
	var found []Branch
	for _, question := range siblings {
		if question.Role != sessions.RoleUser {
			continue
		}
		children, err := tree.Children(ctx, session, question.ID)
		if err != nil {
			return nil, fmt.Errorf("read branches: %w", err)
		}
		if len(children) == 0 {
			found = append(found, Branch{ID: question.ID, Question: question})
		}
		for _, child := range children {
			found = append(found, Branch{ID: child.ID, Question: question})
		}
	}
	slices.SortFunc(found, func(a, b Branch) int { return cmp.Compare(a.ID, b.ID) }) // ids sort by time
	for i := range found {
		b := &found[i]
		b.Selected = slices.ContainsFunc(thread, func(m sessions.Message) bool { return m.ID == b.ID })
		if b.ID == b.Question.ID || len(found) == 1 { // where there is one branch, nobody chooses by its answer
			continue
		}
		if b.Answer, err = lastOf(ctx, tree, session, b.ID); err != nil {
			return nil, fmt.Errorf("read branch: %w", err)
		}
	}
	return found, nil
}

// lastOf is the newest message below another one.
func lastOf(ctx context.Context, tree Tree, session sessions.ID, id sessions.MessageID) (sessions.Message, error) {
	leaf, err := tree.NewestLeaf(ctx, session, id)
	if err != nil {
		return sessions.Message{}, err
	}
	return tree.Message(ctx, session, leaf)
}
