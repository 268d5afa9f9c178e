package router

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"sluice/internal/visible"
	"sluice/policy/flow"
	"sluice/router/decider"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/router/request"
	"sluice/sessions"
)

const (
	// decideTries is how often a decision is tried that meets another change.
	decideTries = 4
	// reasonMost is the length of a reason in bytes, at most.
	reasonMost = 500
)

// questionText is what is asked about a call.
func questionText(p ledger.Approval) string {
	why := ""
	if p.Why != "" {
		why = " Why you are asked: " + visible.Line(p.Why) + "."
	}
	return fmt.Sprintf("May I use %s?%s\n\n%s\n\n%s", visible.CodeSpan(p.Tool), why, shownArgs(p), outbound.SilenceMeans(p))
}

// bareQuestion asks about a call where nothing of it may be said, not even which tool it is.
func bareQuestion(p ledger.Approval) string {
	return "May I use a tool? " + outbound.NotShown(p.ID) + "\n\n" + outbound.SilenceMeans(p)
}

// shownArgs are a call's arguments as a question shows them.
func shownArgs(p ledger.Approval) string {
	args := bytes.Buffer{}
	if json.Indent(&args, p.Args, "", "  ") != nil {
		args.Reset()
		args.Write(p.Args)
	}
	return outbound.Shown(p.ID, args.String())
}

// DecideApproval decides about a tool call that waits. One that is decided already, or too late, is a
// [request.Error], one that is left to others a [NotApproverError], an unknown one [sessions.ErrNotFound].
func (r *Router) DecideApproval(ctx context.Context, id ledger.ApprovalID, v decider.Verdict) (ledger.Approval, error) {
	for range decideTries {
		change, p, err := r.verdict(ctx, id, v) // anew, it says what somebody else has decided
		if err != nil {
			return p, err
		}
		err = r.lanes.Commit(ctx, change)
		switch {
		case err == nil:
			return change.Approvals[0].Approval, nil
		case !errors.Is(err, sessions.ErrConflict):
			return p, fmt.Errorf("decide approval: %w", err)
		}
	}
	return ledger.Approval{}, fmt.Errorf("decide approval %s: others change it over and over: %w", id, sessions.ErrConflict)
}

// verdict is the change that a decision makes.
func (r *Router) verdict(ctx context.Context, id ledger.ApprovalID, v decider.Verdict) (ledger.Change, ledger.Approval, error) {
	p, err := r.store.Approval(ctx, id)
	if err != nil {
		return ledger.Change{}, p, err
	}
	if err := decider.Check(ctx, r.store, v, p); err != nil {
		return ledger.Change{}, p, err
	}
	switch {
	case p.Status != ledger.ApprovalPending:
		return ledger.Change{}, p, &request.Error{Text: fmt.Sprintf("%s is %s already", id, wordOf(p))}
	case !p.Expires.After(r.now()):
		return ledger.Change{}, p, &request.Error{Text: fmt.Sprintf("%s is too late: it was to be decided until %s", id, p.Expires.UTC().Format("15:04 MST"))}
	case len(v.Reason.Raw()) > reasonMost:
		return ledger.Change{}, p, &request.Error{Field: "reason", Text: fmt.Sprintf("is %d bytes, the most is %d", len(v.Reason.Raw()), reasonMost)}
	}
	to, reason := ledger.ApprovalAllowed, ledger.GatewaySays("")
	if !v.Allow {
		to, reason = ledger.ApprovalDenied, v.Denial()
	}
	change := ledger.Change{
		Approvals: []ledger.ApprovalMove{p.Move(to, reason, v.Actor, r.now())},
		Change:    sessions.Change{Audit: []sessions.AuditEntry{p.AuditEntry(to, v.Actor, v.Reason, r.now())}},
	}
	return change, p, r.holds.Decide(ctx, &change, p, v.Allow, reason)
}

// wordOf is what was decided, for people.
func wordOf(p ledger.Approval) ledger.ApprovalStatus {
	if p.Status == ledger.ApprovalUsed {
		return ledger.ApprovalAllowed
	}
	return p.Status
}

// isApprover reports whether somebody who is no owner may decide about what /approve is about.
func (r *Router) isApprover(ctx context.Context, in Admission, args string) (bool, error) {
	words := strings.Fields(args)
	if len(words) == 0 {
		return false, nil
	}
	p, err := r.store.Approval(ctx, ledger.ApprovalID(words[0]))
	if errors.Is(err, sessions.ErrNotFound) {
		return false, nil
	}
	if err == nil {
		err = decider.Check(ctx, r.store, verdictBy(in, false), p)
	}
	if _, refused := errors.AsType[*decider.NotApproverError](err); refused {
		return false, nil
	}
	return err == nil, err
}

// commandApprove decides about a tool call that waits.
func (r *Router) commandApprove(ctx context.Context, c commandCall) (ledger.Change, string, error) {
	words := strings.Fields(c.args)
	if len(words) < 2 || (words[1] != "allow" && words[1] != "deny") {
		return ledger.Change{}, "Usage: `/approve ID allow` or `/approve ID deny`, and behind it a reason if you like.", nil
	}
	v := verdictBy(c.in, c.owner)
	v.Allow, v.Reason = words[1] == "allow", flow.NewText(strings.Join(words[2:], " "), r.places.Label(c.in.Route, c.owner))
	change, p, err := r.verdict(ctx, ledger.ApprovalID(words[0]), v)
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
