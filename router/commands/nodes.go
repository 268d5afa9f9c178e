package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/router/request"
	"sluice/sessions"
)

// Nodes knows the nodes, see [nodes.Registry]. The caller stores the changes.
type Nodes interface {
	List(ctx context.Context, q ledger.NodeQuery) ([]ledger.Node, error)
	// Current reads a node. One that does not exist counts as revoked.
	Current(ctx context.Context, id string) (ledger.Node, error)
	Approval(ctx context.Context, code string, level flow.Level, actor string) (ledger.Node, ledger.Change, error)
	Denial(ctx context.Context, code, actor string) (ledger.Node, ledger.Change, error)
	Leveling(ctx context.Context, id string, level flow.Level, actor string) (ledger.Node, ledger.Change, error)
	Revocation(ctx context.Context, id, actor string) (ledger.Node, ledger.Change, error)
}

// nodesShown is how many nodes a list has.
const nodesShown = 50

const nodesUsage = "Usage: `/nodes` lists the nodes and the waiting programs. `/nodes approve CODE`, or `/nodes approve CODE LEVEL`, makes a program a node; `/nodes deny CODE` refuses it. " +
	"`/nodes level NODE LEVEL` changes a node's level, and `/nodes revoke NODE` ends its access. The levels are PUBLIC, INTERNAL, CONFIDENTIAL and RESTRICTED."

// answerNodes lists nodes, or decides about one.
func answerNodes(ctx context.Context, k *Commands, c Call) (ledger.Change, string, error) {
	return nodesCommand{k.Nodes, k.Places, k.Now}.answer(ctx, c)
}

// nodesCommand is the command /nodes.
type nodesCommand struct {
	Nodes  Nodes
	Places *place.Places
	Now    func() time.Time
}

func (k nodesCommand) answer(ctx context.Context, c Call) (ledger.Change, string, error) {
	if k.Nodes == nil {
		return ledger.Change{}, "This gateway has no nodes.", nil
	}
	words := strings.Fields(c.Args)
	if len(words) == 0 || len(words) == 1 && strings.EqualFold(words[0], "list") {
		text, err := k.list(ctx, c)
		return ledger.Change{}, text, err
	}
	if !c.Owner || c.Token != nil {
		return ledger.Change{}, "Only an owner can decide about nodes.", nil
	}
	change, text, err := k.decide(ctx, c, strings.ToLower(words[0]), words[1:])
	bad, refused := errors.AsType[*request.Error](err)
	switch {
	case refused:
		return ledger.Change{}, sentence(bad.Text), nil
	case errors.Is(err, sessions.ErrNotFound):
		return ledger.Change{}, "There is no such node here. `/nodes` lists the nodes.", nil
	}
	return change, text, err
}

// decide works out one decision about a node.
func (k nodesCommand) decide(ctx context.Context, c Call, verb string, words []string) (ledger.Change, string, error) {
	usage := func() (ledger.Change, string, error) { return ledger.Change{}, nodesUsage, nil }
	if len(words) == 0 || len(words) > 2 {
		return usage()
	}
	level, who, name := flow.Public, c.In.Speaker(), strings.Trim(words[0], "`")
	if len(words) == 2 {
		var err error
		if level, err = flow.ParseLevel(strings.ToUpper(words[1])); err != nil || verb != "approve" && verb != "level" {
			return usage()
		}
	}
	switch {
	case verb == "approve":
		n, change, err := k.Nodes.Approval(ctx, name, level, who)
		return change, fmt.Sprintf("`%s` is a node now. It gets nothing above %s, and what it sends has this level.", n.ID, level), err
	case verb == "deny":
		n, change, err := k.Nodes.Denial(ctx, name, who)
		return change, fmt.Sprintf("`%s` was refused.", n.ID), err
	case verb == "level" && len(words) == 2:
		if err := k.known(ctx, c, name); err != nil {
			return ledger.Change{}, "", err
		}
		n, change, err := k.Nodes.Leveling(ctx, name, level, who)
		return change, fmt.Sprintf("`%s` has the level %s now. It gets nothing above that, and what it sends has this level.", n.ID, level), err
	case verb == "revoke":
		if err := k.known(ctx, c, name); err != nil {
			return ledger.Change{}, "", err
		}
		n, change, err := k.Nodes.Revocation(ctx, name, who)
		return change, fmt.Sprintf("`%s` no longer has access.", n.ID), err
	}
	return usage()
}

// known is [sessions.ErrNotFound] for a node that does not exist, or that the conversation may not know.
func (k nodesCommand) known(ctx context.Context, c Call, id string) error {
	n, err := k.Nodes.Current(ctx, id)
	if err != nil {
		return err
	}
	if n.Status != ledger.NodeApproved && n.Status != ledger.NodePending {
		return sessions.ErrNotFound
	}
	if _, ok := c.Quotes.Show(flow.NewText(n.ID, n.Label)); !ok {
		return sessions.ErrNotFound
	}
	return nil
}

// list lists the nodes that the conversation may know.
func (k nodesCommand) list(ctx context.Context, c Call) (string, error) {
	most := k.Places.SinkLevel(c.In.Route)
	if c.Token != nil {
		most = flow.Min(most, c.Token.Level)
	}
	var b strings.Builder
	now, shown := k.Now(), 0
	for _, status := range []ledger.NodeStatus{ledger.NodePending, ledger.NodeApproved} {
		all, err := k.Nodes.List(ctx, ledger.NodeQuery{Status: status, MaxLevel: most, Limit: nodesShown + 1})
		if err != nil {
			return "", fmt.Errorf("list nodes: %w", err)
		}
		for _, n := range all {
			if status == ledger.NodePending && !n.Expires.After(now) {
				continue
			}
			line := fmt.Sprintf("- `%s` (%s), level %s\n", n.ID, n.Platform, n.Label.Level())
			if status == ledger.NodePending {
				line = fmt.Sprintf("- `%s` (%s) waits: `/nodes approve %s` or `/nodes deny %s`\n", n.ID, n.Platform, n.Code, n.Code)
			}
			if line, ok := c.Quotes.Show(flow.NewText(line, n.Label)); ok && shown < nodesShown {
				b.WriteString(line)
			}
			shown++
		}
	}
	switch {
	case shown == 0:
		return "There are no nodes here. To make another machine a node, run `sluice node pair` on it.", nil
	case shown > nodesShown:
		fmt.Fprintf(&b, "\nThese are the first %d: `sluice nodes list` shows all.", nodesShown)
	}
	return b.String(), nil
}
