package adaptertest

import (
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
)

var settling = []subtest{
	{"a lost answer is found again", findsLost},
	{"what never came can be sent again", findsNothing},
	{"each part of a delivery is found by itself", findsPart},
	{"the same delivery twice shows once", sameDelivery},
}

// lose sends into a fault with an unknown outcome and returns the message.
func (w *world) lose(kind FaultKind) (o adapters.Outbound, sentAt time.Time) {
	w.t.Helper()
	sentAt = time.Now()
	f := w.failed(w.t.Context(), Fault{Kind: kind})
	require.False(w.t, f.Certain)
	return out("dlv_1", w.Direct(), "hello"), sentAt
}

func findsLost(w *world) {
	reconciler := able[adapters.Reconciler](w)
	o, sentAt := w.lose(ResetAfter)
	receipt, ok, err := reconciler.Reconcile(w.t.Context(), o, sentAt)
	require.NoError(w.t, err)
	require.True(w.t, ok)
	require.Equal(w.t, w.shown(w.Direct(), 1)[0].ID, receipt.MessageID)
	require.False(w.t, receipt.At.IsZero())
}

func findsNothing(w *world) {
	reconciler := able[adapters.Reconciler](w)
	o, sentAt := w.lose(ResetBefore)
	_, ok, err := reconciler.Reconcile(w.t.Context(), o, sentAt)
	require.NoError(w.t, err)
	require.False(w.t, ok)
	again := w.send(o)
	require.Equal(w.t, w.shown(w.Direct(), 1)[0].ID, again.MessageID)
}

func findsPart(w *world) {
	reconciler := able[adapters.Reconciler](w)
	sentAt := time.Now()
	parts := []adapters.Outbound{out("dlv_1", w.Direct(), "same words"), out("dlv_1", w.Direct(), "same words"), out("dlv_1", w.Direct(), "same words")}
	var receipts []adapters.Receipt
	for i := range parts {
		parts[i].Part = i
		if i < 2 {
			receipts = append(receipts, w.send(parts[i]))
		}
	}
	for i, o := range parts {
		receipt, ok, err := reconciler.Reconcile(w.t.Context(), o, sentAt)
		require.NoError(w.t, err)
		require.Equal(w.t, i < 2, ok, "part %d", i)
		if ok {
			require.Equal(w.t, receipts[i].MessageID, receipt.MessageID)
		}
	}
}

func sameDelivery(w *world) {
	w.needs(w.limits.Dedupes, "way to tell that a message is the same")
	o := out("dlv_1", w.Direct(), "hello")
	if w.limits.Fails {
		o, _ = w.lose(ResetAfter)
	} else {
		w.send(o)
	}
	receipt := w.send(o)
	require.Equal(w.t, w.shown(w.Direct(), 1)[0].ID, receipt.MessageID)
}
