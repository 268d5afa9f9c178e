package router_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/decider"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/sessions"
)

// asks holds what has the word plan in it.
func asks(more func(*policy.Rule)) policy.Rule {
	r := policy.Rule{Name: "plans", Hook: policy.PreOutput, When: `text.contains("plan") && output.to != "owner"`, Action: policy.Hold, Message: "it is about plans"}
	if more != nil {
		more(&r)
	}
	return r
}

// waiting is the approval that waits; there has to be one.
func (b *bundle) waiting() ledger.Approval {
	b.t.Helper()
	found, err := b.store.ListApprovals(context.Background(), ledger.Query{Status: string(ledger.ApprovalPending), MaxLevel: flow.Restricted})
	require.NoError(b.t, err)
	require.Len(b.t, found, 1)
	return found[0]
}

func TestAHeldMessageWaitsForAnOwner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, judged(t, anywhere(), asks(nil), cards()))
		_, err := b.Sender.Send(t.Context(), outbound.Proactive{Channel: "test", To: "team", ChatType: sessions.Group, Text: "the plan: " + card})
		require.NoError(t, err)
		_, err = b.Sender.Send(t.Context(), outbound.Proactive{Channel: "test", To: "team", ChatType: sessions.Group, Text: "hello"})
		require.NoError(t, err)
		synctest.Wait()
		require.Equal(t, []string{"hello"}, b.chat.texts("team"), "those behind it go on, and the question is not asked there")
		p := b.waiting()
		require.Equal(t, b.deliveries(ledger.DeliveryHeld)[0].ID, p.Delivery)
		require.Equal(t, "it is about plans", p.Why)
		question := b.last("owner")
		require.Contains(t, question, "May I send a message to test `team`? it is about plans.")
		require.Contains(t, question, "the plan: [redacted]")
		require.Contains(t, question, "/approve "+string(p.ID)+" allow")

		b.restart()
		b.hear(in("ann", "1", "/approve "+string(p.ID)+" allow"))
		synctest.Wait()
		require.Len(t, b.chat.texts("team"), 1, "not everybody may")
		b.hear(in("owner", "2", "/approve "+string(p.ID)+" allow"))
		synctest.Wait()
		require.Contains(t, b.last("owner"), "Allowed: I will send it.")
		require.Equal(t, []string{"hello", "the plan: [redacted]"}, b.chat.texts("team"))
		require.Empty(t, b.deliveries(ledger.DeliveryHeld))
		d := b.deliveries(ledger.DeliverySent)[0]
		require.Equal(t, policy.Redact, d.Decision.Action)
		require.Contains(t, d.Decision.Reason, "allowed by test:owner")
		require.Contains(t, b.decided(), "hold")
	})
}

func TestADeniedMessageIsBlocked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, judged(t, anywhere(), asks(nil)))
		b.hear(in("ann", "1", "the plan"))
		synctest.Wait()
		first := b.waiting()
		require.Empty(t, b.chat.texts("ann"), "the question is not asked where others read")
		_, err := b.Approvals.DecideApproval(t.Context(), first.ID, decider.Verdict{Actor: "test:owner", Owner: true, Reason: flow.NewText("not yet", flow.Bottom())})
		require.NoError(t, err)
		synctest.Wait()
		blocked := b.deliveries(ledger.DeliveryBlocked)
		require.Len(t, blocked, 1)
		require.Equal(t, "the owner denied it: not yet", blocked[0].LastError)
		require.Contains(t, b.last("ann"), "I am not allowed to send it in this conversation")

		_, err = b.RetryDelivery(t.Context(), blocked[0].ID, "operator")
		require.NoError(t, err)
		synctest.Wait()
		second := b.waiting()
		require.NotEqual(t, first.ID, second.ID, "tried again, it is asked about again")
		_, err = b.DiscardDelivery(t.Context(), blocked[0].ID, decider.Verdict{Actor: "operator", Owner: true})
		require.NoError(t, err)
		_, err = b.Approvals.DecideApproval(t.Context(), second.ID, decider.Verdict{Allow: true, Actor: "test:owner", Owner: true})
		require.ErrorContains(t, err, "is already denied")
		require.Empty(t, b.approvals(ledger.ApprovalPending), "nobody is to decide about what is gone")
	})
}

func TestNoDecisionInTime(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rule   func(*policy.Rule)
		life   time.Duration
		status ledger.DeliveryStatus
	}{
		"blocks":            {func(r *policy.Rule) { r.Timeout = time.Minute }, 24 * time.Hour, ledger.DeliveryBlocked},
		"allows":            {func(r *policy.Rule) { r.OnTimeout = policy.Allow }, 24 * time.Hour, ledger.DeliverySent},
		"its life is over":  {func(r *policy.Rule) { r.OnTimeout, r.Timeout = policy.Allow, time.Hour }, time.Minute, ledger.DeliveryExpired},
		"it is still asked": {func(r *policy.Rule) { r.Timeout = 5 * time.Hour }, 24 * time.Hour, ledger.DeliveryHeld},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBundle(t, judged(t, anywhere(), asks(c.rule)), func(b *bundle) { b.settings.DeliveryLife = c.life })
				d, err := b.Sender.Send(t.Context(), outbound.Proactive{Channel: "test", To: "ann", Text: "the plan"})
				require.NoError(t, err)
				time.Sleep(3 * time.Hour) // the sweeper looks once an hour here
				synctest.Wait()
				stored, err := b.store.Delivery(t.Context(), d.ID)
				require.NoError(t, err)
				require.Equal(t, c.status, stored.Status, stored.LastError)
			})
		})
	}
}

// The question contains no more than its place may receive. There is no question about a question.
func TestTheQuestionAboutAHeldMessageIsGatedToo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sink := anywhere()
		sink.Recipients = map[string]flow.Level{"owner": flow.Public}
		b := newBundle(t, judged(t, sink, asks(nil)))
		secret := flow.NewLabel(flow.Confidential, flow.Trusted)
		b.hear(in("ann", "1", "hi"))
		_, err := b.Sender.Send(t.Context(), outbound.Proactive{Channel: "test", To: "chat-ann", Text: "the plan", Label: secret})
		require.NoError(t, err)
		synctest.Wait()
		p := b.waiting()
		require.Equal(t, []string{"policy.rules.plans"}, p.Terms.Rules)
		require.Contains(t, b.last("owner"), "It can't be shown here: `sluice approvals show "+string(p.ID)+"` shows it.")
		require.NotContains(t, b.last("owner"), "the plan")
	})
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, judged(t, anywhere(), policy.Rule{Name: "all", Hook: policy.PreOutput, Action: policy.Hold}))
		_, err := b.Sender.Send(t.Context(), outbound.Proactive{Channel: "test", To: "ann", Text: "the plan"})
		require.NoError(t, err)
		synctest.Wait()
		require.Empty(t, b.chat.texts(""))
		require.Len(t, b.deliveries(ledger.DeliveryHeld), 1)
		require.NotEmpty(t, b.waiting().ID, "it is listed")
	})
}

func TestOthersMayApproveWhereARuleSaysSo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, judged(t, anywhere(), asks(func(r *policy.Rule) { r.Approvers = []string{"test:eve"}; r.When = `output.to == "ann"` })))
		_, err := b.Sender.Send(t.Context(), outbound.Proactive{Channel: "test", To: "ann", Text: "the plan"})
		require.NoError(t, err)
		synctest.Wait()
		require.Len(t, b.chat.texts("eve"), 1)
		b.hear(in("owner", "1", "/approve "+string(b.waiting().ID)+" allow"))
		synctest.Wait()
		require.Empty(t, b.chat.texts("ann"), "the owner is not named")
		b.hear(in("eve", "1", "/approve "+string(b.waiting().ID)+" allow"))
		synctest.Wait()
		require.Equal(t, []string{"the plan"}, b.chat.texts("ann"))
	})
}

// Who is told that something was decided finds it decided, also where others changed the rows in the meantime.
func TestADecisionThatMeetsAnotherChangeIsStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, judged(t, anywhere(), asks(nil)), func(b *bundle) { b.dying = &dying{} })
		_, err := b.Sender.Send(t.Context(), outbound.Proactive{Channel: "test", To: "ann", Text: "the plan"})
		require.NoError(t, err)
		synctest.Wait()
		yes := decider.Verdict{Allow: true, Actor: "test:owner", Owner: true}
		b.dying.busy = 1000
		_, err = b.Approvals.DecideApproval(t.Context(), b.waiting().ID, yes)
		require.ErrorIs(t, err, sessions.ErrConflict)
		b.dying.busy = 1
		_, err = b.Approvals.DecideApproval(t.Context(), b.waiting().ID, yes)
		require.NoError(t, err)
		require.Len(t, b.approvals(ledger.ApprovalAllowed), 1)
		synctest.Wait()
		require.Equal(t, []string{"the plan"}, b.chat.texts("ann"))
	})
}

// Who is asked is shown what is sent: what a rule takes out of several pieces at once it takes out of none of them.
func TestAHeldMessageIsShownAsItIsSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, judged(t, anywhere(), asks(nil), policy.Rule{Name: "keys", Hook: policy.PreOutput, Action: policy.Redact, Redact: `(?s)BEGIN.*END`}))
		_, err := b.Sender.Send(t.Context(), outbound.Proactive{
			Channel: "test", To: "team", ChatType: sessions.Group, Text: "BEGIN the plan: pay bob", Buttons: []adapters.Button{{Label: "yes", Value: "END"}},
		})
		require.NoError(t, err)
		synctest.Wait()
		p := b.waiting()
		require.Contains(t, b.last("owner"), "It can't be shown here: `sluice approvals show "+string(p.ID)+"` shows it.", "a rule would take it out of the question, though not out of the message")
		require.Contains(t, string(p.Args), "pay bob")
		_, err = b.Approvals.DecideApproval(t.Context(), p.ID, decider.Verdict{Allow: true, Actor: "test:owner", Owner: true})
		require.NoError(t, err)
		synctest.Wait()
		require.Contains(t, b.chat.texts("team")[0], "pay bob")
	})
}
