package router_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/policy/flow"
	"sluice/router/ledger"
)

// unhurried is a chat whose calls take a second.
type unhurried struct{ *chat }

func (s unhurried) Send(ctx context.Context, out adapters.Outbound) (adapters.Receipt, error) {
	select {
	case <-time.After(time.Second):
		return s.chat.Send(ctx, out)
	case <-ctx.Done():
		return adapters.Receipt{}, &adapters.Failure{Kind: adapters.Transient, Err: context.Cause(ctx)}
	}
}

// A piece that is being sent when the gateway stops is sent to its end; the next gateway sends the next ones, and nothing comes
// twice.
func TestPiecesOfAStoppedGatewayComeOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, func(b *bundle) {
			b.chat.piece = 5
			b.adapter = unhurried{b.chat}
		})
		b.hear(in("ann", "1", "hello world"))
		time.Sleep(time.Second / 2)
		b.restart()
		time.Sleep(time.Minute)
		require.Equal(t, "echo: hello world", strings.Join(b.chat.texts("ann"), ""))
	})
}

// slowAnswer is a chat that shows a message at once and answers after three and a half seconds.
type slowAnswer struct{ *chat }

func (s slowAnswer) Send(ctx context.Context, out adapters.Outbound) (adapters.Receipt, error) {
	receipt, err := s.chat.Send(ctx, out)
	select {
	case <-time.After(3500 * time.Millisecond):
		return receipt, err
	case <-ctx.Done():
		return adapters.Receipt{}, &adapters.Failure{Kind: adapters.Transient, Err: context.Cause(ctx)}
	}
}

// A gateway that stops begins no further call: one that begins late would be cut off, and nobody would know what became of it.
func TestNoPieceIsBegunByAGatewayThatStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, func(b *bundle) {
			b.chat.piece = 5
			b.adapter = slowAnswer{b.chat}
			b.grace = 4 * time.Second
		})
		b.hear(in("ann", "1", "hello world"))
		time.Sleep(time.Second / 2)
		b.restart()
		time.Sleep(time.Minute)
		require.Equal(t, "echo: hello world", strings.Join(b.chat.texts("ann"), ""))
		unknown, err := b.store.ListDeliveries(t.Context(), ledger.Query{MaxLevel: flow.Restricted, Status: string(ledger.DeliveryUnknown)})
		require.NoError(t, err)
		require.Empty(t, unknown)
	})
}
