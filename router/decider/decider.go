// Package decider says who may decide about what waits for a person: an owner, the approvers that a rule names, or a
// named token of the API.
package decider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

// Verdict is a person's decision about a tool call.
type Verdict struct {
	Allow  bool
	Reason flow.Text // of a denial; the model may read it; at most 500 bytes
	Actor  string    // who decides: a principal, or a program with a token of the API
	Owner  bool      // an owner, or a program with the gateway's own token
	Token  *Token    // the named token of the API with which it is decided; may be nil
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

// NotApproverError refuses a decision by somebody who may not make it. Its text names those who may, and is for owners.
type NotApproverError struct {
	Actor string
	Terms sessions.Terms
	Why   string // why not; empty: others decide
}

// Error implements error.
func (e *NotApproverError) Error() string {
	return fmt.Sprintf("%s may not decide about this: %s", e.Actor, cmp.Or(e.Why, leftTo(e.Terms)))
}

// leftTo says who may decide where somebody else tries.
func leftTo(t sessions.Terms) string {
	return fmt.Sprintf("the decision is left to %s (approvers of policy.rules)", Names(t))
}

// Names lists those who may decide: who is in each of the lists.
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

// who decides, as the model is told.
func (v Verdict) who() string {
	switch {
	case v.Token != nil:
		return "an operator"
	case v.Owner:
		return "the owner"
	}
	return "an approver"
}

// Token is what the bearer of a named token of the API may do. The gateway's own token has none: it stands for an owner.
type Token struct {
	Principal string     // as rules name it among approvers, for example webchat:token:ops
	Level     flow.Level // the most that it sees
	Operator  bool       // a reader decides nothing
}

// refusal says why a token may not decide about an approval; empty: it may. Without an operator's role, or above its level, it never
// decides. Where a rule names approvers it has to be one of them. speaker is who spoke in the run that asks, empty where that is
// unknown: nobody decides about what their own words led to. All that a token says is untrusted, so an untrusted approval may be the
// work of its words in an earlier turn, a file or a task: only a token that a rule names decides about it.
func (t Token) refusal(p ledger.Approval, speaker string) string {
	named := slices.ContainsFunc(p.Terms.Approvers, func(list []string) bool { return len(list) > 0 })
	switch {
	case policy.CheckApprover.Skipped():
		return ""
	case !t.Operator:
		return "its role in gateway.tokens is reader"
	case !p.Label.FlowsTo(t.Level), !flow.CanFlow(p.Terms.Level, t.Level):
		return fmt.Sprintf("approval could let the conversation learn or send information above %s, the highest level that the token may see", t.Level)
	case slices.ContainsFunc(p.Terms.Approvers, func(list []string) bool { return len(list) > 0 && !slices.Contains(list, t.Principal) }):
		return leftTo(p.Terms)
	case speaker == t.Principal:
		return "its own message led to it"
	case p.Label.Trust() != flow.Trusted && (!named || speaker == ""):
		return "text that did not come from the owner may have led to it, possibly the token's own; the owner decides, or a token that a rule names in approvers"
	}
	return ""
}

// speakerStore is where it stands whose words led to an approval.
type speakerStore interface {
	Run(ctx context.Context, id sessions.RunID) (sessions.Run, error)
	Delivery(ctx context.Context, id ledger.DeliveryID) (ledger.Delivery, error)
}

// speakerOf is who spoke in the run that an approval is about; empty where no run, or no person, is known.
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

// Check gives a [*NotApproverError] if the one who decides may not: the terms alone count for people, for a named token
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

// TokenPrefix begins the user id of whoever speaks with a named token.
const TokenPrefix = "token:"

// TokenUser is the user id of whoever speaks with a named token.
func TokenUser(name string) sessions.UserID { return sessions.UserID(TokenPrefix + name) }

// Among gives the principals of owners and approvers that may decide alone and can be asked in a chat, those on the channel first.
func Among(owners []string, t sessions.Terms, channel string) []string {
	all := slices.Clone(owners)
	for _, list := range t.Approvers {
		all = append(all, list...)
	}
	var here, elsewhere []string
	for _, who := range all {
		switch on, id, _ := sessions.ParsePrincipal(who); {
		case strings.HasPrefix(string(id), TokenPrefix): // a token has no chat
		case !(Verdict{Actor: who, Owner: slices.Contains(owners, who)}).May(t):
		case on == channel:
			here = append(here, who)
		default:
			elsewhere = append(elsewhere, who)
		}
	}
	return append(here, elsewhere...)
}
