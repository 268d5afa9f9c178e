package router_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

// strange is a chat whose receipts bear what no database takes.
type strange struct {
	*chat
	receipt func(adapters.Receipt) adapters.Receipt
}

func (s strange) Send(ctx context.Context, out adapters.Outbound) (adapters.Receipt, error) {
	r, err := s.chat.Send(ctx, out)
	return s.receipt(r), err
}

// A platform that says when in milliseconds blocked its lane for ever: the receipt could not be stored, and after a restart
// the message was sent again.
func TestReceiptOfAnImpossibleMomentIsStored(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(adapters.Receipt) adapters.Receipt{
		"milliseconds": func(r adapters.Receipt) adapters.Receipt {
			r.At = time.Unix(r.At.UnixMilli(), 0)
			return r
		},
		"an id with NUL": func(r adapters.Receipt) adapters.Receipt {
			r.MessageID = "\x00" + r.MessageID + "\xff"
			return r
		},
		"another conversation, in no encoding": func(r adapters.Receipt) adapters.Receipt {
			r.Moved = &adapters.Migration{From: "chat-ann", To: "\xff"}
			return r
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBundle(t, func(b *bundle) { b.adapter = strange{b.chat, change} })
				b.tell("ann", "one", "two")
				synctest.Wait()
				b.restart()
				synctest.Wait()
				require.Equal(t, []string{"echo: one", "echo: two"}, b.chat.texts("")[:2])
				require.Len(t, b.chat.texts(""), 2, "nothing is sent again")
				sent, err := b.store.ListDeliveries(t.Context(), ledger.Query{Status: "sent", MaxLevel: flow.Restricted})
				require.NoError(t, err)
				require.Len(t, sent, 2)
				require.WithinDuration(t, time.Now(), sent[0].Receipts[0].At, time.Minute)
			})
		})
	}
}

// What a platform says when it was, or calls its things, keeps no event from being taken in.
func TestEventOfAnImpossibleMomentIsTaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		event := in("ann", "1", "hello")
		event.SentAt = time.Unix(time.Now().UnixMilli(), 0)
		event.Route.Title, event.Sender.Name, event.MessageID = "\x00\xff", "\x00", sessions.PlatformMessageID(make([]byte, 10_000))
		require.NoError(t, b.Intake.Accept(t.Context(), event))
		b.await(1)
		require.Equal(t, []string{"echo: hello"}, b.chat.texts("ann"))
		require.NoError(t, b.Intake.Accept(t.Context(), event))
		synctest.Wait()
		require.Len(t, b.chat.texts("ann"), 1, "it is known again")
	})
}
