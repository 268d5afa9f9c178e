package chaos_test

import (
	"context"
	"slices"
	"testing"
	"time"
)

// campaign is a number of messages and of kills between them.
type campaign struct {
	people, each, kills int
	horizon             time.Duration // the longest life of a gateway that is to be killed
	words               func(w *world) string
	end                 func(w *world) // how a life ends
}

func (c campaign) size(short, full int) int {
	if *long {
		return full
	}
	return short
}

func newCampaign() campaign {
	c := campaign{words: func(*world) string { return "" }, end: (*world).kill, horizon: 80 * time.Millisecond}
	c.people, c.each, c.kills = c.size(8, 20), c.size(5, 10), c.size(6, 25)
	return c
}

// moods are words that make runs slow, long or use tools, now and then.
func moods(w *world) string {
	return []string{"", "[tool]", "[slow]", "[tool] [slow]"}[w.rng.IntN(4)]
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

func TestChaosKill(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		options options
		horizon time.Duration
		words   func(*world) string
	}{
		"instant followup": {options: options{model: "offline/echo", queue: "followup", seedPlus: 1}},
		"instant collect":  {options: options{model: "offline/echo", queue: "collect", seedPlus: 2}},
		"slow followup":    {options: options{queue: "followup", slow: 1800 * time.Millisecond, seedPlus: 3}, horizon: 3 * time.Second, words: moods},
		"slow collect":     {options: options{queue: "collect", slow: 1800 * time.Millisecond, seedPlus: 4}, horizon: 3 * time.Second, words: moods},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			c := newCampaign()
			if tt.horizon > 0 {
				c.horizon, c.words = tt.horizon, tt.words
			}
			w := newWorld(t, tt.options)
			c.run(w)
			w.settle()
			w.judge()
		})
	}
}

func TestChaosTerminate(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]options{
		"instant": {model: "offline/echo", seedPlus: 5},
		"slow":    {slow: 1800 * time.Millisecond, seedPlus: 6},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCampaign()
			c.end, c.kills = (*world).terminateSoon, c.size(4, 15)
			if o.model == "" {
				c.horizon, c.words = 2*time.Second, moods
			}
			w := newWorld(t, o)
			c.run(w)
			w.settle()
			verdict, unknown := w.judge()
			if len(unknown)+len(verdict.Repeats) > 0 {
				t.Fatalf("an orderly end left %d unknown sends and repeated %v", len(unknown), verdict.Repeats)
			}
		})
	}
}

// terminateSoon ends the gateway in order. One that is still starting is given
// the time until it listens for signals.
func (w *world) terminateSoon() {
	ctx, cancel := context.WithTimeout(w.t.Context(), readyWithin)
	defer cancel()
	_ = w.process.WaitReady(ctx) // if it does not become ready, the exit code tells
	w.terminate()
}
