package router_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/spending"
	"sluice/policy/flow"
	"sluice/router/decider"
	"sluice/router/ledger"
	"sluice/sessions"
)

// spendingMore is an agent that needs 30 more than its budget of 100 has left, which is two fifths, and says so where the limit is not raised.
func spendingMore(b *bundle) *spending.Budget {
	budget := &spending.Budget{Name: "house", Scope: spending.ScopeGateway, Limit: 100, Unit: spending.Tokens, Per: spending.PerDay, AtLimit: spending.RuleAsk}
	b.agent.work = func(ctx context.Context, _ *sessions.Session, _ *sessions.Run) (string, error) {
		account := budget.Account("", time.Now())
		states, err := b.store.States(ctx, []spending.Account{account})
		if err != nil {
			return "", err
		}
		state := states[account.ID]
		if state.Extra >= 30 {
			return "done", nil
		}
		sentence, err := b.agent.approver.Raise(ctx, &spending.Reached{Budget: budget, Account: account, State: state, Need: 130, Short: 30})
		if err == nil {
			err = &sessions.WorkError{Status: sessions.RunFailed, Err: errors.New("no room"), Public: sentence}
		}
		return "", err
	}
	return budget
}

// The owner is asked with buttons, the run waits over a restart, and a yes raises the limit for the period.
func TestTheOwnerRaisesABudget(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]string{
		"allow": "done",
		"deny":  "My owner does not allow me a larger budget, so I stopped. The next period begins on January 2 at 00:00 UTC.",
	} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := &rich{chat: newChat(), buttons: 5}
				b := newBundle(t, func(b *bundle) { b.chat, b.adapter = r.chat, r })
				budget := spendingMore(b)
				heard := b.hear(in("owner", "1", "work"))
				b.await(1)
				synctest.Wait()
				p := b.onlyApproval(ledger.ApprovalPending)
				require.Equal(t, "May I have 40 tokens more for budget house today? What is left is not enough for what I am working on.\n\nNo answer within 10 minutes counts as a no.", b.chat.texts("owner")[0])
				require.Equal(t, []string{"+40 tokens today", "No"}, []string{r.sent[0].Buttons[0].Label, r.sent[0].Buttons[1].Label})
				b.restart()
				synctest.Wait()
				b.hear(in("owner", "2", "/approve "+string(p.ID)+" "+word))
				require.Equal(t, want, b.said(b.ended(heard.Run)))
				b.await(2)
				states, err := b.store.States(t.Context(), []spending.Account{budget.Account("", time.Now())})
				require.NoError(t, err)
				entry := b.entries("approval." + map[string]string{"allow": "allowed", "deny": "denied"}[word])[0]
				require.Contains(t, fmt.Sprintf("%s", entry.Detail), "40 tokens more for budget house today")
				if word == "allow" {
					require.Contains(t, b.chat.texts("owner"), "Allowed: 40 tokens more for budget house today.")
					require.EqualValues(t, 40, states[budget.Account("", time.Now()).ID].Extra)
					_, err := b.Approvals.DecideApproval(t.Context(), p.ID, decider.Verdict{Allow: true, Owner: true})
					require.ErrorContains(t, err, "is already allowed", "it is raised once")
					return
				}
				require.Empty(t, states)
				again := b.hear(in("owner", "3", "work again"))
				require.Equal(t, want, b.said(b.ended(again.Run)))
				require.Empty(t, b.approvals(ledger.ApprovalPending), "a no holds for the period")
			})
		})
	}
}

// said is what a run has told its person.
func (b *bundle) said(run sessions.Run) string {
	if run.Error != "" {
		return run.Error
	}
	return run.Reply
}

// Somebody else's run asks the owner in the owner's own chat. One question is open at a time, and nobody but an owner decides.
func TestABudgetOfOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		spendingMore(b)
		first := b.hear(in("ann", "1", "work"))
		b.await(1)
		synctest.Wait()
		require.Len(t, b.chat.texts("owner"), 1)
		second := b.hear(in("eve", "1", "work"))
		require.Equal(t, "My budget does not cover this. I have asked my owner for more; please try again when my owner has answered.", b.said(b.ended(second.Run)))
		p := b.onlyApproval(ledger.ApprovalPending)
		for name, v := range map[string]decider.Verdict{
			"a person": {Allow: true, Actor: "test:ann"},
			"a token":  {Allow: true, Actor: "webchat:token:ops", Token: &decider.Token{Principal: "webchat:token:ops", Level: flow.Restricted, Operator: true}},
		} {
			_, err := b.Approvals.DecideApproval(t.Context(), p.ID, v)
			_, refused := errors.AsType[*decider.NotApproverError](err)
			require.True(t, refused, name)
		}
		_, err := b.Approvals.DecideApproval(t.Context(), p.ID, decider.Verdict{Allow: true, Owner: true, Actor: "operator"})
		require.NoError(t, err)
		require.Equal(t, "done", b.said(b.ended(first.Run)))
		third := b.hear(in("eve", "2", "work"))
		require.Equal(t, "done", b.said(b.ended(third.Run)))
	})
}

// Without an answer in time the run ends. The next one asks again, a bounded number of times.
func TestNobodyRaisesABudget(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		spendingMore(b)
		for n := range 11 {
			begun := time.Now()
			said := b.said(b.ended(b.hear(in("owner", string(rune('a'+n)), "work")).Run))
			if n == 10 {
				require.Contains(t, said, "My budget does not cover this, so I stopped.")
				continue
			}
			require.Equal(t, "I asked my owner for a larger budget, and got no answer in time. Please try again later.", said)
			require.Equal(t, 10*time.Minute, time.Since(begun).Round(time.Second))
		}
		require.Len(t, b.approvals(ledger.ApprovalDenied), 10)
	})
}

// A question ends with the period: what would be raised later is another limit.
func TestAQuestionAboutABudgetEndsWithItsPeriod(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		budget := spendingMore(b)
		_, end := budget.Period(time.Now())
		time.Sleep(time.Until(end) - time.Minute)
		heard := b.hear(in("owner", "1", "work"))
		b.await(1)
		synctest.Wait()
		p := b.onlyApproval(ledger.ApprovalPending)
		require.Equal(t, end, p.Expires.UTC())
		time.Sleep(2 * time.Minute)
		_, err := b.Approvals.DecideApproval(t.Context(), p.ID, decider.Verdict{Allow: true, Owner: true})
		require.Error(t, err)
		synctest.Wait()
		run, err := b.store.Run(t.Context(), heard.Run)
		require.NoError(t, err)
		require.Equal(t, sessions.RunRunning, run.Status, "a new day, a new question")
		require.Len(t, b.approvals(ledger.ApprovalPending), 2, "the question of the old day ends with the run")
	})
}

// A run that is stopped while it waits asks no more, and its question ends.
func TestARunThatAsksForMoreIsStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		spendingMore(b)
		heard := b.hear(in("owner", "1", "work"))
		b.await(1)
		synctest.Wait()
		b.hear(in("owner", "2", "/stop"))
		require.Equal(t, sessions.RunAborted, b.ended(heard.Run).Status)
		p := b.onlyApproval(ledger.ApprovalDenied)
		require.Equal(t, ledger.ByGateway, p.By)
	})
}

// Where no owner has a chat, the run stops at once: nobody would see the question.
func TestABudgetWithNobodyToAsk(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, func(b *bundle) { b.settings.Owners = []string{"elsewhere:owner"} })
		spendingMore(b)
		begun := time.Now()
		said := b.said(b.ended(b.hear(in("ann", "1", "work")).Run))
		require.Equal(t, "My budget does not cover this, and I can't reach my owner to ask for more, so I stopped. My owner can raise the limit in `budgets`. The next period begins on January 2 at 00:00 UTC.", said)
		require.Less(t, time.Since(begun), time.Minute)
		require.Empty(t, b.approvals(ledger.ApprovalPending))
	})
}

// Without an owner on the channel, one is asked on another.
func TestTheOwnerIsAskedOnAnotherChannel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, func(b *bundle) {
			b.settings.Owners = []string{"other:owner"}
			b.settings.Channels["other"] = b.settings.Channels["test"]
		})
		spendingMore(b)
		heard := b.hear(in("ann", "1", "work"))
		b.await(1)
		synctest.Wait()
		require.Contains(t, b.chat.texts("owner")[0], "May I have 40 tokens more for budget house today?")
		p := b.onlyApproval(ledger.ApprovalPending)
		_, err := b.Approvals.DecideApproval(t.Context(), p.ID, decider.Verdict{Allow: true, Owner: true, Actor: "operator"})
		require.NoError(t, err)
		require.Equal(t, "done", b.said(b.ended(heard.Run)))
	})
}
