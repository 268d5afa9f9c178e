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
func (k *Commands) approve(ctx context.Context, c Call) (Answer, error) {
	words := strings.Fields(c.Args)
	if len(words) < 2 || (words[1] != "allow" && words[1] != "deny" && words[1] != "always") {
		return Answer{Text: "Usage: `/approve ID allow` or `/approve ID deny`; you can add a reason. `/approve ID always` shows a rule that allows all calls like this one."}, nil
	}
	id := ledger.ApprovalID(words[0])
	if words[1] == "always" {
		_, rest, _ := strings.Cut(c.Args, "always")
		return always(ctx, k, c, id, strings.TrimSpace(rest))
	}
	v := c.verdict()
	v.Allow, v.Reason = words[1] == "allow", flow.NewText(strings.Join(words[2:], " "), k.Places.Label(c.In.Route, c.Owner))
	change, p, err := k.Approvals.Verdict(ctx, id, v)
	if err != nil {
		return notDecided(k, c, id, p, err)
	}
	tool, shown := c.Quotes.Show(flow.NewText(p.Tool, p.Label))
	if !shown {
		tool = ""
	}
	return Answer{Text: decided(p, v.Allow, tool), Change: change}, nil
}

// notDecided tells a person why their decision has no effect.
func notDecided(k *Commands, c Call, id ledger.ApprovalID, p ledger.Approval, err error) (Answer, error) {
	bad, refused := errors.AsType[*request.Error](err)
	left, others := errors.AsType[*decider.NotApproverError](err)
	switch {
	case others:
		return leftToOthers(k, c, p, left), nil
	case errors.Is(err, sessions.ErrNotFound):
		return Answer{Text: fmt.Sprintf("No question has the id %s.", visible.CodeSpan(string(id)))}, nil
	case refused:
		return Answer{Text: bad.Error() + "."}, nil
	}
	return Answer{}, err
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
func leftToOthers(k *Commands, c Call, p ledger.Approval, left *decider.NotApproverError) Answer {
	change := ledger.Change{Change: sessions.Change{Audit: []sessions.AuditEntry{{
		At: k.Now(), Actor: left.Actor, Action: "command.denied", Object: "/approve", Session: p.Session, Label: p.Label,
		Detail: map[string]string{"conversation": string(c.In.Route.Conversation), "approval": string(p.ID), "reason": left.Error()},
	}}}}
	if left.Why != "" {
		return Answer{Text: "You may not decide about this: " + left.Why + ".", Change: change}
	}
	who := "others" // naming the approvers would reveal something about the call
	if c.In.Route.ChatType == sessions.Direct {
		who = c.Quotes.Or(flow.NewText(decider.Names(left.Terms), p.Label), who)
	}
	return Answer{Text: fmt.Sprintf("A rule leaves that decision to %s.", who), Change: change}
}
