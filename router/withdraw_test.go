package router_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/policy"
	"sluice/router/ledger"
	"sluice/sessions"
)

// erasing is a chat whose messages can be taken back.
type erasing struct {
	editable
	refuse []error // what the next deletions give instead
	asked  int
	dead   chan struct{} // closed when the process dies in the next deletion
	held   chan struct{} // which then returns when this is closed
}

var _ adapters.Deleter = (*erasing)(nil)

func (e *erasing) Delete(_ context.Context, _ sessions.Route, id sessions.PlatformMessageID) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked++
	if e.dead != nil {
		dead := e.dead
		e.dead = nil
		e.mu.Unlock()
		close(dead)
		<-e.held
		e.mu.Lock()
	}
	if len(e.refuse) > 0 {
		err := e.refuse[0]
		e.refuse = e.refuse[1:]
		return err
	}
	for i := range e.said {
		if e.said[i].ID == id {
			e.said[i].To = "deleted"
		}
	}
	return nil
}

func withErasing(refuse ...error) (*erasing, func(*bundle)) {
	e := &erasing{refuse: refuse}
	return e, func(b *bundle) {
		e.editable = editable{b.chat}
		b.adapter = e
	}
}

// A preview that becomes no answer is taken back, however often the platform must be asked.
func TestPreviewOfASilentAnswerIsTakenBack(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		refuse []error
		left   int
	}{
		"at once":   {nil, 0},
		"later":     {[]error{errors.New("connection reset"), &adapters.Failure{Kind: adapters.RateLimited, RetryAfter: time.Minute, Certain: true, Err: errors.New("429")}}, 0},
		"never":     {[]error{&adapters.Failure{Kind: adapters.Permanent, Certain: true, Err: errors.New("too old")}}, 1},
		"gone then": {[]error{&adapters.Failure{Kind: adapters.Unsupported, Certain: true, Err: errors.New("no such call")}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e, option := withErasing(c.refuse...)
				b := newBundle(t, option)
				b.agent.answer = slowly("NO_REPLY")
				b.hear(in("ann", "1", "hi"))
				time.Sleep(5 * time.Second)
				require.Len(t, b.chat.texts("ann"), 1)
				time.Sleep(time.Hour)
				require.Len(t, b.chat.texts("ann"), c.left)
				require.Equal(t, len(c.refuse)+1-c.left, e.asked)
				require.Len(t, b.deliveries(ledger.DeliveryDiscarded), 1)
				b.agent.answer = echo
				b.hear(in("ann", "2", "hi"))
				b.await(1)
			})
		})
	}
}

// A process that dies while it takes a preview back: the next one does it again, which does no harm.
func TestDeathInADeletion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, option := withErasing()
		dead := make(chan struct{})
		e.dead, e.held = dead, make(chan struct{})
		defer close(e.held)
		b := newBundle(t, option)
		b.agent.answer = slowly("NO_REPLY")
		b.hear(in("ann", "1", "hi"))
		<-dead
		b.rival(t, e)
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Empty(t, b.chat.texts("ann"))
		require.Equal(t, 2, e.asked)
		require.Len(t, b.deliveries(ledger.DeliveryDiscarded), 1)
		require.Empty(t, b.deliveries(ledger.DeliveryUnknown))
	})
}

// What was stopped leaves nothing behind.
func TestPreviewOfAStoppedRunIsTakenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, option := withErasing()
		b := newBundle(t, option)
		b.agent.answer = slowly("the whole answer")
		run := b.hear(in("ann", "1", "hi"))
		time.Sleep(5 * time.Second)
		require.NoError(t, b.AbortSession(t.Context(), run.Session, "operator"))
		time.Sleep(time.Minute)
		require.Empty(t, b.chat.texts("ann"))
		require.Len(t, b.deliveries(ledger.DeliveryDiscarded), 1)
	})
}

// An answer that may not be said takes its beginning back with it; it stays listed.
func TestPreviewOfABlockedAnswerIsTakenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, option := withErasing()
		b := newBundle(t, option)
		learnt := false
		b.gate.forbid = func(e policy.Egress) *policy.Decision {
			if !learnt || e.Kind == string(ledger.KindNotice) {
				return nil
			}
			return &policy.Decision{Action: policy.Block, Reason: "secret", Rules: []policy.CheckResult{{Rule: policy.RuleFlow, Matched: true, Action: policy.Block}}}
		}
		b.agent.answer = func(ctx context.Context, text string, emit func(sessions.Event)) (string, error) {
			answer, err := slowly("the whole answer")(ctx, text, emit)
			b.gate.mu.Lock()
			defer b.gate.mu.Unlock()
			learnt = true
			return answer, err
		}
		b.hear(in("ann", "1", "hi"))
		time.Sleep(time.Minute)
		require.Len(t, b.chat.texts("ann"), 1)
		require.Contains(t, b.chat.texts("ann")[0], "not allowed to send it")
		require.Len(t, b.deliveries(ledger.DeliveryBlocked), 1)
		require.Empty(t, b.deliveries(ledger.DeliveryBlocked)[0].PreviewID, "sent again, it is a new message")
		require.Len(t, b.deliveries(ledger.DeliveryDiscarded), 1)
	})
}

// A preview of which it is not known whether it shows is looked up, and then taken back.
func TestLostPreviewOfASilentAnswer(t *testing.T) {
	t.Parallel()
	for f, asked := range map[fault]int{taken: 1, notTaken: 0} {
		synctest.Test(t, func(t *testing.T) {
			e, erasing := withErasing()
			_, option := withLedger(f)
			b := newBundle(t, option, func(b *bundle) {
				look := b.adapter.(lookable)
				erasing(b)
				b.adapter = both{look, e}
			})
			b.agent.answer = func(_ context.Context, _ string, emit func(sessions.Event)) (string, error) {
				emit(sessions.Event{Type: sessions.EventDelta, Text: "the beginning of a long answer"})
				time.Sleep(time.Second)
				return "NO_REPLY", nil
			}
			b.hear(in("ann", "1", "hi"))
			time.Sleep(time.Minute)
			require.Empty(t, b.chat.texts("ann"))
			require.Equal(t, asked, e.asked)
			require.Len(t, b.deliveries(ledger.DeliveryDiscarded), 1)
		})
	}
}

// both is a platform that can be asked for what was posted, and whose messages can be taken back.
type both struct {
	lookable
	eraser *erasing
}

func (b both) Delete(ctx context.Context, route sessions.Route, id sessions.PlatformMessageID) error {
	return b.eraser.Delete(ctx, route, id)
}
