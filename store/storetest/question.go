package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/router"
	"sluice/sessions"
)

// testDecidedQuestions: a question is decided when neither its approval nor the code of its pairing is open any more.
func testDecidedQuestions(t *testing.T, b *bundle) {
	asked := func(q router.Question, status router.DeliveryStatus) router.DeliveryID {
		d := newDelivery("c|x")
		d.Asks, d.Status = q, status
		b.commit(router.Change{Deliver: []router.Delivery{d}})
		return d.ID
	}
	decided := func(now int) (ids []router.DeliveryID) {
		found, err := b.DecidedQuestions(b.ctx, at(now), 10)
		require.NoError(t, err)
		for _, d := range found {
			ids = append(ids, d.ID)
		}
		return ids
	}
	p := newApproval("apr_1", "sess_1", "run_1", 1)
	pairing := router.Pairing{
		Channel: "telegram", Account: "default", User: sessions.Peer{ID: "5"}, Conversation: "5", Code: "ABC",
		Status: router.PairingPending, Created: start, Expires: at(60),
	}
	b.commit(router.Change{Ask: []router.Approval{p}, Pairings: []router.Pairing{pairing}})
	asked("", router.DeliverySent)
	approval := asked("apr_1", router.DeliverySent)
	code := asked("pair/ABC/telegram/default/5", router.DeliveryUnknown)
	waiting := asked("apr_1", router.DeliveryQueued)
	require.Empty(t, decided(1))
	require.Equal(t, []router.DeliveryID{code}, decided(60), "the code has expired")
	older := asked("pair/OLD/telegram/default/5", router.DeliverySent)
	require.Equal(t, []router.DeliveryID{older}, decided(1), "it was asked about another code")

	b.commit(router.Change{Retire: []router.DeliveryID{older}})
	require.Empty(t, decided(1))
	require.Empty(t, b.delivery(older).Asks)
	b.refuse(sessions.ErrConflict, router.Change{Retire: []router.DeliveryID{older}})
	b.refuse(sessions.ErrConflict, router.Change{Retire: []router.DeliveryID{"dlv_none"}})

	done := p
	done.Status = router.ApprovalAllowed
	b.commit(router.Change{Approvals: []router.ApprovalMove{{From: router.ApprovalPending, Approval: done}}})
	require.Equal(t, []router.DeliveryID{approval}, decided(1), "not %s, which is not sent yet", waiting)
	pairing.Status, pairing.Code = router.PairingApproved, ""
	b.commit(router.Change{Pairings: []router.Pairing{pairing}})
	require.Equal(t, []router.DeliveryID{approval, code}, decided(1))
}
