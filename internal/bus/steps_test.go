package bus_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"sluice/internal/bus"
)

// owning starts a bus whose owner has all partitions.
func owning(t *testing.T, url, name string) (*bus.Bus, *owner) {
	t.Helper()
	b, o := start(t, url, name), newOwner(name, &board{owners: map[int]map[string]bool{}})
	require.NoError(t, b.Own(t.Context(), o))
	until(t, func() bool { return o.count() == partitions }, o)
	return b, o
}

// stepStream is the server's stream, seen by somebody else.
func stepStream(t *testing.T, url string) jetstream.Stream {
	t.Helper()
	conn, err := nats.Connect(url)
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	js, err := jetstream.New(conn)
	require.NoError(t, err)
	stream, err := js.Stream(t.Context(), "SLUICE_STEPS")
	require.NoError(t, err)
	return stream
}

// Steps reach the owner of their partition in order, once for each id, and leave the stream when they are acknowledged.
func TestStepsReachTheirOwner(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	for _, url := range []string{"", c.url()} {
		t.Run(fmt.Sprint(url != ""), func(t *testing.T) {
			t.Parallel()
			b, o := owning(t, url, "one")
			for i := range 5 {
				b.PublishStep(3, fmt.Sprint("run", i), fmt.Append(nil, i))
				b.PublishStep(3, fmt.Sprint("run", i), fmt.Append(nil, i)) // of the same id
				b.PublishStep(4, fmt.Sprint("other", i), []byte("other"))
			}
			var texts []string
			for range 10 {
				got := receive(t, o.steps)
				got.ack()
				if got.partition == 3 {
					texts = append(texts, got.text)
				} else {
					require.Equal(t, step{4, "other", nil}, step{got.partition, got.text, nil})
				}
			}
			require.Equal(t, []string{"0", "1", "2", "3", "4"}, texts)
			if url != "" {
				stream := stepStream(t, url)
				ctx, cancel := context.WithTimeout(t.Context(), patience)
				defer cancel()
				for left := uint64(1); left > 0; { // an acknowledgement is not answered
					info, err := stream.Info(ctx)
					require.NoError(t, err)
					left = info.State.Msgs
				}
				require.Equal(t, jetstream.WorkQueuePolicy, stream.CachedInfo().Config.Retention)
				require.Equal(t, jetstream.FileStorage, stream.CachedInfo().Config.Storage)
			}
			require.Empty(t, o.steps)
		})
	}
}

// A step that was delivered and not acknowledged goes to the next owner at once; an acknowledged one does not.
func TestStepsMoveWithTheirPartition(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	one, o := owning(t, c.url(), "one")
	one.PublishStep(1, "done", []byte("done"))
	one.PublishStep(1, "open", []byte("open"))
	receive(t, o.steps).ack()
	require.Equal(t, "open", receive(t, o.steps).text)
	one.Stop(context.Background())

	two, o := owning(t, c.url(), "two")
	got := receive(t, o.steps)
	require.Equal(t, step{1, "open", nil}, step{got.partition, got.text, nil})
	two.PublishStep(2, "new", []byte("new"))
	require.Equal(t, "new", receive(t, o.steps).text)
}

// An embedded server keeps its steps over a restart of the gateway.
func TestEmbeddedStepsOutliveTheGateway(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	begin := func() (*bus.Bus, *owner) {
		b, err := bus.Start(t.Context(), bus.Config{
			Dir: dir, Partitions: partitions, Replica: "one", Now: time.Now, Registerer: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
		})
		require.NoError(t, err)
		t.Cleanup(func() { b.Stop(context.Background()) })
		o := newOwner("one", &board{owners: map[int]map[string]bool{}})
		require.NoError(t, b.Own(t.Context(), o))
		return b, o
	}
	b, o := begin()
	b.PublishStep(1, "run", []byte("kept"))
	receive(t, o.steps)
	b.Stop(context.Background())
	b, o = begin()
	b.ReadSteps(1)
	require.Equal(t, "kept", receive(t, o.steps).text)
}

// Whatever becomes of the stream, its consumers or the server: steps that are published afterwards arrive.
func TestStepsGoOnAfterALoss(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(t *testing.T, c *cluster){
		"stream": func(t *testing.T, c *cluster) {
			conn, err := nats.Connect(c.url())
			require.NoError(t, err)
			defer conn.Close()
			js, err := jetstream.New(conn)
			require.NoError(t, err)
			require.NoError(t, js.DeleteStream(t.Context(), "SLUICE_STEPS"))
		},
		"consumer": func(t *testing.T, c *cluster) {
			stream := stepStream(t, c.url())
			require.NoError(t, stream.DeleteConsumer(t.Context(), "partition-1"))
		},
		"server": func(_ *testing.T, c *cluster) {
			c.stop()
			c.start()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t)
			b, o := owning(t, c.url(), "one")
			b.PublishStep(1, "before", []byte("before"))
			receive(t, o.steps).ack()
			lose(t, c)
			deadline := time.After(patience)
			for i := 0; ; i++ { // as its worker does
				b.PublishStep(1, fmt.Sprint("after", i), []byte("after"))
				select {
				case got := <-o.steps:
					if got.text == "after" {
						return
					}
				case <-time.After(100 * time.Millisecond):
				case <-deadline:
					t.Fatal("nothing came")
				}
			}
		})
	}
}

// The server may lose the folder of a stream that is deleted and made again at the same moment. It refuses each change of the
// stream then, so that nobody could begin.
func TestAStreamWithoutItsFolderIsMadeAgain(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	one, _ := owning(t, c.url(), "one")
	one.Stop(context.Background())
	require.NoError(t, os.RemoveAll(filepath.Join(c.JetStreamConfig().StoreDir, "$G", "streams", "SLUICE_STEPS")))
	two, o := owning(t, c.url(), "two")
	two.PublishStep(1, "run", []byte("hello"))
	require.Equal(t, "hello", receive(t, o.steps).text)
}
