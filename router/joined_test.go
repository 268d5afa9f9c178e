package router_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/router/ledger"
	"sluice/sessions"
)

// picture is one of an album.
func picture(m adapters.Inbound, name string) adapters.Inbound {
	m.More, m.Attachments = true, []sessions.Attachment{{Kind: "photo", Name: name}}
	return m
}

// attachments notes the pictures that each message of a session has.
func (b *bundle) attachments(id sessions.ID) (names []string) {
	b.t.Helper()
	record, err := b.store.Session(b.t.Context(), id)
	require.NoError(b.t, err)
	thread, err := b.store.Thread(b.t.Context(), record)
	require.NoError(b.t, err)
	for _, m := range thread {
		line := ""
		for _, p := range m.Parts {
			if p.Attachment != nil {
				line += p.Attachment.Name
			}
		}
		if line != "" {
			names = append(names, line)
		}
	}
	return names
}

func TestAlbumIsOneMessage(t *testing.T) {
	t.Parallel()
	for _, mode := range []sessions.QueueMode{sessions.QueueCollect, sessions.QueueFollowup} {
		t.Run(string(mode), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBundle(t, func(b *bundle) { b.settings.Queue.Mode = mode })
				first := b.hear(picture(in("ann", "1", "which is best?"), "a"))
				for i, name := range []string{"b", "c"} {
					time.Sleep(300 * time.Millisecond)
					require.Equal(t, ledger.OutcomeRun, b.hear(picture(in("ann", fmt.Sprint(i+2), ""), name)).Outcome)
				}
				synctest.Wait()
				require.Empty(t, b.chat.texts("ann"), "the next may be on its way")
				time.Sleep(1100 * time.Millisecond)
				require.Empty(t, b.chat.texts("ann"))
				time.Sleep(200 * time.Millisecond)
				synctest.Wait()
				require.Equal(t, []string{"echo: which is best?"}, b.chat.texts("ann"))
				require.Equal(t, []string{"abc"}, b.attachments(first.Session))
			})
		})
	}
}

func TestLongTextIsOneMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		long := in("ann", "1", "Once upon a time")
		long.More = true
		b.hear(long)
		b.hear(inGroup("g1", "bob", "1", "meanwhile", true))
		b.hear(in("ann", "2", "there was a king."))
		require.Equal(t, "echo: Once upon a time\nthere was a king.", b.last("ann"), "what is whole waits for nothing")
		require.Equal(t, "echo: bob: meanwhile", b.last("g1"))
	})
}

// Of an album in a group only the caption mentions the bot.
func TestAlbumInAGroup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		got := b.hear(picture(inGroup("g1", "ann", "1", "what is this?", true), "a"))
		require.Equal(t, ledger.OutcomeIgnored, b.hear(picture(inGroup("g1", "bob", "2", "", false), "x")).Outcome, "a picture of another person does not belong to it")
		require.Equal(t, ledger.OutcomeRun, b.hear(picture(inGroup("g1", "ann", "3", "", false), "b")).Outcome)
		time.Sleep(2 * time.Second)
		require.Equal(t, ledger.OutcomeIgnored, b.hear(picture(inGroup("g1", "ann", "4", "", false), "late")).Outcome)
		b.last("g1")
		require.Equal(t, []string{"ab"}, b.attachments(got.Session))
	})
}

// An album does not fill a short queue, and is dropped as a whole.
func TestAlbumIsOneInTheQueue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, func(b *bundle) { b.settings.Queue.Cap = 1 })
		release := b.busy()
		b.hear(in("ann", "0", "working"))
		synctest.Wait()
		var album []sessions.RunID
		for i := range 4 {
			album = append(album, b.hear(picture(in("ann", fmt.Sprint(i+1), ""), fmt.Sprint(i))).Run)
		}
		for _, id := range album {
			run, err := b.store.Run(t.Context(), id)
			require.NoError(t, err)
			require.Equal(t, sessions.RunQueued, run.Status)
		}
		time.Sleep(2 * time.Second)
		b.hear(in("ann", "9", "and then"))
		for _, id := range album {
			require.Equal(t, sessions.RunDropped, b.ended(id).Status)
		}
		release()
		require.Equal(t, "echo: and then", b.last("ann"))
	})
}

// What was joined stays joined when the process ends in the middle of the run.
func TestJoinedMessageIsResumed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t)
		b.agent.answer = func(ctx context.Context, _ string, _ func(sessions.Event)) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}
		got := b.hear(picture(in("ann", "1", "look"), "a"))
		last := b.hear(picture(in("ann", "2", "and this"), "b"))
		time.Sleep(2 * time.Second)
		synctest.Wait()
		b.stop()
		b.agent.answer = echo
		b.start()
		require.Equal(t, "echo: look\nand this", b.last("ann"))
		require.Equal(t, []string{"ab"}, b.attachments(got.Session))
		require.Equal(t, got.Run, b.ended(last.Run).Leader)
	})
}
