package router_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/sessions"
)

// nonced is a platform that knows for some time what was posted, also what was deleted since: posted again, it is the old message.
type nonced struct {
	editable
	posted map[string]adapters.Receipt
}

func (n *nonced) Send(ctx context.Context, out adapters.Outbound) (adapters.Receipt, error) {
	name := fmt.Sprint(out.DeliveryID, out.Part)
	if old, ok := n.posted[name]; ok {
		return old, nil
	}
	receipt, err := n.editable.Send(ctx, out)
	n.posted[name] = receipt
	return receipt, err
}

// Somebody deletes the beginning of an answer while it is written: the answer is said all the same.
func TestPreviewIsDeletedByAPerson(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, func(b *bundle) { b.adapter = &nonced{editable{b.chat}, map[string]adapters.Receipt{}} })
		b.agent.answer = func(_ context.Context, _ string, emit func(sessions.Event)) (string, error) {
			emit(sessions.Event{Type: sessions.EventDelta, Text: "the beginning of a long answer"})
			time.Sleep(2 * time.Second)
			b.chat.mu.Lock()
			b.chat.said = nil
			b.chat.mu.Unlock()
			return "the beginning of a long answer and its end", nil
		}
		b.ended(b.hear(in("ann", "1", "hello")).Run)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, []string{"the beginning of a long answer and its end"}, b.chat.texts("ann"))
	})
}
