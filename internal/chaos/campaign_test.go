package chaos_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/chaos"
	"sluice/store/storetest"
)

// cluster is a fleet whose gateways have a network and a clock each.
type cluster struct {
	*fleet
	server     *storetest.Server
	bus        *busServers
	toDatabase []*network
	toBus      []*network
	clocks     []machineClock
	disks      bool // each gateway's state has a disk of its own

	confirmed map[int64]int // messages that each person of the rounds before was shown
	tally     tally
}

// tally is the outcome of some messages.
type tally struct{ messages, late, lives, unknown, repeated int }

func newCluster(t *testing.T, gateways int, o options) *cluster {
	t.Helper()
	c := &cluster{server: storetest.NewServer(t), bus: newBusServers(t, 1), confirmed: map[int64]int{}}
	database := c.server.Database(t)
	o.store, o.bus, o.seedPlus, o.binary = database, c.bus.urls(), 120, built.faulty
	c.fleet = fleetOf(t, gateways, o)
	u, err := url.Parse(database)
	require.NoError(t, err)
	socket := u.Query().Get("host") + "/.s.PGSQL.5432"
	for i := range gateways {
		toDatabase := newNetwork(t, *seed+uint64(2*i), "unix", socket)
		toBus := newNetwork(t, *seed+uint64(2*i+1), "tcp", strings.TrimPrefix(c.bus.urls(), "nats://"))
		u.RawQuery, u.Host = "connect_timeout=5", toDatabase.addr()
		c.configs[i].StoreURL, c.configs[i].BusURL = u.String(), "nats://"+toBus.addr()
		clock := newClock(t)
		c.env[i] = clock.env()
		c.toDatabase, c.toBus, c.clocks = append(c.toDatabase, toDatabase), append(c.toBus, toBus), append(c.clocks, clock)
	}
	return c
}

// runAll starts the gateways.
func (c *cluster) runAll() {
	c.t.Helper()
	for i := range c.each {
		c.run(i, c.binary)
	}
	c.process, c.config = c.each[0], c.configs[0]
}

// fault is something that happens to one gateway of a cluster, or to what they share. It ends before strike returns.
type fault struct {
	name   string
	rare   bool // only in long runs
	strike func(c *cluster, i int) error
}

// away is how long a fault lasts: long enough that others take over what the gateway had.
func away() time.Duration {
	if *long {
		return 12 * time.Second
	}
	return 7 * time.Second
}

func faults() []fault {
	return []fault{
		{name: "cut from the bus", strike: func(c *cluster, i int) error { return c.without(c.toBus[i]) }},
		{name: "cut from the database", rare: true, strike: func(c *cluster, i int) error { return c.without(c.toDatabase[i]) }},
		{name: "cut from both", rare: true, strike: func(c *cluster, i int) error { return c.without(c.toBus[i], c.toDatabase[i]) }},
		{name: "clock set by an hour", strike: func(c *cluster, i int) error {
			for _, ahead := range []time.Duration{time.Hour, -time.Hour, 0} {
				if err := c.clocks[i].set(ahead); err != nil {
					return err
				}
				c.pause(away() / 3)
			}
			return nil
		}},
		{name: "killed", rare: true, strike: func(c *cluster, i int) error {
			c.each[i].Kill()
			c.pause(away() / 2)
			return c.begin(i, c.binary)
		}},
		{name: "ended and started", rare: true, strike: func(c *cluster, i int) error {
			code, err := c.each[i].Terminate(exitWithin)
			if err != nil || code != 0 {
				return fmt.Errorf("exit code %d: %w", code, err)
			}
			return c.begin(i, c.binary)
		}},
		{name: "frozen", rare: true, strike: func(c *cluster, i int) error {
			if err := c.each[i].Freeze(); err != nil {
				return err
			}
			c.pause(30 * time.Second)
			return c.each[i].Thaw()
		}},
		{name: "slow network", rare: true, strike: func(c *cluster, i int) error {
			c.toBus[i].slow.Store(true)
			c.toDatabase[i].slow.Store(true)
			c.pause(away())
			c.toBus[i].slow.Store(false)
			c.toDatabase[i].slow.Store(false)
			return nil
		}},
		{name: "database killed", rare: true, strike: func(c *cluster, _ int) error {
			c.server.Kill(c.t)
			c.pause(2 * time.Second)
			c.server.Start(c.t)
			return nil
		}},
		{name: "disk full", rare: true, strike: func(c *cluster, i int) error {
			if !c.disks {
				return nil
			}
			return c.fillDisk(i)
		}},
		{name: "bus lost", rare: true, strike: func(c *cluster, _ int) error {
			c.bus.lose(1, c.world, 3*time.Second)
			return nil
		}},
	}
}

// without cuts networks for some time.
func (c *cluster) without(networks ...*network) error {
	for _, n := range networks {
		n.cut()
	}
	c.pause(away())
	for _, n := range networks {
		n.heal()
	}
	return nil
}

// round lets new people write while a fault happens, and judges it.
func (c *cluster) round(f fault, messages int) tally {
	c.t.Helper()
	c.said, c.count, c.lives = nil, map[int64]int{}, 0
	c.first += c.people
	struck := c.rng.IntN(len(c.each))
	done := make(chan struct{})
	var err error
	go func() {
		defer close(done)
		err = f.strike(c, struck)
	}()
	began := time.Now()
	c.talk(messages, done)
	require.NoError(c.t, err, f.name)
	spoke := time.Since(began)
	c.process, c.config = c.each[0], c.configs[0]
	c.awaitRound()
	unknown, late := c.rows("unknown"), c.noteLate()
	verdict := chaos.Judge(c.said, c.sent())
	c.t.Logf("gateway %d %s: %d messages in %s, all answered %s later, %d given again by the platform, %d repeated, %d unknown so far", struck, f.name, len(c.said), spoke.Round(time.Millisecond), (time.Since(began) - spoke).Round(time.Millisecond), late, len(verdict.Repeats), len(unknown))
	require.Empty(c.t, verdict.Faults(unknown), "seed -chaos.seed=%d", *seed)
	if c.chat.settles() {
		require.Empty(c.t, verdict.Repeats)
		require.Empty(c.t, unknown)
	}
	require.Empty(c.t, c.rows("failed", "expired", "blocked"), "dead letters")
	for person := range c.count {
		c.confirmed[person] = len(c.chat.shown(person))
	}
	return tally{len(c.said), late, c.lives, len(unknown), len(verdict.Repeats)}
}

// awaitRound waits until all is answered. To compare all messages after each answer would take longer than the answers.
func (c *cluster) awaitRound() {
	c.t.Helper()
	for deadline := time.Now().Add(answerWithin); ; c.pause(200 * time.Millisecond) {
		shown := 0
		for person := range c.count {
			shown += len(c.chat.shown(person))
		}
		if shown >= len(c.said) && len(chaos.Judge(c.said, c.sent()).Unanswered) == 0 {
			break
		}
		require.True(c.t, time.Now().Before(deadline), "not answered in time: %v; seed -chaos.seed=%d", chaos.Judge(c.said, c.sent()).Unanswered, *seed)
	}
	c.untilIdle()
}

// Three gateways whose machines, networks and clocks have faults, one after the other, again and again, while people write. Each message is
// answered, in its order, and shows twice only if the gateways list the send as unknown.
func TestCampaign(t *testing.T) {
	t.Parallel()
	messages, each := 200, 50
	if *long {
		messages, each = 4000, 400
	}
	messages = max(messages, *many)
	c := newCluster(t, 3, options{platform: *on})
	c.people, c.disks = 150, *long
	for i := range c.configs {
		c.disks = c.disks && ownDisk(t, c.configs[i].State)
	}
	c.runAll()
	all := slices.DeleteFunc(faults(), func(f fault) bool { return f.rare && !*long })
	began := time.Now()
	for c.tally.messages < messages {
		c.rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		for _, f := range all {
			got := c.round(f, each)
			c.tally = tally{c.tally.messages + got.messages, c.tally.late + got.late, c.tally.lives + got.lives, got.unknown, c.tally.repeated + got.repeated}
		}
	}
	c.pause(quiet)
	for person, shown := range c.confirmed {
		require.Len(t, c.chat.shown(person), shown, "something was said again to %d", person)
	}
	t.Logf("%d messages, %d given again by the platform, %d restarts, %d unknown sends, %d repeated, in %s", c.tally.messages, c.tally.late, c.tally.lives, c.tally.unknown, c.tally.repeated, time.Since(began).Round(time.Second))
	c.process = nil
}
