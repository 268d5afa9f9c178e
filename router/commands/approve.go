package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"sluice/internal/visible"
	"sluice/policy/flow"
	"sluice/router/decider"
	"sluice/router/ledger"
	"sluice/router/request"
	"sluice/sessions"
)

// verdict is the decision of the person who gives a command, before the words allow or deny are read. A program
// decides with its token even if it speaks in a chat.
func (c Call) verdict() decider.Verdict {
	return decider.Verdict{Actor: c.In.Speaker(), Owner: c.Owner && c.Token == nil, Token: c.Token}
}

// mayApprove reports whether somebody who isn't an owner may decide about the approval that /approve names.
func (k *Commands) mayApprove(ctx context.Context, c Call) (bool, error) {
	words := strings.Fields(c.Args)
	if len(words) == 0 {
		return false, nil
	}
	return k.Approvals.MayDecide(ctx, ledger.ApprovalID(words[0]), c.verdict())
}

// approve decides about a pending tool call or message.
func (k *Commands) approve(ctx context.Context, c Call) (ledger.Change, string, error) {
	words := strings.Fields(c.Args)
	if len(words) < 2 || (words[1] != "allow" && words[1] != "deny") {
		return ledger.Change{}, "Usage: `/approve ID allow` or `/approve ID deny`. You can add a reason.", nil
	}
	v := c.verdict()
	v.Allow, v.Reason = words[1] == "allow", flow.NewText(strings.Join(words[2:], " "), k.Places.Label(c.In.Route, c.Owner))
	change, p, err := k.Approvals.Verdict(ctx, ledger.ApprovalID(words[0]), v)
	bad, refused := errors.AsType[*request.Error](err)
	if left, ok := errors.AsType[*decider.NotApproverError](err); ok {
		change, text := k.leftToOthers(c, p, left)
		return change, text, nil
	}
	switch {
	case errors.Is(err, sessions.ErrNotFound):
		return ledger.Change{}, fmt.Sprintf("No question has the id %s.", visible.CodeSpan(words[0])), nil
	case refused:
		return ledger.Change{}, bad.Error() + ".", nil
	case err != nil:
		return ledger.Change{}, "", err
	}
	tool, shown := c.Quotes.Show(flow.NewText(p.Tool, p.Label))
	if !shown {
		tool = ""
	}
	return change, decided(p, v.Allow, tool), nil
}

// decided tells a person what their decision causes. An empty tool means that its name must not be shown.
func decided(p ledger.Approval, allow bool, tool string) string {
	what := "send it"
	if raise := p.Terms.Raise; raise != nil {
		if allow {
			return "Allowed: " + raise.String() + "."
		}
		return "Denied: the limit stays as it is."
	}
	if p.Delivery == "" {
		what = "run it"
		if tool != "" {
			what = "run " + visible.CodeSpan(tool)
		}
	}
	if allow {
		return "Allowed: I will " + what + "."
	}
	return "Denied: I will not " + what + "."
}

// leftToOthers tells an owner that a rule leaves the decision to others. It names them only if nobody else reads the
// answer.
func (k *Commands) leftToOthers(c Call, p ledger.Approval, left *decider.NotApproverError) (ledger.Change, string) {
	change := ledger.Change{Change: sessions.Change{Audit: []sessions.AuditEntry{{
		At: k.Now(), Actor: left.Actor, Action: "command.denied", Object: "/approve", Session: p.Session, Label: p.Label,
		Detail: map[string]string{"conversation": string(c.In.Route.Conversation), "approval": string(p.ID), "reason": left.Error()},
	}}}}
	if left.Why != "" {
		return change, "You may not decide about this: " + left.Why + "."
	}
	who := "others" // naming the approvers would reveal something about the call
	if c.In.Route.ChatType == sessions.Direct {
		who = c.Quotes.Or(flow.NewText(decider.Names(left.Terms), p.Label), who)
	}
	return change, fmt.Sprintf("A rule leaves that decision to %s.", who)
}
