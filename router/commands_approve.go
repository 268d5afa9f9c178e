package router

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

// isApprover reports whether somebody who is no owner may decide about what /approve is about.
func (r *Router) isApprover(ctx context.Context, in Admission, args string) (bool, error) {
	words := strings.Fields(args)
	if len(words) == 0 {
		return false, nil
	}
	return r.Approvals.MayDecide(ctx, ledger.ApprovalID(words[0]), verdictBy(in, false))
}

// commandApprove decides about a tool call that waits.
func (r *Router) commandApprove(ctx context.Context, c commandCall) (ledger.Change, string, error) {
	words := strings.Fields(c.args)
	if len(words) < 2 || (words[1] != "allow" && words[1] != "deny") {
		return ledger.Change{}, "Usage: `/approve ID allow` or `/approve ID deny`, and behind it a reason if you like.", nil
	}
	v := verdictBy(c.in, c.owner)
	v.Allow, v.Reason = words[1] == "allow", flow.NewText(strings.Join(words[2:], " "), r.places.Label(c.in.Route, c.owner))
	change, p, err := r.Approvals.Verdict(ctx, ledger.ApprovalID(words[0]), v)
	bad, refused := errors.AsType[*request.Error](err)
	if left, ok := errors.AsType[*decider.NotApproverError](err); ok {
		return r.leftToOthers(c, p, left)
	}
	switch {
	case errors.Is(err, sessions.ErrNotFound):
		return ledger.Change{}, fmt.Sprintf("Nothing waits under %s.", visible.CodeSpan(words[0])), nil
	case refused:
		return ledger.Change{}, bad.Error() + ".", nil
	case err != nil:
		return ledger.Change{}, "", err
	case p.Delivery != "" && v.Allow:
		return change, "It is sent.", nil
	case p.Delivery != "":
		return change, "It is not sent.", nil
	}
	tool := "It"
	if name, ok := c.quotes.Show(flow.NewText(p.Tool, p.Label)); ok {
		tool = visible.CodeSpan(name)
	}
	if v.Allow {
		return change, tool + " runs.", nil
	}
	return change, tool + " does not run.", nil
}

// leftToOthers tells an owner that a rule leaves the decision to others, and where nobody else reads it to whom.
func (r *Router) leftToOthers(c commandCall, p ledger.Approval, left *decider.NotApproverError) (ledger.Change, string, error) {
	change := ledger.Change{Change: sessions.Change{Audit: []sessions.AuditEntry{{
		At: r.now(), Actor: left.Actor, Action: "command.denied", Object: "/approve", Session: p.Session, Label: p.Label,
		Detail: map[string]string{"conversation": string(c.in.Route.Conversation), "approval": string(p.ID), "reason": left.Error()},
	}}}}
	if left.Why != "" {
		return change, "You may not decide about this: " + left.Why + ".", nil
	}
	who := "others" // which of the rules it is says something of the call
	if c.in.Route.ChatType == sessions.Direct {
		who = c.quotes.Or(flow.NewText(decider.Names(left.Terms), p.Label), who)
	}
	return change, fmt.Sprintf("A rule leaves that decision to %s.", who), nil
}

// verdictBy is who gives a chat command, as one who decides. A token is one also where its bearer speaks in a chat.
func verdictBy(in Admission, owner bool) decider.Verdict {
	return decider.Verdict{Actor: in.speaker(), Owner: owner && in.Token == nil, Token: in.Token}
}
