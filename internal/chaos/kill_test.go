package chaos_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// campaign is a number of messages and of kills between them.
type campaign struct {
	people, each, kills int
	horizon             time.Duration // the longest life of a gateway that is to be killed
	words               func(w *world) string
	end                 func(w *world) // how a life ends
}

// newCampaign has 200 messages of 20 people and 25 kills in the full run, 24 of 8 and 4 otherwise.
func newCampaign() campaign {
	c := campaign{words: func(*world) string { return "" }, end: (*world).kill, horizon: 80 * time.Millisecond}
	c.people, c.each, c.kills = 8, 3, 4
	if *long {
		c.people, c.each, c.kills = 20, 10, 25
	}
	return c
}

// thinking makes the runs of a campaign slow, long or use tools, now and then.
func (c campaign) thinking() campaign {
	c.horizon = 3 * time.Second
	c.words = func(w *world) string {
		return []string{"", "[tool]", "[slow]", "[tool] [slow]"}[w.rng.IntN(4)]
	}
	return c
}

// run says all messages while the gateway lives and dies.
func (c campaign) run(w *world) {
	w.t.Helper()
	speakers := c.speakers(w)
	share := (len(speakers) + c.kills - 1) / c.kills
	for chunk := range slices.Chunk(speakers, share) {
		if w.rng.IntN(4) == 0 {
			w.start() // and die while it starts, or soon after
		} else {
			w.startReady()
		}
		c.life(w, chunk)
	}
	for w.lives < c.kills { // rounding may have left some over
		w.startReady()
		c.life(w, nil)
	}
	w.startReady()
}

// life spreads the messages over a random time and then ends the gateway.
func (c campaign) life(w *world, speakers []int64) {
	span := time.Duration(w.rng.Int64N(int64(c.horizon)))
	moments := make([]time.Duration, len(speakers))
	for i := range moments {
		moments[i] = time.Duration(w.rng.Int64N(int64(span) + 1))
	}
	slices.Sort(moments)
	began := time.Now()
	for i, person := range speakers {
		w.pause(moments[i] - time.Since(began))
		w.say(person, c.words(w))
	}
	w.pause(span - time.Since(began))
	c.end(w)
}

// speakers are the people in the random order in which they speak.
func (c campaign) speakers(w *world) []int64 {
	var order []int64
	for i := range c.people * c.each {
		order = append(order, int64(1001+i%c.people))
	}
	w.rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	return order
}

func TestKillAtRandom(t *testing.T) {
	t.Parallel()
	for name := range platforms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, mode := range modes("followup", "collect") {
				t.Run("instant model, "+mode, func(t *testing.T) {
					w := newWorld(t, options{platform: name, queue: mode, seedPlus: 1})
					newCampaign().run(w)
					w.settle()
					w.judge()
				})
			}
		})
	}
}

func TestKillAtRandomWhileThinking(t *testing.T) {
	t.Parallel()
	for name := range platforms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, mode := range modes("collect", "followup") {
				t.Run("slow model, "+mode, func(t *testing.T) {
					w := newWorld(t, options{platform: name, queue: mode, slow: 1800 * time.Millisecond, seedPlus: 3})
					newCampaign().thinking().run(w)
					w.settle()
					w.judge()
				})
			}
		})
	}
}

func TestTerminateUnderLoad(t *testing.T) {
	t.Parallel()
	for name := range platforms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			t.Run("instant", func(t *testing.T) {
				terminateUnderLoad(t, newCampaign(), options{platform: name, seedPlus: 5})
			})
			t.Run("slow", func(t *testing.T) {
				terminateUnderLoad(t, newCampaign().thinking(), options{platform: name, slow: 1800 * time.Millisecond, seedPlus: 6})
			})
		})
	}
}

func terminateUnderLoad(t *testing.T, c campaign, o options) {
	t.Helper()
	c.end, c.kills = (*world).terminateSoon, (c.kills+1)/2
	w := newWorld(t, o)
	c.run(w)
	w.settle()
	verdict, unknown := w.judge()
	require.Empty(t, unknown, "an orderly end leaves no doubt")
	require.Empty(t, verdict.Repeats)
}

// terminateSoon ends the gateway in order. One that is still starting is given
// the time until it listens for signals.
func (w *world) terminateSoon() {
	ctx, cancel := context.WithTimeout(w.t.Context(), readyWithin)
	defer cancel()
	_ = w.process.WaitReady(ctx) // if it does not become ready, the exit code tells
	w.terminate()
}
