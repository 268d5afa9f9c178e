//go:build linux

package bus_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"sluice/internal/bus"
	"sluice/sessions"
)

// The embedded server is started when someone follows a session. What was emitted before can still be read by who comes back.
func TestEmbeddedServerIsStartedWhenItIsNeeded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := startIn(t, dir)
	b.Emit(sessions.Event{Session: "sess_1", Text: "before"})
	require.NoError(t, b.Ready())
	require.NoFileExists(t, filepath.Join(dir, "nats"))

	live, err := b.Follow(t.Context(), "sess_1", 0)
	require.NoError(t, err)
	b.Emit(sessions.Event{Session: "sess_1", Text: "after"})
	first := receive(t, live)
	require.Equal(t, "after", first.Text, "a follower begins now")
	require.NoError(t, b.Ready())

	back, err := b.Follow(t.Context(), "sess_1", uint64(time.Now().Add(time.Hour).UnixMicro()))
	require.NoError(t, err)
	require.Equal(t, "before", receive(t, back).Text, "who comes back from an earlier life gets all there is")

	b.Stop(t.Context())
	b.Emit(sessions.Event{Session: "sess_1", Text: "too late"})
	require.Error(t, b.Ready())
	_, err = b.Follow(t.Context(), "sess_1", 0)
	require.Error(t, err)
}

// A server that can't be started is an error of who follows, and the next one tries again.
func TestEmbeddedServerIsTriedAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inTheWay := filepath.Join(dir, "nats")
	require.NoError(t, os.WriteFile(inTheWay, nil, 0o600))
	b := startIn(t, dir)
	_, err := b.Follow(t.Context(), "sess_1", 0)
	require.ErrorContains(t, err, inTheWay, "at once, and with the reason")
	require.NoError(t, b.Ready(), "messages need no server")
	b.Emit(sessions.Event{Session: "sess_1", Text: "before"})
	require.NoError(t, os.Remove(inTheWay))
	live, err := b.Follow(t.Context(), "sess_1", 0)
	require.NoError(t, err)
	b.Emit(sessions.Event{Session: "sess_1", Text: "after"})
	require.Equal(t, "after", receive(t, live).Text)
}

// So many events that they can't all wait start the server too.
func TestManyEventsAreKeptByTheServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	started := watchServer(t, dir)
	b := startIn(t, dir)
	const all = 1500 // fewer than a session may have
	for n := range all {
		b.Emit(sessions.Event{Session: "sess_1", Text: fmt.Sprint(n)})
	}
	started()
	var seen []string
	for last := uint64(time.Now().Add(time.Hour).UnixMicro()); len(seen) < all; {
		ctx, leave := context.WithCancel(t.Context())
		back, err := b.Follow(ctx, "sess_1", last)
		require.NoError(t, err)
		for e := range back { // it ends where this reader is too slow
			seen, last = append(seen, e.Text), e.Seq
			if len(seen) == all {
				break
			}
		}
		leave()
	}
	for n, text := range seen {
		require.Equal(t, fmt.Sprint(n), text)
	}
}

// watchServer returns a function that waits until the embedded server has made its folder, the first thing in dir.
func watchServer(t *testing.T, dir string) (started func()) {
	t.Helper()
	fd, err := unix.InotifyInit1(unix.IN_NONBLOCK | unix.IN_CLOEXEC)
	require.NoError(t, err)
	changes := os.NewFile(uintptr(fd), "inotify")
	t.Cleanup(func() { require.NoError(t, changes.Close()) })
	_, err = unix.InotifyAddWatch(fd, dir, unix.IN_CREATE)
	require.NoError(t, err)
	return func() {
		require.NoError(t, changes.SetReadDeadline(time.Now().Add(patience)))
		_, err := changes.Read(make([]byte, unix.SizeofInotifyEvent+unix.NAME_MAX+1))
		require.NoError(t, err)
		require.DirExists(t, filepath.Join(dir, "nats"))
	}
}

// startIn starts a bus with the embedded server in a folder.
func startIn(t *testing.T, dir string) *bus.Bus {
	t.Helper()
	b, err := bus.Start(t.Context(), bus.Config{
		Dir: dir, Partitions: partitions, Replica: "one", Now: time.Now, Registerer: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	t.Cleanup(func() { b.Stop(t.Context()) })
	return b
}

// The first followers may come while the gateway ends: each is either served or told so, and nothing keeps running.
func TestEmbeddedServerStartsWhileTheBusStops(t *testing.T) {
	t.Parallel()
	for _, starting := range []bool{false, true} {
		dir := t.TempDir()
		started := watchServer(t, dir)
		b := startIn(t, dir)
		b.Emit(sessions.Event{Session: "sess_1", Text: "before"})
		var following sync.WaitGroup
		for range 4 {
			following.Go(func() {
				live, err := b.Follow(context.Background(), "sess_1", 0)
				_ = b.Ready()
				b.Emit(sessions.Event{Session: "sess_1", Text: "live"})
				for err == nil {
					if _, ok := <-live; !ok {
						return
					}
				}
			})
		}
		if starting {
			started()
		}
		b.Stop(t.Context())
		following.Wait()
		require.Error(t, b.Ready())
	}
}
