package router

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/place"
	"sluice/router/speech"
	"sluice/sessions"
)

const (
	undoMost     = 100 // turns of one /undo
	branchesMost = 20  // that /branch shows, the newest
)

// ordering is a command that a run carries out. It gives the order, or what to answer instead.
type ordering func(r *Router, ctx context.Context, c commandCall) (*sessions.Order, string, error)

func (r *Router) orderRetry(_ context.Context, c commandCall) (*sessions.Order, string, error) {
	if c.fresh {
		return nil, "There is nothing here to answer again.", nil
	}
	return &sessions.Order{Do: sessions.OrderRetry}, "", nil
}

func (r *Router) orderUndo(_ context.Context, c commandCall) (*sessions.Order, string, error) {
	n, ok := numberUpTo(undoMost, cmp.Or(c.args, "1"))
	switch {
	case !ok:
		return nil, fmt.Sprintf("Usage: `/undo` takes back the last turn, `/undo N` the last N of them, at most %d.", undoMost), nil
	case c.fresh:
		return nil, "There is nothing here to undo.", nil
	}
	return &sessions.Order{Do: sessions.OrderUndo, N: n}, "", nil
}

func (r *Router) orderCompact(_ context.Context, c commandCall) (*sessions.Order, string, error) {
	if c.fresh {
		return nil, "There is nothing yet that I could shorten.", nil
	}
	return &sessions.Order{Do: sessions.OrderCompact}, "", nil
}

// orderRaise lets the session rise to a level.
func (r *Router) orderRaise(_ context.Context, c commandCall) (*sessions.Order, string, error) {
	level, err := flow.ParseLevel(c.args)
	switch {
	case err != nil:
		return nil, "Usage: `/raise LEVEL`, with PUBLIC, INTERNAL, CONFIDENTIAL or RESTRICTED. It is taken back by `/new` alone.", nil //nolint:nilerr // it is the answer to who has asked
	case !flow.CanFlow(level, c.session.Clearance):
		return nil, place.AboveClearance(c.session, level), nil
	}
	return &sessions.Order{Do: sessions.OrderRaise, Level: level}, "", nil
}

// orderBranch lists the branches at the last turn, or goes to one of them.
func (r *Router) orderBranch(ctx context.Context, c commandCall) (*sessions.Order, string, error) {
	if c.fresh {
		return nil, "There are no branches here yet.", nil
	}
	branches, err := r.branches(ctx, c.session)
	if err != nil {
		return nil, "", err
	}
	if c.args == "" {
		return nil, listBranches(c.quotes, branches), nil
	}
	n, ok := numberUpTo(len(branches), c.args)
	if !ok {
		return nil, fmt.Sprintf("Usage: `/branch` lists the branches at the last turn, `/branch N` goes on from one of them; there are %d.", len(branches)), nil
	}
	return &sessions.Order{Do: sessions.OrderSwitch, N: n, Message: branches[n-1].id}, "", nil
}

// numberUpTo reads a number from 1 to most.
func numberUpTo(most int, text string) (n int, ok bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 1 && n <= most
}

// branch is one way in which the last turn went.
type branch struct {
	id       sessions.MessageID // of the answer's first message, or of the question where it has none
	question flow.Text
	answer   flow.Text
	selected bool
}

// branches are the ways in which the last turn went, in the order in which they came about: the versions of its
// question, each with the answers that it got. So a branch keeps its number when others follow.
func (r *Router) branches(ctx context.Context, record sessions.Record) ([]branch, error) {
	session, err := sessions.LoadSession(ctx, r.store, record, r.now)
	if err != nil {
		return nil, err
	}
	question := speech.Newest(session.Messages())
	siblings, err := r.store.Children(ctx, record.ID, question.Parent)
	if err != nil {
		return nil, fmt.Errorf("read branches: %w", err)
	}
	chosen := map[sessions.MessageID]bool{}
	for _, m := range session.Messages() {
		chosen[m.ID] = true
	}
	var found []branch
	for _, version := range siblings {
		if version.Role != sessions.RoleUser {
			continue
		}
		answers, err := r.answers(ctx, record, version)
		if err != nil {
			return nil, err
		}
		for i := range answers {
			answers[i].selected = chosen[answers[i].id]
		}
		found = append(found, answers...)
	}
	slices.SortFunc(found, func(a, b branch) int { return cmp.Compare(a.id, b.id) }) // ids sort by time
	return found, nil
}

// answers are the branches that begin with one version of a question.
func (r *Router) answers(ctx context.Context, record sessions.Record, question sessions.Message) ([]branch, error) {
	children, err := r.store.Children(ctx, record.ID, question.ID)
	if err != nil {
		return nil, fmt.Errorf("read branches: %w", err)
	}
	if len(children) == 0 {
		return []branch{{id: question.ID, question: saidIn(record, question)}}, nil
	}
	var found []branch
	for _, child := range children {
		leaf, err := r.store.NewestLeaf(ctx, record.ID, child.ID)
		if err != nil {
			return nil, fmt.Errorf("read branch: %w", err)
		}
		last, err := r.store.Message(ctx, record.ID, leaf)
		if err != nil {
			return nil, fmt.Errorf("read branch: %w", err)
		}
		found = append(found, branch{id: child.ID, question: saidIn(record, question), answer: saidIn(record, last)})
	}
	return found, nil
}

// saidIn is a message's text, as secret as the session in which it was said; a silent answer has none.
func saidIn(record sessions.Record, m sessions.Message) flow.Text {
	return flow.NewText(sessions.Shown(m.Text()), m.Label.Join(record.Taint))
}

func listBranches(quotes *policy.Quotation, branches []branch) string {
	if len(branches) < 2 {
		return "The last turn has no other branch. Edit your last message or say `/retry` to begin one."
	}
	var b strings.Builder
	b.WriteString("The branches at the last turn; `/branch N` goes on from one of them:\n")
	for i, br := range branches {
		if i < len(branches)-branchesMost {
			continue
		}
		here := ""
		if br.selected {
			here = " (we are here)"
		}
		question, answer := quotes.Or(br.question, "not shown here"), cmp.Or(quotes.Or(br.answer, "not shown here"), "no answer")
		fmt.Fprintf(&b, "\n%d. %s → %s%s", i+1, speech.Quote(question), speech.Quote(answer), here)
	}
	return b.String()
}
