package approvals

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"sluice/internal/spending"
	"sluice/policy"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/router/work"
	"sluice/sessions"
)

const (
	// raiseAsksMax is how often an owner is asked about one limit if the answer does not come in time.
	raiseAsksMax = 10
	// raiseTool takes the place of a tool's name. No tool can have it.
	raiseTool = "a larger budget"
)

// Raise implements [work.Approver]. One question is open for each limit: a run of another session does not wait for its answer.
func (a *calls) Raise(ctx context.Context, reached *spending.Reached) (string, error) {
	raise, ask := reached.Raise()
	if !ask {
		return reached.Public(), nil
	}
	for n := range raiseAsksMax {
		id := ledger.ApprovalIDOf("budget", raise.Account.ID, strconv.FormatInt(reached.State.Extra, 10), strconv.Itoa(n))
		p, err := a.by.Store.Approval(ctx, id)
		switch {
		case errors.Is(err, sessions.ErrNotFound):
			route, err := a.whereToAsk(ctx)
			if err != nil {
				return "", err
			}
			if route.IsZero() {
				return "My budget does not cover this, and I can't reach my owner to ask for more, so I stopped. My owner can raise the limit in `budgets`." + next(reached), nil
			}
			return "", a.askForMore(ctx, a.newRaise(id, raise), route)
		case err != nil:
			return "", fmt.Errorf("read approval: %w", err)
		case p.Status == ledger.ApprovalPending && !p.Expires.After(a.by.Now()):
			if err := a.expire(ctx, p); err != nil {
				return "", err
			}
			if p.Run == a.run.ID {
				return "I asked my owner for a larger budget, and got no answer in time. Please try again later.", nil
			}
		case p.Status == ledger.ApprovalPending && p.Run == a.run.ID:
			return "", awaiting(p, a.by.Now())
		case p.Status == ledger.ApprovalPending:
			return "My budget does not cover this. I have asked my owner for more; please try again when my owner has answered.", nil
		case p.Status == ledger.ApprovalAllowed:
			return "", &work.AwaitedError{AtMost: time.Millisecond} // since the call was refused: the run goes on at once
		case p.By != ledger.ByGateway:
			return "My owner does not allow me a larger budget, so I stopped." + next(reached), nil
		}
	}
	return reached.Public(), nil
}

// next says when the next period begins, if there is one.
func next(reached *spending.Reached) string {
	if reached.Account.End.IsZero() {
		return ""
	}
	return " The next period begins on " + spending.Instant(reached.Account.End) + "."
}

func awaiting(p ledger.Approval, now time.Time) error {
	return &work.AwaitedError{AtMost: max(p.Expires.Sub(now), time.Millisecond)}
}

// expire stores that nobody has answered in time.
func (a *calls) expire(ctx context.Context, p ledger.Approval) error {
	reason, now := ledger.GatewaySays(ledger.TooLate), a.by.Now()
	err := a.by.Lanes.Commit(ctx, ledger.Change{
		Approvals: []ledger.ApprovalMove{p.Move(ledger.ApprovalDenied, reason, ledger.ByGateway, now)},
		Change:    sessions.Change{Audit: []sessions.AuditEntry{p.AuditEntry(ledger.ApprovalDenied, ledger.ByGateway, reason, now)}},
	})
	if err != nil {
		return fmt.Errorf("store approval: %w", err)
	}
	return nil
}

func (a *calls) newRaise(id ledger.ApprovalID, raise spending.Raise) ledger.Approval {
	now := a.by.Now()
	expires := now.Add(policy.ApprovalTimeout)
	if end := raise.Account.End; !end.IsZero() && end.Before(expires) {
		expires = end
	}
	args, _ := json.Marshal(map[string]string{"budget": raise.Account.Budget, "more": raise.Shown, "when": raise.When}) // texts always marshal
	return ledger.Approval{
		ID: id, Session: a.run.Session, Run: a.run.ID, Agent: a.record.Agent, Channel: a.place().Channel, Tool: raiseTool, Args: args, Why: "what is left of the budget is not enough for the next model call",
		Terms: sessions.Terms{Raise: &raise}, Label: a.session.Taint(), Status: ledger.ApprovalPending, Created: now, Expires: expires,
	}
}

// whereToAsk is the conversation in which an owner is asked: the run's if an owner has caused it in a direct chat, else an owner's
// direct chat on the same channel, else one on another channel. It is zero if no owner can be asked: nobody would see the question,
// and the run would wait for nothing.
func (a *calls) whereToAsk(ctx context.Context) (sessions.Route, error) {
	near := a.place()
	if near.ChatType == sessions.Direct && a.run.Input.Owner {
		return near, nil
	}
	route, failed := a.ownersChat(ctx, near)
	for _, channel := range slices.Sorted(maps.Keys(a.by.Composer.Settings().Channels)) {
		if channel == near.Channel || !route.IsZero() {
			continue
		}
		var err error
		route, err = a.ownersChat(ctx, sessions.Route{Channel: channel})
		failed = errors.Join(failed, err)
	}
	if !route.IsZero() {
		return route, nil
	}
	return route, failed
}

// askForMore stores the question and sends it to an owner. It names only the budget, so it has the label of the gateway's own
// texts.
func (a *calls) askForMore(ctx context.Context, p ledger.Approval, route sessions.Route) error {
	raise := p.Terms.Raise
	d := a.by.Composer.Notice(route, fmt.Sprintf("May I have %s? What is left is not enough for what I am working on.\n\n%s", raise, outbound.SilenceMeans(p)))
	d.Session, d.Run = p.Session, p.Run
	d.AskAbout(p)
	d.Answers("+"+raise.Shown+" "+raise.When, "No")
	err := a.by.Lanes.Commit(ctx, ledger.Change{Ask: []ledger.Approval{p}, Deliver: []ledger.Delivery{d}})
	switch {
	case errors.Is(err, sessions.ErrDuplicate): // another run has asked at the same moment: look again
		return &work.AwaitedError{AtMost: time.Millisecond}
	case err != nil:
		return fmt.Errorf("ask for a larger budget: %w", err)
	}
	return awaiting(p, a.by.Now())
}
