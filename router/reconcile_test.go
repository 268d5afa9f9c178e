package router_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/router/ledger"
	"sluice/sessions"
)

// fault is how one call of a lookable platform goes wrong.
type fault int

const (
	none     fault = iota
	notTaken       // the request was lost
	taken          // the answer was lost
	late           // the answer was lost, and the message shows a while later
	dies           // the process ends before the request is written
	diesLate       // the process ends when the message shows
)

// lookable is a platform that can say whether a message was posted.
type lookable struct {
	editable
	log *postLog
}

// trouble is what goes wrong in one conversation.
type trouble struct {
	faults []fault // of the calls to come
	blind  int     // lookups to come that give nothing
}

// postLog is what a lookable platform remembers.
type postLog struct {
	mu      sync.Mutex
	faults  []fault // of the calls to come
	blind   []error // of the lookups to come
	perChat map[sessions.ConversationID]*trouble
	posted  map[string]sessions.PlatformMessageID
	sent    []adapters.Outbound
	lookups []time.Time
	dead    chan struct{} // closed when a process died in a call
	held    chan struct{} // its call returns when this is closed
	release func()        // closes held
	// dies makes the process end in the next lookup.
	dies bool
}

var _ adapters.Reconciler = lookable{}

func withLedger(faults ...fault) (*postLog, func(*bundle)) {
	l := &postLog{faults: faults, posted: map[string]sessions.PlatformMessageID{}, dead: make(chan struct{}), held: make(chan struct{})}
	l.release = sync.OnceFunc(func() { close(l.held) })
	return l, func(b *bundle) { b.adapter = lookable{editable{b.chat}, l} }
}

func name(out adapters.Outbound) string { return fmt.Sprint(out.DeliveryID, "/", out.Part) }

func (l *postLog) next(out adapters.Outbound) fault {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent = append(l.sent, out)
	if c := l.perChat[out.Route.Conversation]; c != nil && len(c.faults) > 0 {
		f := c.faults[0]
		c.faults = c.faults[1:]
		return f
	}
	if len(l.faults) == 0 {
		return none
	}
	f := l.faults[0]
	l.faults = l.faults[1:]
	return f
}

func (p lookable) post(ctx context.Context, out adapters.Outbound) adapters.Receipt {
	receipt, err := p.editable.Send(ctx, out)
	if err != nil {
		panic(err)
	}
	p.log.mu.Lock()
	defer p.log.mu.Unlock()
	p.log.posted[name(out)] = receipt.MessageID
	return receipt
}

func (p lookable) Send(ctx context.Context, out adapters.Outbound) (adapters.Receipt, error) {
	var receipt adapters.Receipt
	switch f := p.log.next(out); f {
	case none:
		return p.post(ctx, out), nil
	case taken:
		p.post(ctx, out)
	case late:
		time.AfterFunc(1500*time.Millisecond, func() { p.post(ctx, out) })
	case dies, diesLate:
		if f == diesLate {
			receipt = p.post(ctx, out)
		}
		close(p.log.dead)
		<-p.log.held
	}
	return receipt, &adapters.Failure{Kind: adapters.Transient, Err: errors.New("connection reset")}
}

func (p lookable) Reconcile(_ context.Context, out adapters.Outbound, sentAt time.Time) (adapters.Receipt, bool, error) {
	p.log.mu.Lock()
	defer p.log.mu.Unlock()
	p.log.lookups = append(p.log.lookups, time.Now())
	if p.log.dies {
		p.log.dies = false
		p.log.mu.Unlock()
		close(p.log.dead)
		<-p.log.held
		p.log.mu.Lock()
	}
	if c := p.log.perChat[out.Route.Conversation]; c != nil && c.blind > 0 {
		c.blind--
		return adapters.Receipt{}, false, &adapters.Failure{Kind: adapters.Transient, Err: errors.New("502")}
	}
	if len(p.log.blind) > 0 {
		err := p.log.blind[0]
		p.log.blind = p.log.blind[1:]
		return adapters.Receipt{}, false, err
	}
	if sentAt.IsZero() || time.Since(sentAt) < 2*time.Second {
		panic("looked up too early")
	}
	id, ok := p.log.posted[name(out)]
	return adapters.Receipt{MessageID: id, At: time.Now()}, ok, nil
}

// looks asserts what all looks at the platform have found.
func (b *bundle) looks(want map[string]int) {
	b.t.Helper()
	for _, outcome := range []string{"posted", "not_posted", "no_answer", "undecided"} {
		require.Equal(b.t, want[outcome], b.counted("sluice_router_send_lookups_total", outcome), outcome)
	}
}

// found is what a look finds of a call that went wrong.
func (f fault) found() string {
	if f == notTaken {
		return "not_posted"
	}
	return "posted"
}

// once asserts that a conversation has seen each text once, and that nothing is left over.
func (b *bundle) once(to string, want ...string) {
	b.t.Helper()
	require.Equal(b.t, want, b.chat.texts(to))
	require.Empty(b.t, b.deliveries(ledger.DeliveryUnknown))
	require.Empty(b.t, b.deliveries(ledger.DeliverySending))
	require.Empty(b.t, b.deliveries(ledger.DeliveryQueued))
	require.Empty(b.t, b.deliveries(ledger.DeliveryPreview))
}

// A lost answer of any piece is looked up: each piece shows once, whether it was taken or not.
func TestLostAnswerIsLookedUp(t *testing.T) {
	t.Parallel()
	for piece := range 3 {
		for _, f := range []fault{notTaken, taken, late} {
			t.Run(fmt.Sprint(piece, f), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					faults := make([]fault, piece, piece+1)
					l, option := withLedger(append(faults, f)...)
					b := newBundle(t, option, func(b *bundle) { b.chat.piece = 4 })
					began := time.Now()
					b.hear(in("ann", "1", "1234"))
					synctest.Wait()
					b.hear(in("bob", "1", "x"))
					time.Sleep(time.Second)
					require.NotEmpty(t, b.chat.texts("bob"), "other lanes don't wait")
					time.Sleep(time.Minute)
					synctest.Wait()
					b.once("ann", "echo", ": 12", "34")
					require.Len(t, l.lookups, 1)
					b.looks(map[string]int{f.found(): 1})
					require.GreaterOrEqual(t, l.lookups[0].Sub(began), 2*time.Second)
					sent := b.deliveries(ledger.DeliverySent)
					require.Len(t, sent, 2)
				})
			})
		}
	}
}

// A process that dies in a call leaves a delivery in status sending, which the next owner looks up.
func TestSendingAtDeathIsLookedUp(t *testing.T) {
	t.Parallel()
	for piece := range 3 {
		for _, f := range []fault{dies, diesLate} {
			t.Run(fmt.Sprint(piece, f), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					faults := make([]fault, piece, piece+1)
					l, option := withLedger(append(faults, f)...)
					b := newBundle(t, option, func(b *bundle) { b.chat.piece = 4 })
					b.hear(in("ann", "1", "1234"))
					defer l.release()
					<-l.dead
					b.rival(t, b.adapter)
					time.Sleep(time.Minute)
					synctest.Wait()
					b.once("ann", "echo", ": 12", "34")
					require.Len(t, l.lookups, 1)
					l.release()
					time.Sleep(time.Minute)
					b.once("ann", "echo", ": 12", "34")
				})
			})
		}
	}
}

// A process that dies while it looks up: the next one looks again, and what the first has learnt comes too late.
func TestDeathInALookup(t *testing.T) {
	t.Parallel()
	for _, f := range []fault{notTaken, taken} {
		synctest.Test(t, func(t *testing.T) {
			l, option := withLedger(f)
			l.dies = true
			b := newBundle(t, option, func(b *bundle) { b.chat.piece = 4 })
			b.hear(in("ann", "1", "1234"))
			defer l.release()
			<-l.dead
			b.rival(t, b.adapter)
			time.Sleep(time.Minute)
			b.once("ann", "echo", ": 12", "34")
			l.release()
			time.Sleep(time.Minute)
			b.once("ann", "echo", ": 12", "34")
			require.Len(t, l.lookups, 2)
		})
	}
}

// A delivery that was not posted is sent again as what it was.
func TestSentAgainAsTheSame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, option := withLedger(notTaken)
		b := newBundle(t, option)
		began := time.Now()
		b.hear(in("ann", "1", "hi"))
		b.await(1)
		require.Equal(t, 2*time.Second, time.Since(began).Truncate(time.Millisecond), "at once after the look")
		require.Len(t, l.sent, 2)
		require.Equal(t, l.sent[0], l.sent[1])
	})
}

// Where the platform can't be asked yet it is asked again with backoff; nothing is sent in the meantime.
func TestLookupIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, option := withLedger(taken)
		b := newBundle(t, option)
		for range 4 {
			l.blind = append(l.blind, &adapters.Failure{Kind: adapters.Transient, Err: errors.New("502")})
		}
		b.hear(in("ann", "1", "hi"))
		synctest.Wait()
		b.hear(in("ann", "2", "you")) // waits, and does not make the looks more frequent
		time.Sleep(time.Hour)
		b.once("ann", "echo: hi", "echo: you")
		require.Len(t, l.lookups, 5)
		b.looks(map[string]int{"no_answer": 4, "posted": 1})
		for i := 1; i < len(l.lookups); i++ {
			require.Equal(t, 2*time.Second<<(i-1), l.lookups[i].Sub(l.lookups[i-1]))
		}
	})
}

// What can't be decided while the delivery lives ends as unknown and is not repeated.
func TestUndecidedIsUnknown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err   adapters.Failure
		after time.Duration
		shown int
		gave  int // looks that ended it
	}{
		"no answer":   {adapters.Failure{Kind: adapters.Transient, Err: errors.New("502")}, time.Hour, 1, 1},
		"refused":     {adapters.Failure{Kind: adapters.Permanent, Err: errors.New("no such channel")}, 2 * time.Second, 1, 1},
		"unsupported": {adapters.Failure{Kind: adapters.Unsupported, Err: errors.New("private")}, 2 * time.Second, 2, 0}, // as on a channel that can't look up
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l, option := withLedger(taken)
				b := newBundle(t, option, func(b *bundle) { b.settings.DeliveryLife = time.Hour })
				for range 100 {
					l.blind = append(l.blind, &c.err)
				}
				b.hear(in("ann", "1", "hi"))
				time.Sleep(2 * time.Hour)
				synctest.Wait()
				require.Len(t, b.chat.texts("ann"), c.shown)
				b.looks(map[string]int{"no_answer": 100 - len(l.blind), "undecided": c.gave})
				unknown := b.deliveries(ledger.DeliveryUnknown)
				require.Len(t, unknown, 1)
				require.Contains(t, unknown[0].LastError, c.err.Err.Error())
				require.Equal(t, c.after, unknown[0].Finished.Sub(unknown[0].Created).Truncate(time.Second))
			})
		})
	}
}

// Whatever is lost of the first three calls, each piece shows once and in order.
func TestNothingIsSaidTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l, option := withLedger()
		b := newBundle(t, option, func(b *bundle) { b.chat.piece = 4 })
		l.perChat = map[sessions.ConversationID]*trouble{}
		var people []string
		for i := range 4 * 4 * 4 {
			who := fmt.Sprint("p", i)
			people = append(people, who)
			l.perChat[sessions.ConversationID("chat-"+who)] = &trouble{
				faults: []fault{fault(i % 4), fault(i / 4 % 4), fault(i / 16)},
				blind:  i % 3,
			}
		}
		for _, who := range people {
			b.hear(in(who, "1", "1234"))
			b.hear(in(who, "2", "56"))
		}
		time.Sleep(time.Hour)
		for _, who := range people {
			require.Equal(t, []string{"echo", ": 12", "34", "echo", ": 56"}, b.chat.texts(who), who)
		}
		b.once("nobody")
	})
}
