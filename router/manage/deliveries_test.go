package manage_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/router/decider"
	"sluice/router/ledger"
	"sluice/router/manage"
	"sluice/router/place"
	"sluice/router/request"
	"sluice/sessions"
)

var now = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

// one is a store with one delivery, which notes what is committed.
type one struct {
	delivery  ledger.Delivery
	committed []ledger.Change
}

func (o *one) Delivery(_ context.Context, id ledger.DeliveryID) (ledger.Delivery, error) {
	if id != o.delivery.ID {
		return ledger.Delivery{}, sessions.ErrNotFound
	}
	return o.delivery, nil
}

func (o *one) Run(context.Context, sessions.RunID) (sessions.Run, error) {
	return sessions.Run{}, sessions.ErrNotFound
}

func (o *one) Commit(_ context.Context, c ledger.Change) error {
	o.committed = append(o.committed, c)
	return nil
}

// over manages a delivery of a status.
func over(status ledger.DeliveryStatus, change func(*ledger.Delivery)) (*manage.Deliveries, *one) {
	o := &one{delivery: ledger.Delivery{ID: "d", Status: status, Created: now.Add(-time.Minute), Finished: now, LastError: "x", Epoch: 7, Label: flow.Bottom()}}
	if change != nil {
		change(&o.delivery)
	}
	return &manage.Deliveries{
		Store: o, Lanes: o, Settings: func() *place.Settings { return &place.Settings{DeliveryLife: time.Hour} }, Now: func() time.Time { return now },
		ApprovalOf: func(context.Context, ledger.Delivery) (ledger.Approval, error) {
			return ledger.Approval{ID: "a", Status: ledger.ApprovalPending}, nil
		},
	}, o
}

var statuses = []ledger.DeliveryStatus{
	ledger.DeliveryQueued, ledger.DeliverySending, ledger.DeliverySent, ledger.DeliveryFailed, ledger.DeliveryUnknown, ledger.DeliveryBlocked,
	ledger.DeliveryExpired, ledger.DeliveryDiscarded, ledger.DeliveryHeld, ledger.DeliveryPreview,
}

func TestWhichDeliveriesAreSentAgain(t *testing.T) {
	t.Parallel()
	again := []ledger.DeliveryStatus{ledger.DeliveryQueued, ledger.DeliveryFailed, ledger.DeliveryUnknown, ledger.DeliveryBlocked, ledger.DeliveryExpired}
	for _, status := range statuses {
		d, o := over(status, nil)
		got, err := d.RetryDelivery(t.Context(), "d", "ann")
		if !slices.Contains(again, status) {
			require.ErrorContains(t, err, "only failed, unknown, blocked, expired and queued", status)
			require.Empty(t, o.committed, status)
			continue
		}
		require.NoError(t, err, status)
		require.Equal(t, ledger.DeliveryQueued, got.Status, status)
		require.Equal(t, now.Add(time.Hour), got.Expires, status)
		require.Equal(t, now, got.NextTry, status)
		require.Zero(t, got.Finished, status)
		require.Empty(t, got.LastError, status)
		require.Zero(t, got.Epoch, status)
		require.Len(t, o.committed, 1, status)
		require.Equal(t, []ledger.DeliveryMove{{From: status, Delivery: got}}, o.committed[0].Deliveries, status)
		require.Equal(t, "delivery.retry", o.committed[0].Audit[0].Action, status)
		require.Equal(t, "ann", o.committed[0].Audit[0].Actor, status)
	}
	d, _ := over(ledger.DeliveryFailed, nil)
	_, err := d.RetryDelivery(t.Context(), "other", "ann")
	require.ErrorIs(t, err, sessions.ErrNotFound)
}

// An answer for one person is sent again only while the platform accepts it as such.
func TestAnAnswerForOnePersonIsSentAgainInTime(t *testing.T) {
	t.Parallel()
	private := func(age time.Duration) func(*ledger.Delivery) {
		return func(d *ledger.Delivery) { d.Route.Handle, d.Created = "h", now.Add(-age) }
	}
	d, _ := over(ledger.DeliveryFailed, private(14*time.Minute))
	got, err := d.RetryDelivery(t.Context(), "d", "ann")
	require.NoError(t, err)
	require.Equal(t, now.Add(time.Minute), got.Expires)
	d, o := over(ledger.DeliveryFailed, private(15*time.Minute))
	_, err = d.RetryDelivery(t.Context(), "d", "ann")
	_, wrong := errors.AsType[*request.Error](err)
	require.True(t, wrong, "%v", err)
	require.Empty(t, o.committed)
}

func TestWhichDeliveriesAreDiscarded(t *testing.T) {
	t.Parallel()
	owner := decider.Verdict{Actor: "owner", Owner: true}
	for _, status := range statuses {
		d, o := over(status, nil)
		got, err := d.DiscardDelivery(t.Context(), "d", owner)
		if slices.Contains([]ledger.DeliveryStatus{ledger.DeliverySent, ledger.DeliverySending, ledger.DeliveryPreview, ledger.DeliveryDiscarded}, status) {
			require.ErrorContains(t, err, "can't be discarded", status)
			require.Empty(t, o.committed, status)
			continue
		}
		require.NoError(t, err, status)
		require.Equal(t, ledger.DeliveryDiscarded, got.Status, status)
		require.Equal(t, now, got.Finished, status)
		require.Len(t, o.committed, 1, status)
		if status != ledger.DeliveryHeld {
			require.Empty(t, o.committed[0].Approvals, status)
			continue
		}
		require.Len(t, o.committed[0].Approvals, 1, "a held delivery is denied")
		require.Equal(t, ledger.ApprovalDenied, o.committed[0].Approvals[0].Approval.Status)
	}
}

func TestOnlyAnApproverDiscardsAHeldDelivery(t *testing.T) {
	t.Parallel()
	d, o := over(ledger.DeliveryHeld, nil)
	_, err := d.DiscardDelivery(t.Context(), "d", decider.Verdict{Actor: "telegram:7"})
	_, refused := errors.AsType[*decider.NotApproverError](err)
	require.True(t, refused, "%v", err)
	require.Empty(t, o.committed)
}
