package chaos_test

import (
	"context"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"sluice/internal/chaos/child"
	"sluice/internal/freeport"
	"sluice/store/storetest"
)

// takenWithin is how soon another gateway has what a killed one had.
const takenWithin = 10 * time.Second

// pair is two gateways on one store and one bus. The first of them is the
// process of its world, and owner of the account.
type pair struct {
	*world
	other   *child.Process
	configs [2]child.Config // of the owner and of the other
	late    int             // calls that a thawed gateway may send before it sees that it lost the account
}

// startNATS starts a server of the test's own and gives its address.
func startNATS(t *testing.T) string {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true})
	require.NoError(t, err)
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	require.True(t, s.ReadyForConnections(readyWithin))
	return s.ClientURL()
}

func newPair(t *testing.T, platform string, postgres *storetest.Server) *pair {
	t.Helper()
	return startPair(t, options{platform: platform, owners: askers(), seedPlus: 40}, postgres)
}

func startPair(t *testing.T, o options, postgres *storetest.Server) *pair {
	t.Helper()
	o.store, o.bus = postgres.Database(t), startNATS(t)
	w := newWorld(t, o)
	w.config.Visibility = "all"
	p := &pair{world: w}
	p.configs[0], p.configs[1] = w.config, w.config
	addr, err := freeport.Addr()
	require.NoError(t, err)
	p.configs[1].Listen, p.configs[1].State = addr, w.config.State+"-other"
	t.Cleanup(func() {
		if p.other != nil {
			p.other.Kill()
		}
		if t.Failed() { // the world shows the log of the owner
			t.Logf("the other gateway's log ends with:\n%s", tail(p.configs[1].LogPath()))
		}
	})
	w.startReady()
	p.untilConnected(true)
	p.startOther()
	return p
}

// startOther starts the gateway that is not there.
func (p *pair) startOther() {
	p.t.Helper()
	other, err := child.Start(p.binary, p.configs[1])
	require.NoError(p.t, err)
	p.other = other
	p.lives++
	ctx, cancel := context.WithTimeout(p.t.Context(), readyWithin)
	defer cancel()
	require.NoError(p.t, other.WaitReady(ctx))
}

// endOwner ends the gateway that is connected, and waits until the other one is,
// which is the owner from then on. It tells how long that took.
func (p *pair) endOwner(end func(*pair)) time.Duration {
	p.t.Helper()
	end(p)
	began := time.Now()
	p.process, p.other = p.other, nil
	p.configs[0], p.configs[1] = p.configs[1], p.configs[0]
	p.config = p.configs[0]
	p.say(1001, "") // perhaps while nobody listens
	p.untilConnected(true)
	return time.Since(began)
}

// killAndGone kills the owner and waits until the platform has noticed.
func (p *pair) killAndGone() {
	p.t.Helper()
	p.kill()
	p.untilConnected(false)
}

// untilConnected waits until a gateway is connected, or none is. It has to ask: a
// fake tells nobody of it.
func (p *pair) untilConnected(want bool) {
	p.t.Helper()
	deadline := time.Now().Add(takenWithin)
	for p.connected() != want {
		require.True(p.t, time.Now().Before(deadline), "not within %s: connected is %t", takenWithin, want)
		p.pause(askEvery)
	}
}

// connected reports whether a gateway is connected, and fails if two are.
func (p *pair) connected() bool {
	p.t.Helper()
	open, most := p.chat.connections()
	require.LessOrEqual(p.t, open, most+p.late, "the account is connected more than once")
	return open > 0
}

// talk lets people write for a while, both gateways being there or one of them dying.
func (p *pair) talk(messages int, once bool) {
	p.t.Helper()
	for range messages {
		p.pause(time.Duration(p.rng.Int64N(int64(100 * time.Millisecond))))
		p.say(1001+p.rng.Int64N(6), "")
		if once {
			p.connected()
		}
	}
}

func TestTwoGatewaysFailOver(t *testing.T) {
	t.Parallel()
	postgres := storetest.NewServer(t)
	rounds := 1
	if *long {
		rounds = 5
	}
	for _, name := range []string{"telegram", "slack socket", "discord"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPair(t, name, postgres)
			for range rounds {
				p.talk(10, true)
				took := p.endOwner((*pair).killAndGone)
				t.Logf("the other gateway had the account %s after the kill", took.Round(time.Millisecond))
				p.talk(5, true)
				p.startOther()
				p.talk(5, true)
				took = p.endOwner(func(p *pair) { p.terminate() })
				t.Logf("the other gateway had the account %s after an orderly end", took.Round(time.Millisecond))
				p.startOther()
			}
			p.awaitAnswers()
			p.judgeOnce()
		})
	}
}

// judgeOnce judges at the end, while both gateways run.
func (p *pair) judgeOnce() {
	p.t.Helper()
	before := p.sent()
	p.pause(quiet)
	p.connected()
	require.Equal(p.t, before, p.sent(), "something is said again")
	require.Empty(p.t, p.rows("failed", "expired", "blocked"), "dead letters")
	p.judge()
}

// TestFrozenOwner stops a gateway without ending it, as a machine does that is moved or
// swaps, until another one has its account, and then lets it go on.
func TestFrozenOwner(t *testing.T) {
	t.Parallel()
	postgres := storetest.NewServer(t)
	frozen := takenWithin
	if *long {
		frozen = 30 * time.Second
	}
	for _, name := range []string{"telegram", "slack socket", "discord"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPair(t, name, postgres)
			if name == "telegram" { // the other platforms see connections, not calls
				p.late = 1
			}
			p.talk(10, false)
			require.NoError(t, p.process.Freeze())
			p.talk(10, false)
			p.pause(frozen)
			p.talk(5, false)
			require.NoError(t, p.process.Thaw())
			p.talk(10, false)
			p.awaitAnswers()
			p.judgeOnce()
		})
	}
}
