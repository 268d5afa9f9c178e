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
	"sluice/sessions"
)

// reacting is a chat with reactions. hold makes each call take its time.
type reacting struct {
	*chat
	hold  time.Duration
	fail  error
	mu    sync.Mutex
	shown map[sessions.PlatformMessageID]string
	calls []string
}

var _ adapters.Reactor = (*reacting)(nil)

func (r *reacting) React(ctx context.Context, _ sessions.Route, id sessions.PlatformMessageID, how adapters.Reaction) error {
	r.mu.Lock()
	hold := r.hold
	r.mu.Unlock()
	select {
	case <-time.After(hold):
	case <-ctx.Done():
		return ctx.Err()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, fmt.Sprint(id, how.Emoji, how.Removed))
	switch {
	case r.fail != nil:
		return r.fail
	case how.Removed:
		delete(r.shown, id)
	default:
		r.shown[id] = how.Emoji
	}
	return nil
}

func withReactions(emoji string, remove bool) (*reacting, func(*bundle)) {
	r := &reacting{shown: map[sessions.PlatformMessageID]string{}}
	return r, func(b *bundle) {
		r.chat, b.adapter = b.chat, r
		s := b.settings.Channels["test"]
		s.AckReaction, s.AckRemove = emoji, remove
		b.settings.Channels["test"] = s
	}
}

func TestAckReaction(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		emoji     string
		remove    bool
		during    map[sessions.PlatformMessageID]string
		callsMade int
	}{
		{"👀", false, map[sessions.PlatformMessageID]string{"1": "👀"}, 1},
		{"👀", true, map[sessions.PlatformMessageID]string{"1": "👀"}, 2},
		{"", true, map[sessions.PlatformMessageID]string{}, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			r, option := withReactions(c.emoji, c.remove)
			b := newBundle(t, option)
			release := b.busy()
			run := b.hear(in("ann", "1", "hi"))
			b.hear(in("bob", "7", "/status")) // no run, no reaction
			b.hear(b.press(b.offer("cid", "yes"), 0, "cid"))
			synctest.Wait()
			require.Equal(t, c.during, r.shown)
			release()
			b.ended(run.Run)
			time.Sleep(time.Second)
			synctest.Wait()
			require.Equal(t, c.remove || c.emoji == "", r.shown["1"] == "")
			n := 0
			for _, call := range r.calls {
				if call[0] == '1' {
					n++
				}
			}
			require.Equal(t, c.callsMade, n)
		})
	}
}

// Reactions hold up nothing: not the accepting, not the answer, not the stop. What is too much is left out.
func TestAckReactionsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, option := withReactions("👀", false)
		r.hold = time.Hour
		b := newBundle(t, option, func(b *bundle) { b.settings.Queue.Mode = sessions.QueueCollect })
		began := time.Now()
		for i := range 100 {
			if i == 1 {
				synctest.Wait() // the worker has the first
			}
			b.hear(in("ann", fmt.Sprint(i), "hi"))
		}
		require.Zero(t, time.Since(began))
		synctest.Wait()
		require.Equal(t, 100-64-1, b.counted("sluice_router_ack_reactions_total", "skipped"))
		time.Sleep(11 * time.Second)
		synctest.Wait()
		require.Equal(t, 1, b.counted("sluice_router_ack_reactions_total", "failed"), "a call has a deadline")
		r.mu.Lock()
		r.hold, r.fail = 0, errors.New("reactions are off here")
		r.mu.Unlock()
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Equal(t, 64+1, b.counted("sluice_router_ack_reactions_total", "failed"))
	})
}
