package router_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/router/decider"
	"sluice/router/inbound"
	"sluice/router/ledger"
	"sluice/sessions"
)

// byToken is a decision with the named token ops of the API.
func byToken(level flow.Level) decider.Verdict {
	return decider.Verdict{Actor: "token:ops", Token: &decider.Token{Principal: "test:token:ops", Level: level, Operator: true}}
}

// A named token decides up to its level about questions of anyone. The approval, the audit trail and the answer name it.
func TestATokenDecidesUpToItsLevel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		askingOn(b, sessions.Terms{Level: flow.Confidential})
		heard := b.hear(in("owner", "1", "clean up"))
		synctest.Wait()
		p := b.onlyApproval(ledger.ApprovalPending)
		v := byToken(flow.Internal)
		v.Allow = true
		_, err := b.Approvals.DecideApproval(t.Context(), p.ID, v)
		var left *decider.NotApproverError
		require.ErrorAs(t, err, &left)
		require.EqualError(t, err, "token:ops may not decide about this: approval could let the conversation learn or send information above INTERNAL, the highest level that the token may see")
		require.Equal(t, ledger.ApprovalPending, b.onlyApproval(ledger.ApprovalPending).Status)

		p, err = b.Approvals.DecideApproval(t.Context(), p.ID, byToken(flow.Confidential))
		require.NoError(t, err)
		require.Equal(t, "token:ops", p.By)
		require.Equal(t, "token:ops", b.entries("approval.denied")[0].Actor)
		require.Equal(t, "call_1 false an operator denied it", b.ended(heard.Run).Reply)
	})
}

// What the bearer of a token has led to, it decides about neither over the API nor by what it types, also where a rule names it.
func TestATokenDecidesNothingThatItHasLedTo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		askingOn(b, sessions.Terms{Level: flow.Public, Approvers: [][]string{{"test:token:ops", "test:eve"}}})
		b.hear(in("token:ops", "1", "clean up"))
		synctest.Wait()
		p := b.onlyApproval(ledger.ApprovalPending)
		v := byToken(flow.Restricted)
		v.Allow = true
		_, err := b.Approvals.DecideApproval(t.Context(), p.ID, v)
		require.ErrorContains(t, err, "its own message led to the request")
		typed, err := b.Intake.Admit(t.Context(), inbound.Admission{Inbound: in("token:ops", "2", "/approve "+string(p.ID)+" allow"), Token: v.Token})
		require.NoError(t, err)
		require.Equal(t, "Only an owner can use /approve.", typed.Notice)
		require.Equal(t, p.ID, b.onlyApproval(ledger.ApprovalPending).ID)
	})
}

// To discard a message that is held is to deny it: a token discards only what it may decide about.
func TestATokenDiscardsWhatItMayDecideAbout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, judged(t, anywhere(), asks(nil)))
		b.hear(in("token:ops", "1", "the plan"))
		synctest.Wait()
		p := b.waiting()
		_, err := b.DiscardDelivery(t.Context(), p.Delivery, byToken(flow.Restricted))
		require.ErrorContains(t, err, "its own message led to the request")
		require.Equal(t, ledger.ApprovalPending, b.waiting().Status)
		_, err = b.DiscardDelivery(t.Context(), p.Delivery, decider.Verdict{Actor: "operator", Owner: true})
		require.NoError(t, err)
		require.Equal(t, "operator", b.entries("delivery.discard")[0].Actor)
	})
}

// The audit trail names who stopped a session.
func TestWhoStopsASessionIsRecorded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		heard := b.hear(in("owner", "1", "hello"))
		synctest.Wait()
		require.NoError(t, b.AbortSession(t.Context(), heard.Session, "token:ops"))
		require.Equal(t, "token:ops", b.entries("session.stop")[0].Actor)
	})
}
