package router_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/router/ledger"
	"sluice/sessions"
)

// slowly answers with more and more text, and at last with the given one.
func slowly(answer string) func(context.Context, string, func(sessions.Event)) (string, error) {
	return func(ctx context.Context, _ string, emit func(sessions.Event)) (string, error) {
		emit(sessions.Event{Type: sessions.EventDelta, Text: "the beginning of a long answer"})
		for i := range 10 {
			select {
			case <-time.After(time.Second):
				emit(sessions.Event{Type: sessions.EventDelta, Text: fmt.Sprint(" it ", i)})
			case <-ctx.Done():
				return "", context.Cause(ctx)
			}
		}
		return answer, nil
	}
}

// A preview whose answer was lost is looked up: it goes on, and becomes the answer.
func TestLostPreviewIsLookedUp(t *testing.T) {
	t.Parallel()
	for _, f := range []fault{notTaken, taken, late} {
		t.Run(fmt.Sprint(f), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l, option := withLedger(f)
				b := newBundle(t, option)
				b.agent.answer = slowly("the whole answer")
				b.hear(in("ann", "1", "slowly please"))
				time.Sleep(6 * time.Second)
				require.Len(t, b.chat.texts("ann"), 1)
				require.Contains(t, b.chat.texts("ann")[0], "it 3", "it is gone on with")
				time.Sleep(time.Minute)
				b.once("ann", "the whole answer")
				require.Len(t, l.lookups, 1)
				b.looks(map[string]int{f.found(): 1})
			})
		})
	}
}

// What could not be settled while the answer was written is settled before it is sent.
func TestLostPreviewIsLookedUpAtTheEnd(t *testing.T) {
	t.Parallel()
	for _, f := range []fault{notTaken, taken} {
		t.Run(fmt.Sprint(f), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l, option := withLedger(f)
				b := newBundle(t, option)
				for range 3 {
					l.blind = append(l.blind, &adapters.Failure{Kind: adapters.Transient, Err: errors.New("502")})
				}
				b.agent.answer = slowly("the whole answer")
				b.hear(in("ann", "1", "slowly please"))
				time.Sleep(time.Hour)
				b.once("ann", "the whole answer")
				require.Len(t, l.lookups, 4)
				b.looks(map[string]int{"no_answer": 3, f.found(): 1})
			})
		})
	}
}

// A process that dies while it sends a preview: the next one asks the platform.
func TestPreviewAtDeathIsLookedUp(t *testing.T) {
	t.Parallel()
	for _, f := range []fault{dies, diesLate} {
		t.Run(fmt.Sprint(f), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l, option := withLedger(f)
				b := newBundle(t, option)
				b.agent.answer = func(_ context.Context, _ string, emit func(sessions.Event)) (string, error) {
					emit(sessions.Event{Type: sessions.EventDelta, Text: "the beginning of a long answer"})
					<-l.held
					return "nobody hears this", nil
				}
				b.hear(in("ann", "1", "slowly please"))
				defer l.release()
				<-l.dead
				b.rival(t, b.adapter)
				time.Sleep(time.Minute)
				b.once("ann", "echo: slowly please")
				l.release()
				time.Sleep(time.Minute)
				b.once("ann", "echo: slowly please")
			})
		})
	}
}

// A platform that can't look up this one message after all is like one that can't at all.
func TestPreviewThatCannotBeLookedUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, option := withLedger(taken)
		b := newBundle(t, option)
		for range 3 {
			l.blind = append(l.blind, &adapters.Failure{Kind: adapters.Unsupported, Err: errors.New("private")})
		}
		b.agent.answer = slowly("the whole answer")
		b.hear(in("ann", "1", "slowly please"))
		time.Sleep(time.Minute)
		require.Equal(t, []string{"the beginning of a long answer", "the whole answer"}, b.chat.texts("ann"))
		require.Len(t, b.deliveries(ledger.DeliveryUnknown), 1)
		require.Len(t, b.deliveries(ledger.DeliverySent), 1)
	})
}
