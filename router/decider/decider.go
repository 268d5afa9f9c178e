// Package decider says who may decide about a pending approval: an owner, the approvers that a rule names, or a named
// API token.
package decider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sluice/adapters"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

// Verdict is a person's decision about a tool call.
type Verdict struct {
	Allow  bool
	Reason flow.Text // of a denial, for the model; at most 500 bytes
	Actor  string    // who decides: a principal, or a program with an API token
	Owner  bool      // an owner, or a program with the gateway's own token
	Token  *Token    // the named API token of the decision; may be nil
}

// May reports whether the person is in each list of approvers. An empty list stands for the owners.
func (v Verdict) May(t sessions.Terms) bool {
	if len(t.Approvers) == 0 {
		return v.Owner
	}
	for _, list := range t.Approvers {
		if len(list) == 0 && !v.Owner || len(list) > 0 && !slices.Contains(list, v.Actor) {
			return false
		}
	}
	return true
}

// NotApproverError refuses a decision by somebody who may not make it. Its text names the approvers and is for owners
// only.
type NotApproverError struct {
	Actor string
	Terms sessions.Terms
	Why   string // empty: others have to decide
}

// Error implements error.
func (e *NotApproverError) Error() string {
	return fmt.Sprintf("%s may not decide about this: %s", e.Actor, cmp.Or(e.Why, leftTo(e.Terms)))
}

// leftTo names the approvers, for somebody else who tries to decide.
func leftTo(t sessions.Terms) string {
	return fmt.Sprintf("the decision is left to %s (approvers of policy.rules)", Names(t))
}

// Names lists the approvers: everybody in each of the lists.
func Names(t sessions.Terms) string {
	var lists []string
	for _, list := range t.Approvers {
		who := "the owners"
		if len(list) > 0 {
			who = strings.Join(list, ", ")
		}
		if !slices.Contains(lists, who) {
			lists = append(lists, who)
		}
	}
	if len(lists) == 0 {
		return "the owners"
	}
	return strings.Join(lists, "; and of these only to ")
}

// Denial is a refusal with its reason.
func (v Verdict) Denial() flow.Text {
	text := v.who() + " denied it"
	if v.Reason.Empty() {
		return ledger.GatewaySays(text)
	}
	return flow.NewText(text+": "+v.Reason.Raw(), v.Reason.Label())
}

// who is the decider, as the model sees it.
func (v Verdict) who() string {
	switch {
	case v.Token != nil:
		return "an operator"
	case v.Owner:
		return "the owner"
	}
	return "an approver"
}

// Token describes what a named API token may do. The gateway's own token acts as an owner and has no Token.
type Token struct {
	Principal string     // its name in a rule's approvers, for example webchat:token:ops
	Level     flow.Level // the highest level that it sees
	Operator  bool       // a reader decides nothing
}

// refusal says why a token may not decide about an approval; empty if it may. A token without the operator role, or
// below the approval's level, never decides. If a rule names approvers, the token must be one of them. speaker is who
// spoke in the run that asks; empty if unknown: nobody decides about the effects of their own words. Everything that
// a token says is untrusted, so an untrusted approval may be the effect of its words in an earlier turn, a file or a
// task: only a token that a rule names decides about it.
func (t Token) refusal(p ledger.Approval, speaker string) string {
	named := slices.ContainsFunc(p.Terms.Approvers, func(list []string) bool { return len(list) > 0 })
	switch {
	case policy.CheckApprover.Skipped():
		return ""
	case !t.Operator:
		return "its role in gateway.tokens is reader"
	case p.Terms.Raise != nil:
		return "only the owner can raise the limit of a budget"
	case !p.Label.FlowsTo(t.Level), !flow.CanFlow(p.Terms.Level, t.Level):
		return fmt.Sprintf("approval could let the conversation learn or send information above %s, the highest level that the token may see", t.Level)
	case slices.ContainsFunc(p.Terms.Approvers, func(list []string) bool { return len(list) > 0 && !slices.Contains(list, t.Principal) }):
		return leftTo(p.Terms)
	case speaker == t.Principal:
		return "its own message led to the request"
	case p.Label.Trust() != flow.Trusted && (!named || speaker == ""):
		return "untrusted text may have led to the request, possibly the token's own; only the owner can decide, or a token that a rule names in approvers"
	}
	return ""
}

// speakerStore reads who spoke in the run of an approval.
type speakerStore interface {
	Run(ctx context.Context, id sessions.RunID) (sessions.Run, error)
	Delivery(ctx context.Context, id ledger.DeliveryID) (ledger.Delivery, error)
}

// speakerOf is who spoke in the run of an approval; empty if no run or no person is known.
func speakerOf(ctx context.Context, store speakerStore, p ledger.Approval) (string, error) {
	id := p.Run
	if p.Delivery != "" {
		d, err := store.Delivery(ctx, p.Delivery)
		if err != nil && !errors.Is(err, sessions.ErrNotFound) {
			return "", fmt.Errorf("read delivery: %w", err)
		}
		id = d.Run
	}
	if id == "" {
		return "", nil
	}
	run, err := store.Run(ctx, id)
	if err != nil && !errors.Is(err, sessions.ErrNotFound) {
		return "", fmt.Errorf("read run: %w", err)
	}
	return run.Speaker(), nil
}

// Check returns a [*NotApproverError] if the actor may not decide. For people only the terms count, for a named token
// also its role, its level and whose words led to the question.
func Check(ctx context.Context, store speakerStore, v Verdict, p ledger.Approval) error {
	if v.Token == nil {
		if !v.May(p.Terms) {
			return &NotApproverError{Actor: v.Actor, Terms: p.Terms}
		}
		return nil
	}
	speaker, err := speakerOf(ctx, store, p)
	if err != nil {
		return err
	}
	if why := v.Token.refusal(p, speaker); why != "" {
		return &NotApproverError{v.Actor, p.Terms, why}
	}
	return nil
}

// TokenPrefix is the prefix of the user id of a program with a named token.
const TokenPrefix = "token:"

// TokenUser is the user id of a program with a named token.
func TokenUser(name string) sessions.UserID { return sessions.UserID(TokenPrefix + name) }

// Among returns the owners and approvers who may decide alone and can be asked in a chat, those on the channel first,
// and the page last: nobody may look at it for days.
func Among(owners []string, t sessions.Terms, channel string) []string {
	all := slices.Clone(owners)
	for _, list := range t.Approvers {
		all = append(all, list...)
	}
	var here, elsewhere, page []string
	for _, who := range all {
		switch on, id, _ := sessions.ParsePrincipal(who); {
		case strings.HasPrefix(string(id), TokenPrefix): // a token has no chat
		case !(Verdict{Actor: who, Owner: slices.Contains(owners, who)}).May(t):
		case on == channel:
			here = append(here, who)
		case on == adapters.Page:
			page = append(page, who)
		default:
			elsewhere = append(elsewhere, who)
		}
	}
	return slices.Concat(here, elsewhere, page)
}
