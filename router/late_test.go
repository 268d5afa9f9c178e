package router_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/sessions"
)

// heldUp is a platform whose calls return when the test lets them.
type heldUp struct {
	lookable
	calls *heldCalls
}

type heldCalls struct {
	mu   sync.Mutex
	n    int
	lost bool            // the first call is not taken
	goOn []chan struct{} // of the calls that are held
}

func (p heldUp) Send(ctx context.Context, out adapters.Outbound) (adapters.Receipt, error) {
	p.calls.mu.Lock()
	n := p.calls.n
	p.calls.n++
	p.calls.mu.Unlock()
	var receipt adapters.Receipt
	lost := p.calls.lost && n == 0
	if !lost {
		receipt = p.post(ctx, out)
	}
	if n < len(p.calls.goOn) {
		<-p.calls.goOn[n]
	}
	if lost {
		return receipt, &adapters.Failure{Kind: adapters.RateLimited, Certain: true, Err: errors.New("too many requests")}
	}
	return receipt, nil
}

// A gateway that was frozen in a call learns its result while the next owner of the conversation is in a call, too. What
// the next owner has stored stands: nothing is said again.
func TestALateResultLeavesTheNextOwnersCallAlone(t *testing.T) {
	t.Parallel()
	for name, lost := range map[string]bool{"the next piece": false, "the same piece": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l, option := withLedger()
				calls := &heldCalls{lost: lost, goOn: []chan struct{}{make(chan struct{}), make(chan struct{})}}
				b := newBundle(t, option, func(b *bundle) {
					b.chat.piece = 8
					b.adapter = heldUp{lookable{editable{b.chat}, l}, calls}
				})
				b.hear(in("ann", "1", "1234567"))
				synctest.Wait()
				b.rival(t, b.adapter)
				time.Sleep(10 * time.Second)
				synctest.Wait()
				require.Len(t, l.lookups, 1)
				close(calls.goOn[0])
				time.Sleep(time.Second)
				close(calls.goOn[1])
				time.Sleep(time.Minute)
				b.once("ann", "echo: 12", "34567")
			})
		})
	}
}

// A gateway that was frozen while it showed a preview has not heard yet that another one owns the session and has answered.
// Its first update, which is due at once, must not put the beginning of the answer in the place of the whole one.
func TestAFrozenPreviewDoesNotReplaceTheAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var frozen atomic.Int64
		b := newBundle(t, withEdits, func(b *bundle) {
			b.now = func() time.Time { return time.Now().Add(time.Duration(frozen.Load())) }
		})
		more := make(chan struct{})
		b.agent.answer = func(ctx context.Context, _ string, emit func(sessions.Event)) (string, error) {
			emit(sessions.Event{Type: sessions.EventDelta, Text: "the beginning of a long answer"})
			<-more
			emit(sessions.Event{Type: sessions.EventDelta, Text: ", which goes on"})
			<-ctx.Done()
			return "", context.Cause(ctx)
		}
		run := b.hear(in("ann", "1", "hi"))
		b.await(1)
		require.Equal(t, []string{"the beginning of a long answer"}, b.chat.texts("ann"))
		frozen.Store(int64(10 * time.Second))
		rival := b.rival(t, b.adapter)
		got, err := rival.Sessions().WaitRun(t.Context(), run.Run, time.Minute)
		require.NoError(t, err)
		require.Equal(t, sessions.RunDone, got.Status)
		synctest.Wait()
		require.Equal(t, []string{"echo: hi"}, b.chat.texts("ann"))
		close(more)
		time.Sleep(1100 * time.Millisecond) // the update that was due
		require.Equal(t, []string{"echo: hi"}, b.chat.texts("ann"))
		b.stop()
		require.Equal(t, []string{"echo: hi"}, b.chat.texts("ann"))
	})
}
