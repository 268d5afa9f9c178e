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
	Answer   sessions.Message // the last one; the zero value if there is no answer
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
		answers, err := answersOf(ctx, tree, session, thread, question)
		if err != nil {
			return nil, err
		}
		found = append(found, answers...)
	}
	slices.SortFunc(found, func(a, b Branch) int { return cmp.Compare(a.ID, b.ID) }) // ids sort by time
	return found, nil
}

// answersOf lists the branches that start with one version of the question.
func answersOf(ctx context.Context, tree Tree, session sessions.ID, thread []sessions.Message, question sessions.Message) ([]Branch, error) {
	selected := func(id sessions.MessageID) bool {
		return slices.ContainsFunc(thread, func(m sessions.Message) bool { return m.ID == id })
	}
	children, err := tree.Children(ctx, session, question.ID)
	if err != nil {
		return nil, fmt.Errorf("read branches: %w", err)
	}
	if len(children) == 0 {
		return []Branch{{ID: question.ID, Question: question, Selected: selected(question.ID)}}, nil
	}
	var found []Branch
	for _, child := range children {
		leaf, err := tree.NewestLeaf(ctx, session, child.ID)
		if err != nil {
			return nil, fmt.Errorf("read branch: %w", err)
		}
		last, err := tree.Message(ctx, session, leaf)
		if err != nil {
			return nil, fmt.Errorf("read branch: %w", err)
		}
		found = append(found, Branch{ID: child.ID, Question: question, Answer: last, Selected: selected(child.ID)})
	}
	return found, nil
}
