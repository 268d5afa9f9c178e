package router_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store/storetest"
)

// notice is a delivery that somebody else queues in ann's chat.
func notice(text string) ledger.Delivery {
	lane := in("ann", "1", "").Route.Lane()
	return ledger.Delivery{
		ID: ledger.NewDeliveryID(), Lane: lane, Partition: lane.Partition(partitions), Kind: ledger.KindNotice, Route: in("ann", "1", "").Route.Place(),
		Text: text, Label: flow.Bottom(), Status: ledger.DeliveryQueued, Created: time.Now(), NextTry: time.Now(), Expires: time.Now().Add(time.Hour),
	}
}

// An answer's intent is stored when the platform is called, and so is the end of its run.
func TestAnAnswerIsStoredWithItsIntent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		b.chat.fail = func(adapters.Outbound, int) error {
			sending := b.deliveries(ledger.DeliverySending)
			require.Len(t, sending, 1)
			require.True(t, sending[0].Decision.Passes())
			run, err := b.store.Run(context.Background(), sending[0].Run)
			require.NoError(t, err)
			require.Equal(t, sessions.RunDone, run.Status)
			return nil
		}
		b.hear(in("ann", "1", "hi"))
		b.await(1)
		synctest.Wait()
		sent := b.deliveries(ledger.DeliverySent)
		require.Len(t, sent, 1)
		require.Positive(t, sent[0].Epoch)
		require.Equal(t, 1, b.decisions("delivery.allow"))
	})
}

// Something that was queued before an answer is sent before it, even if nobody was told of it.
func TestAnAnswerWaitsItsTurn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		release := b.busy()
		b.hear(in("ann", "1", "hi"))
		synctest.Wait()
		require.NoError(t, b.store.Commit(t.Context(), ledger.Change{Deliver: []ledger.Delivery{notice("first")}}))
		release()
		b.await(2)
		require.Equal(t, []string{"first", "echo: hi"}, b.chat.texts("ann"))
		b.hear(in("ann", "2", "again"))
		b.await(1)
		require.Equal(t, []string{"first", "echo: hi", "echo: again"}, b.chat.texts("ann"))
		synctest.Wait()
		require.Equal(t, 3, b.decisions("delivery.allow"), "each was judged once for the audit trail")
	})
}

// An answer waits behind a message that is being sent.
func TestAnAnswerWaitsForWhatIsBeingSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		release := b.busy()
		b.hear(in("ann", "1", "hi"))
		b.chat.fail = func(_ adapters.Outbound, n int) error {
			if n == 0 {
				return &adapters.Failure{Kind: adapters.RateLimited, RetryAfter: time.Minute, Certain: true}
			}
			return nil
		}
		require.NoError(t, b.Owner().Commit(t.Context(), ledger.Change{Deliver: []ledger.Delivery{notice("first")}}))
		synctest.Wait()
		release()
		synctest.Wait()
		require.Len(t, b.deliveries(ledger.DeliveryQueued), 2)
		b.await(2)
		require.Equal(t, []string{"first", "echo: hi"}, b.chat.texts("ann"))
	})
}

// An answer whose conversation another replica has taken over is queued for that replica.
func TestAnAnswerOfAConversationThatMoved(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		session := b.hear(in("ann", "1", "hi")).Session
		b.await(1)
		release := b.busy()
		other := in("ann", "2", "hi") // in another chat of the same session, whose partition is another one
		home := sessions.SessionLane(session).Partition(partitions)
		to := home
		for n := 0; to == home; n++ {
			other.Route.Conversation = sessions.ConversationID(fmt.Sprint("chat", n))
			to = other.Route.Lane().Partition(partitions)
		}
		got := b.hear(other)
		require.Equal(t, session, got.Session)
		synctest.Wait()
		storetest.Take(t, b.store, to, "rival")
		release()
		require.Equal(t, sessions.RunDone, b.ended(got.Run).Status)
		synctest.Wait()
		queued := b.deliveries(ledger.DeliveryQueued)
		require.NotEmpty(t, queued)
		for _, d := range queued {
			require.Equal(t, to, d.Partition)
			require.Zero(t, d.Epoch)
		}
		require.Empty(t, b.deliveries(ledger.DeliverySending))
	})
}

// A rule about what the session has learnt sees what it has learnt in this very run, though that is stored with the answer.
func TestRulesSeeWhatTheRunHasTaught(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, judged(t, anywhere(), policy.Rule{Name: "strangers", Hook: policy.PreOutput, When: `session.trust == "untrusted" && output.kind == "reply"`, Action: policy.Block}))
		b.agent.begin = func(s *sessions.Session) { s.Raise(flow.NewLabel(flow.Internal, flow.Untrusted)) }
		b.ended(b.hear(in("owner", "1", "what does that page say?")).Run)
		synctest.Wait()
		require.Len(t, b.deliveries(ledger.DeliveryBlocked), 1)
		require.NotContains(t, b.chat.texts("owner"), "echo: what does that page say?")
	})
}
