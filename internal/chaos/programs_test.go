package chaos_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"sluice/agentkit"
	"sluice/internal/freeport"
)

// herd is the instances of an agent's program. They die and are replaced.
type herd struct {
	w       *world
	options agentkit.Options
	running sync.WaitGroup
	mu      sync.Mutex
	stops   []context.CancelFunc
	worked  map[string]int // turns that were answered, by run
}

// newHerd makes the world's agent a program on the bus.
func newHerd(w *world) *herd {
	w.t.Helper()
	addr, err := freeport.Addr()
	require.NoError(w.t, err)
	pair, err := nkeys.CreateUser()
	require.NoError(w.t, err)
	public, err := pair.PublicKey()
	require.NoError(w.t, err)
	seed, err := pair.Seed()
	require.NoError(w.t, err)
	w.config.BusListen = addr
	w.config.Extra += "agents: { list: [{ id: main, kind: nats, classification: RESTRICTED, nkey: " + public + " }] }\n"
	h := &herd{w: w, options: agentkit.Options{Agent: "main", URL: "nats://" + addr, Seed: string(seed)}, worked: map[string]int{}}
	w.t.Cleanup(h.end)
	return h
}

// add starts an instance, which connects as soon as there is a gateway.
func (h *herd) add() {
	ctx, stop := context.WithCancel(context.Background())
	h.mu.Lock()
	h.stops = append(h.stops, stop)
	h.mu.Unlock()
	h.running.Go(func() {
		for ctx.Err() == nil {
			_ = agentkit.Serve(ctx, h.options, h.answer) // there is no gateway at the moment
			select {
			case <-time.After(20 * time.Millisecond):
			case <-ctx.Done():
			}
		}
	})
}

// crash ends the oldest instance in the middle of what it does: it says nothing more.
func (h *herd) crash() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stops[0]()
	h.stops = h.stops[1:]
}

func (h *herd) end() {
	h.mu.Lock()
	for _, stop := range h.stops {
		stop()
	}
	h.mu.Unlock()
	h.running.Wait()
}

// answer repeats what was said since the last reply, after a call of a tool now and then.
func (h *herd) answer(ctx context.Context, w *agentkit.Work) (string, error) {
	var said []string
	for _, m := range slices.Backward(w.Messages) {
		if m.Role == agentkit.RoleAssistant && len(m.Calls) == 0 {
			break
		}
		if m.Role == agentkit.RoleUser {
			said = append(said, m.Text)
		}
	}
	slices.Reverse(said)
	text := strings.Join(said, "\n")
	if strings.Contains(text, "[tool]") {
		if _, err := w.Call(ctx, "session_status", map[string]any{}); err != nil {
			return "", err
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.worked[w.Run]++
	return "echo: " + text, nil
}

// The agent is a program on the bus. The gateway is killed at random, and so are the program's instances: each message is answered,
// and none twice.
func TestProgramsThroughDeath(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{seedPlus: 80})
	h := newHerd(w)
	h.add()
	h.add()
	c := newCampaign()
	c.horizon = 400 * time.Millisecond
	c.words = func(w *world) string { return []string{"", "[tool]"}[w.rng.IntN(2)] }
	c.end = func(w *world) {
		if *long && w.rng.IntN(4) == 0 { // noticed by its silence, which takes long
			h.add()
			h.crash()
		}
		w.kill()
	}
	c.run(w)
	w.settle()
	w.judge()
}
