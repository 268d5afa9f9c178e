package router

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

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
		return "its role is reader; gateway.tokens in the configuration says so"
	case !p.Label.FlowsTo(t.Level), !flow.CanFlow(p.Terms.Level, t.Level):
		return fmt.Sprintf("a yes may let the conversation learn or tell what is above %s, the most that the token may see", t.Level)
	case slices.ContainsFunc(p.Terms.Approvers, func(list []string) bool { return len(list) > 0 && !slices.Contains(list, t.Principal) }):
		return leftTo(p.Terms)
	case speaker == t.Principal:
		return "its own words led to it"
	case p.Label.Trust() != flow.Trusted && (!named || speaker == ""):
		return "words that the owner did not say may have led to it, the token's own among them; the owner decides, or a token that a rule names in approvers"
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

// mayDecide is a [NotApproverError] where who decides may not: people by the terms alone, a named token as [Token.refusal] says.
func mayDecide(ctx context.Context, store speakerStore, v Verdict, p ledger.Approval) error {
	if v.Token == nil {
		if !v.may(p.Terms) {
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

// decider is who gives a chat command, as one who decides. A token is one also where its bearer speaks in a chat.
func decider(in Admission, owner bool) Verdict {
	return Verdict{Actor: in.speaker(), Owner: owner && in.Token == nil, Token: in.Token}
}

// tokenUser begins the user id of whoever speaks with a named token.
const tokenUser = "token:"

// TokenUser is the user id of whoever speaks with a named token.
func TokenUser(name string) sessions.UserID { return sessions.UserID(tokenUser + name) }
