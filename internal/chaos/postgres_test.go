package chaos_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/store/storetest"
)

func TestKillOnPostgres(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{store: storetest.NewServer(t).Database(t), seedPlus: 30})
	newCampaign().run(w)
	w.settle()
	w.judge()
}

// outages is a campaign in which the database is killed again and again and the gateway lives on.
type outages struct {
	kills, people, each int // each: messages between two kills
	words               func(w *world) string
}

func newOutages() outages {
	o := outages{kills: 2, people: 10, each: 40}
	if *long {
		o.kills, o.people, o.each = 14, 20, 230
	}
	return o
}

// run lets people write while the database dies and comes back.
func (o outages) run(w *world, server *storetest.Server) {
	w.t.Helper()
	w.startReady()
	for range o.kills {
		dies := w.rng.IntN(o.each)
		for i := range o.each {
			words := ""
			if o.words != nil {
				words = o.words(w)
			}
			w.say(int64(1001+w.rng.IntN(o.people)), words)
			w.pause(2 * time.Millisecond)
			if i == dies {
				w.pause(time.Duration(w.rng.Int64N(int64(80 * time.Millisecond))))
				server.Kill(w.t)
			}
		}
		w.pause(time.Duration(w.rng.Int64N(int64(2 * time.Second))))
		server.Start(w.t)
		w.awaitAnswers()
	}
}

// A gateway that lives on while its database dies says nothing twice: it has every receipt in hand, or stored.
func TestDatabaseIsKilled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		slow  time.Duration
		words func(w *world) string
	}{
		"instant model": {},
		"slow model": {slow: 1500 * time.Millisecond, words: func(w *world) string {
			return []string{"", "", "[slow]", "[tool]"}[w.rng.IntN(4)]
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := storetest.NewServer(t)
			w := newWorld(t, options{store: server.Database(t), slow: c.slow, seedPlus: 31})
			o := newOutages()
			o.words = c.words
			o.run(w, server)
			require.Equal(t, 1, w.lives)
			verdict, unknown := w.judge()
			require.Empty(t, unknown, "a process that lives on knows what it has sent")
			require.Empty(t, verdict.Repeats)
			w.saysOutagesOnce(o.kills)
			w.settle()
		})
	}
}

// saysOutagesOnce looks at the log: one line when the database goes and one when it is back.
func (w *world) saysOutagesOnce(kills int) {
	w.t.Helper()
	log := w.log()
	gone, back := strings.Count(log, "database is unavailable"), strings.Count(log, "database is available again")
	lines := strings.Count(log, "\n")
	w.t.Logf("%d outages: %d lines say that it is unavailable, %d that it is available again; %d lines in all", kills, gone, back, lines)
	require.Equal(w.t, gone, back)
	require.GreaterOrEqual(w.t, gone, kills, "each is said")
	require.LessOrEqual(w.t, gone, 2*kills, "a line for each outage, or two where it fails again while it recovers")
	require.Less(w.t, lines, 100+20*kills, "not one for each lane and try")
}
