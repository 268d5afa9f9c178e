package storetest

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/router/ledger"
	"sluice/sessions"
)

// testDecidedQuestions: a question is decided when its approval and its pairing code are no longer open.
func testDecidedQuestions(t *testing.T, b *bundle) {
	asked := func(q ledger.Question, status ledger.DeliveryStatus) ledger.DeliveryID {
		d := newDelivery("c|x")
		d.Asks, d.Status = q, status
		b.commit(ledger.Change{Deliver: []ledger.Delivery{d}})
		return d.ID
	}
	decided := func(now int) (ids []ledger.DeliveryID) {
		found, err := b.DecidedQuestions(b.ctx, at(now), 10)
		require.NoError(t, err)
		for _, d := range found {
			ids = append(ids, d.ID)
		}
		return ids
	}
	p := newApproval("apr_1", "sess_1", "run_1", 1)
	pairing := ledger.Pairing{
		Channel: "telegram", Account: "default", User: sessions.Peer{ID: "5"}, Conversation: "5", Code: "ABC",
		Status: ledger.PairingPending, Created: start, Expires: at(60),
	}
	b.commit(ledger.Change{Ask: []ledger.Approval{p}, Pairings: []ledger.Pairing{pairing}})
	asked("", ledger.DeliverySent)
	approval := asked("apr_1", ledger.DeliverySent)
	code := asked("pair/ABC/telegram/default/5", ledger.DeliveryUnknown)
	waiting := asked("apr_1", ledger.DeliveryQueued)
	require.Empty(t, decided(1))
	require.Equal(t, []ledger.DeliveryID{code}, decided(60), "the code has expired")
	older := asked("pair/OLD/telegram/default/5", ledger.DeliverySent)
	require.Equal(t, []ledger.DeliveryID{older}, decided(1), "it was asked about another code")

	b.commit(ledger.Change{Retire: []ledger.DeliveryID{older}})
	require.Empty(t, decided(1))
	require.Empty(t, b.delivery(older).Asks)
	b.refuse(sessions.ErrConflict, ledger.Change{Retire: []ledger.DeliveryID{older}})
	b.refuse(sessions.ErrConflict, ledger.Change{Retire: []ledger.DeliveryID{"dlv_none"}})

	done := p
	done.Status = ledger.ApprovalAllowed
	b.commit(ledger.Change{Approvals: []ledger.ApprovalMove{{From: ledger.ApprovalPending, Approval: done}}})
	require.Equal(t, []ledger.DeliveryID{approval}, decided(1), "not %s, which is not sent yet", waiting)
	pairing.Status, pairing.Code = ledger.PairingApproved, ""
	b.commit(ledger.Change{Pairings: []ledger.Pairing{pairing}})
	require.Equal(t, []ledger.DeliveryID{approval, code}, decided(1))

	n := newNode("laptop-1", 1)
	n.Code, n.Expires = "XYZ", at(60)
	b.commit(ledger.Change{Nodes: []ledger.Node{n}, Retire: []ledger.DeliveryID{approval, code}})
	node := asked(n.Question(), ledger.DeliverySent)
	require.Empty(t, decided(1))
	require.Equal(t, []ledger.DeliveryID{node}, decided(60), "the code has expired")
	n.Revision, n.Code, n.Status = 2, "", ledger.NodeApproved
	b.commit(ledger.Change{Nodes: []ledger.Node{n}})
	require.Equal(t, []ledger.DeliveryID{node}, decided(1))
}
