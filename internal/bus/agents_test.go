package bus_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"github.com/nats-io/nkeys"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"sluice/agentkit"
	"sluice/internal/bus"
	"sluice/internal/freeport"
	"sluice/internal/program"
	"sluice/internal/program/programtest"
	"sluice/policy/flow"
	"sluice/sessions"
)

// hall is an embedded bus to which programs connect.
type hall struct {
	*bus.Bus
	url string

	mu   sync.Mutex
	keys map[string]string // ids of agents, by their public keys
}

func openHall(t *testing.T) *hall {
	t.Helper()
	addr, err := freeport.Addr()
	require.NoError(t, err)
	h := &hall{url: "nats://" + addr, keys: map[string]string{}}
	h.Bus, err = bus.Start(context.Background(), bus.Config{
		Dir: t.TempDir(), Listen: addr, Reader: func() string { return readerToken }, Agent: h.agentOf, Partitions: partitions, Replica: "one", Now: time.Now,
		Registerer: prometheus.NewRegistry(), Log: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	t.Cleanup(func() { h.Stop(context.Background()) })
	return h
}

func (h *hall) agentOf(nkey string) (string, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	id, ok := h.keys[nkey]
	return id, ok
}

// key makes a key for an agent and returns its seed.
func (h *hall) key(t *testing.T, agent string) string {
	t.Helper()
	pair, err := nkeys.CreateUser()
	require.NoError(t, err)
	public, err := pair.PublicKey()
	require.NoError(t, err)
	seed, err := pair.Seed()
	require.NoError(t, err)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.keys[public] = agent
	return string(seed)
}

// serve starts an instance of an agent's program, and waits until it is there. end ends it like a crash: nobody is told.
func (h *hall) serve(ctx context.Context, t *testing.T, agent, seed string, end context.CancelFunc, handle agentkit.Handler) {
	t.Helper()
	done, ready := make(chan error, 1), make(chan struct{})
	go func() {
		done <- agentkit.Serve(ctx, agentkit.Options{Agent: agent, URL: h.url, Seed: seed, Version: "1.2.3", OnReady: func() { close(ready) }}, handle)
	}()
	t.Cleanup(func() {
		end()
		require.NoError(t, <-done)
	})
	<-ready
}

// The suite of programs, over the bus: two instances of each agent.
func TestProgramsOnTheBus(t *testing.T) {
	t.Parallel()
	h := openHall(t)
	var n int
	var mu sync.Mutex
	programtest.Run(t, func(t *testing.T) programtest.Way {
		t.Helper()
		mu.Lock()
		n++
		agent := "worker" + string(rune('a'+n))
		mu.Unlock()
		seed := h.key(t, agent)
		raw, err := nats.Connect(h.url, nkeyOf(t, seed))
		require.NoError(t, err)
		t.Cleanup(raw.Close)
		for range 2 {
			ctx, end := context.WithCancel(context.Background())
			h.serve(ctx, t, agent, seed, end, func(ctx context.Context, w *agentkit.Work) (string, error) {
				return programtest.Behave(ctx, w, func(text string) {
					_ = errors.Join(raw.Publish(agentkit.OutSubject(agent, w.Run), []byte(text)), raw.Flush())
				}, end)
			})
		}
		return programtest.Way{Carrier: h.Agents, Kind: "nats", Agent: agent, Ended: sessions.ModelUnavailable}
	})
}

func nkeyOf(t *testing.T, seed string) nats.Option {
	t.Helper()
	pair, err := nkeys.FromSeed([]byte(seed))
	require.NoError(t, err)
	public, err := pair.PublicKey()
	require.NoError(t, err)
	return nats.Nkey(public, pair.Sign)
}

// A handler that waits for the result of a call is told when the gateway goes on without it, and holds up no other run meanwhile.
func TestAHandlerThatWaitsIsReleased(t *testing.T) {
	t.Parallel()
	h := openHall(t)
	seed := h.key(t, "worker")
	released := make(chan error, 1)
	done, ready := make(chan error, 1), make(chan struct{})
	ctx, end := context.WithCancel(context.Background())
	go func() {
		done <- agentkit.Serve(ctx, agentkit.Options{Agent: "worker", URL: h.url, Seed: seed, Concurrency: 1, OnReady: func() { close(ready) }},
			func(ctx context.Context, w *agentkit.Work) (string, error) {
				if w.LastMessage().Text == "wait" {
					_, err := w.Call(ctx, "clock", nil)
					released <- err
					return "", err
				}
				return "hi", nil
			})
	}()
	t.Cleanup(func() {
		end()
		require.NoError(t, <-done)
	})
	<-ready
	ask := func(text string) (sessions.Completion, func()) {
		p := &program.Program{Config: program.Config{Agent: "worker", Kind: "nats", Classification: flow.Internal, Carrier: h.Agents, Now: time.Now}}
		m, over := p.Work(&sessions.Run{ID: sessions.NewRunID(), Session: "sess_1"}, flow.Bottom, "")
		c, err := m.Complete(t.Context(), sessions.Request{
			Messages: []sessions.Message{{Role: sessions.RoleUser, Parts: []sessions.Part{sessions.TextPart(text, flow.Bottom())}}},
		}, func(sessions.Chunk) {})
		require.NoError(t, err)
		return c, over
	}
	c, over := ask("wait")
	require.Equal(t, "clock", c.Parts[0].Tool)
	for range 3 {
		c, also := ask("say hi")
		require.Equal(t, "hi", c.Parts[0].Text)
		also()
	}
	require.Empty(t, released)
	over() // the run is suspended: a person is asked about the call
	require.ErrorIs(t, <-released, context.Canceled)
}

// Instances say what they are.
func TestInstancesAreListed(t *testing.T) {
	t.Parallel()
	h := openHall(t)
	all, err := h.Agents.Instances(t.Context())
	require.NoError(t, err)
	require.Empty(t, all)
	for _, agent := range []string{"two", "one", "two"} {
		ctx, end := context.WithCancel(context.Background())
		h.serve(ctx, t, agent, h.key(t, agent), end, func(context.Context, *agentkit.Work) (string, error) { return "hi", nil })
	}
	all, err = h.Agents.Instances(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 3)
	for i, agent := range []string{"one", "two", "two"} {
		require.Equal(t, agent, all[i].Agent)
		require.Equal(t, "1.2.3", all[i].Version)
		require.NotEmpty(t, all[i].ID)
		require.WithinDuration(t, time.Now(), all[i].Started, time.Minute)
	}
}

// A program can't pose as an instance of another agent, and is disconnected when its key is removed.
func TestInstancesAreHonest(t *testing.T) {
	t.Parallel()
	h := openHall(t)
	seed := h.key(t, "two")
	closed := make(chan struct{})
	conn, err := nats.Connect(h.url, nkeyOf(t, seed), nats.NoReconnect(), nats.ClosedHandler(func(*nats.Conn) { close(closed) }))
	require.NoError(t, err)
	defer conn.Close()
	for _, agent := range []string{"one", "two", "two"} {
		_, err := micro.AddService(conn, micro.Config{Name: agentkit.ServiceName, Version: "1.0.0", Metadata: map[string]string{"agent": agent}})
		require.NoError(t, err)
	}
	require.NoError(t, conn.Flush())
	all, err := h.Agents.Instances(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, "two", all[0].Agent)

	h.Agents.Recheck()
	require.True(t, conn.IsConnected())
	h.mu.Lock()
	clear(h.keys)
	h.mu.Unlock()
	h.Agents.Recheck()
	<-closed
}

// Without an instance, a turn fails at once, and says why.
func TestAnAbsentProgram(t *testing.T) {
	t.Parallel()
	h := openHall(t)
	line, err := h.Agents.Begin(t.Context(), program.Run{Agent: "nobody", ID: "run_1"})
	require.NoError(t, err)
	defer line.Close("")
	require.NoError(t, line.Send(t.Context(), []byte("{}"), "gone"))
	_, err = line.Next(t.Context())
	require.ErrorIs(t, err, program.ErrAbsent)
}

// A program has its own subjects alone.
func TestAProgramKeepsToItsSubjects(t *testing.T) {
	t.Parallel()
	h := openHall(t)
	seed := h.key(t, "one")
	denied := make(chan error, 100)
	conn, err := nats.Connect(h.url, nkeyOf(t, seed), nats.CustomInboxPrefix("_INBOX.one"), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { denied <- err }))
	require.NoError(t, err)
	defer conn.Close()
	for _, subject := range []string{"sluice.>", "sluice.steps.*", "sluice.events.>", "sluice.agent.*.runs", "sluice.agent.two.runs", "sluice.agent.two.out.*", "sluice.agent.one.out.*", "_INBOX.>", "$JS.>", ">"} {
		_, err := conn.SubscribeSync(subject)
		require.NoError(t, err)
		require.NoError(t, conn.Flush())
		require.ErrorIs(t, <-denied, nats.ErrPermissionViolation, subject)
	}
	for _, subject := range []string{"sluice.steps.0", "sluice.events.sess_1", "sluice.wake.0", "sluice.members", "sluice.agent.one.runs", "sluice.agent.two.runs", "sluice.agent.two.out.run_1", "sluice.agent.one.out", "$JS.API.STREAM.DELETE.SLUICE_STEPS", "$SRV.STATS", "_INBOX.x.y"} {
		require.NoError(t, conn.Publish(subject, []byte("{}")))
		require.NoError(t, conn.Flush())
		require.ErrorIs(t, <-denied, nats.ErrPermissionViolation, subject)
	}
	require.NoError(t, conn.Publish("sluice.agent.one.out.run_1", []byte("{}")))
	require.NoError(t, conn.Flush())
	require.Empty(t, denied)
}

// Only who has the private key of a configured agent connects.
func TestProgramsNeedTheirKey(t *testing.T) {
	t.Parallel()
	h := openHall(t)
	seed := h.key(t, "one")
	pair, err := nkeys.FromSeed([]byte(seed))
	require.NoError(t, err)
	public, err := pair.PublicKey()
	require.NoError(t, err)
	other, err := nkeys.CreateUser()
	require.NoError(t, err)
	stranger, err := other.PublicKey()
	require.NoError(t, err)
	for name, option := range map[string]nats.Option{
		"an unknown key":                 nats.Nkey(stranger, other.Sign),
		"another key's signature":        nats.Nkey(public, other.Sign),
		"no signature":                   nats.Nkey(public, func([]byte) ([]byte, error) { return nil, nil }),
		"a signature of something else":  nats.Nkey(public, func([]byte) ([]byte, error) { return pair.Sign([]byte("something else")) }),
		"the key as a name":              nats.UserInfo(public, ""),
		"a signature that can't be made": nats.Nkey(public, func([]byte) ([]byte, error) { return nil, errors.New("lost") }),
	} {
		_, err := nats.Connect(h.url, option)
		require.Error(t, err, name)
	}
	conn, err := nats.Connect(h.url, nkeyOf(t, seed))
	require.NoError(t, err)
	conn.Close()
}

// A program that sends faster than the gateway reads ends its own turn, and not the gateway.
func TestAFloodOfFrames(t *testing.T) {
	t.Parallel()
	h := openHall(t)
	conn, err := nats.Connect(h.url, nkeyOf(t, h.key(t, "one")))
	require.NoError(t, err)
	defer conn.Close()
	_, err = micro.AddService(conn, micro.Config{Name: agentkit.ServiceName, Version: "1.0.0", Metadata: map[string]string{"agent": "one"}})
	require.NoError(t, err)
	line, err := h.Agents.Begin(t.Context(), program.Run{Agent: "one", ID: "run_1"})
	require.NoError(t, err)
	defer line.Close("turn")
	for range 10_000 {
		require.NoError(t, conn.Publish("sluice.agent.one.out.run_1", []byte("{}")))
	}
	require.NoError(t, conn.Flush())
	there, err := h.Agents.Instances(t.Context()) // what the program says of itself comes behind its frames
	require.NoError(t, err)
	require.Len(t, there, 1)
	var frames int
	for err == nil {
		_, err = line.Next(t.Context())
		frames++
	}
	require.ErrorIs(t, err, program.ErrFlood)
	require.LessOrEqual(t, frames, 10_000)
}
