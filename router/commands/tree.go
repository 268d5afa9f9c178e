package commands

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"sluice/policy/flow"
	"sluice/router/branches"
	"sluice/router/place"
	"sluice/router/queue"
	"sluice/router/usertext"
	"sluice/sessions"
)

const (
	maxUndo     = 100 // turns that one /undo removes
	maxBranches = 20  // that /branch shows, newest first
)

// ordering is a command that a run carries out. It returns the order, or a text to answer instead.
type ordering func(k *Commands, ctx context.Context, c Call) (*sessions.Order, string, error)

func (k *Commands) retry(_ context.Context, c Call) (*sessions.Order, string, error) {
	if c.Fresh {
		return nil, "There is nothing to answer again.", nil
	}
	return &sessions.Order{Do: sessions.OrderRetry}, "", nil
}

// edit replaces the newest message of the conversation with another version, as if its author had edited it on the platform.
// Only its author and an owner may do so.
func (k *Commands) edit(ctx context.Context, c Call) (*sessions.Order, string, error) {
	const nothing = "There is nothing to edit."
	switch {
	case c.Args == "":
		return nil, "Usage: `/edit TEXT` replaces your last message with TEXT, and I answer again.", nil
	case c.Fresh:
		return nil, nothing, nil
	}
	run, author, err := k.newest(ctx, c.Session)
	switch {
	case err != nil:
		return nil, "", err
	case run == "":
		return nil, nothing, nil
	case !c.Owner && author != c.In.Sender.ID:
		return nil, "Only the author of the last message and my owner can edit it.", nil
	}
	return &sessions.Order{Do: sessions.OrderEdit, Run: run}, "", nil
}

// newest is the run of the newest message that a person has written in a session, waiting or not; empty if the session has no such message.
func (k *Commands) newest(ctx context.Context, record sessions.Record) (sessions.RunID, sessions.UserID, error) {
	waiting, err := k.Store.WaitingRuns(ctx, record.ID, queue.MaxWaiting)
	if err != nil {
		return "", "", fmt.Errorf("read queue: %w", err)
	}
	for _, run := range slices.Backward(queue.Queued(waiting)) {
		if run.Kind == sessions.KindMessage && (run.Input.Order == nil || run.Input.Order.Do == sessions.OrderEdit) {
			return run.ID, run.Input.Sender.ID, nil
		}
	}
	session, err := sessions.LoadSession(ctx, k.Tree, record, k.Now)
	if err != nil {
		return "", "", err
	}
	m := usertext.NewestMessage(session.Messages())
	return m.Run, m.Sender.ID, nil
}

func (k *Commands) undo(_ context.Context, c Call) (*sessions.Order, string, error) {
	n, ok := numberUpTo(maxUndo, cmp.Or(c.Args, "1"))
	switch {
	case !ok:
		return nil, fmt.Sprintf("Usage: `/undo` takes back the last turn, `/undo N` the last N turns. N is at most %d.", maxUndo), nil
	case c.Fresh:
		return nil, "There is nothing to undo.", nil
	}
	return &sessions.Order{Do: sessions.OrderUndo, N: n}, "", nil
}

func (k *Commands) compact(_ context.Context, c Call) (*sessions.Order, string, error) {
	if c.Fresh {
		return nil, "There is nothing to summarize yet.", nil
	}
	return &sessions.Order{Do: sessions.OrderCompact}, "", nil
}

// raise raises the session to a level.
func (k *Commands) raise(_ context.Context, c Call) (*sessions.Order, string, error) {
	level, _ := flow.ParseLevel(c.Args) // the usage says more than its error
	switch {
	case !level.Valid():
		return nil, "Usage: `/raise LEVEL`, with PUBLIC, INTERNAL, CONFIDENTIAL or RESTRICTED. Only `/new` lowers the level again.", nil
	case !flow.CanFlow(level, c.Session.Clearance):
		return nil, place.AboveClearance(c.Session, level), nil
	}
	return &sessions.Order{Do: sessions.OrderRaise, Level: level}, "", nil
}

// branch lists the branches at the last turn, or switches to one of them.
func (k *Commands) branch(ctx context.Context, c Call) (*sessions.Order, string, error) {
	if c.Fresh {
		return nil, "There are no branches here yet.", nil
	}
	found, err := k.branches(ctx, c.Session)
	if err != nil {
		return nil, "", err
	}
	if c.Args == "" {
		return nil, listBranches(c, found), nil
	}
	n, ok := numberUpTo(len(found), c.Args)
	if !ok {
		return nil, fmt.Sprintf("Usage: `/branch` lists the branches of the last turn, `/branch N` continues from branch N. There are %d.", len(found)), nil
	}
	return &sessions.Order{Do: sessions.OrderSwitch, N: n, Message: found[n-1].ID}, "", nil
}

// numberUpTo reads a number from 1 to limit.
func numberUpTo(limit int, text string) (n int, ok bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 1 && n <= limit
}

// branches lists the branches of the last turn.
func (k *Commands) branches(ctx context.Context, record sessions.Record) ([]branches.Branch, error) {
	session, err := sessions.LoadSession(ctx, k.Tree, record, k.Now)
	if err != nil {
		return nil, err
	}
	return branches.Of(ctx, k.Tree, record.ID, session.Messages())
}

// textIn is a message's text, with its session's label. A silent answer has no text, nor has one that is missing.
func textIn(record sessions.Record, m sessions.Message) flow.Text {
	if m.ID == "" {
		return flow.Text{}
	}
	return flow.NewText(sessions.VisibleText(m.Text()), m.Label.Join(record.Taint))
}

func listBranches(c Call, found []branches.Branch) string {
	if len(found) < 2 {
		return "The last turn has no other branch. Edit your last message, or send `/edit TEXT` or `/retry`, to start one."
	}
	var b strings.Builder
	b.WriteString("The branches of the last turn. `/branch N` continues from branch N.\n")
	for i, br := range found {
		if i < len(found)-maxBranches {
			continue
		}
		here := ""
		if br.Selected {
			here = " (current)"
		}
		question := c.Quotes.Or(textIn(c.Session, br.Question), "not shown here")
		answer := cmp.Or(c.Quotes.Or(textIn(c.Session, br.Answer), "not shown here"), "no reply")
		fmt.Fprintf(&b, "\n%d. %s → %s%s", i+1, usertext.Quote(question), usertext.Quote(answer), here)
	}
	return b.String()
}
