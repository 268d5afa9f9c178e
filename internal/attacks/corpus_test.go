package attacks_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/policy"
)

// attack is a scripted adversary.
type attack struct {
	path string // L1 to L16 of docs/security-model.md; rules, trust: who commands; border: who comes from outside; cost: who takes what others need
	name string
	// without are the checkpoints of which each alone, taken away, lets it succeed.
	without []policy.Checkpoint
	// act does what the adversary does. Wherever the secret then shows is found by the sweep that follows; what
	// else would give something away it notes itself.
	act func(s *scene)
}

// corpus is all of them, in their order.
func corpus() []attack {
	return slices.Concat(taskAttacks(), modelAttacks(), memoryAttacks(), hiddenAttacks(), fieldAttacks(), chatAttacks(), stateAttacks(), labelAttacks(), wayAttacks(), settingAttacks(), wordAttacks(), toldAttacks(), limitAttacks(), operatorAttacks(),
		placeAttacks(), quotedAttacks(), partAttacks(), borderAttacks(), costAttacks(), jobAttacks(), alertAttacks(), causeAttacks(), wakeAttacks(), alarmAttacks(), skillAttacks(), configAttacks())
}

// play plays an attack and looks for what it gave away. The scene has the result: the leaks, and what should have happened and did not.
func (w *world) play(n int, a attack, look func(*scene)) *scene {
	s := w.scene(n)
	defer s.end()
	a.act(s)
	look(s)
	return s
}

// Every path has its attacks.
func TestCorpusIsWhole(t *testing.T) {
	t.Parallel()
	seen, paths := map[string]bool{}, map[string]int{}
	for _, a := range corpus() {
		require.False(t, seen[a.name], "%s is there twice", a.name)
		seen[a.name] = true
		paths[a.path]++
	}
	require.GreaterOrEqual(t, len(seen), 60)
	for n := range 16 {
		require.Positive(t, paths[fmt.Sprintf("L%d", n+1)], "L%d has no attack", n+1)
	}
}

// worlds is how many gateways share the attacks: some attacks wait for what a gateway does after a while, and a gateway with
// fewer sessions is searched faster.
const worlds = 4

func TestCorpus(t *testing.T) {
	t.Parallel()
	attacks := corpus()
	rows := make([]attackRow, len(attacks))
	t.Run("attacks", func(t *testing.T) {
		for from := range worlds {
			t.Run(fmt.Sprint(from), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, lenient)
				for n := from; n < len(attacks); n += worlds {
					rows[n] = w.try(t, n, attacks[n])
				}
			})
		}
	})
	require.NotContains(t, rows, attackRow{}, "an attack was not tried")
	keep(t, "corpus.json", rows)
}

// try plays an attack, which must not succeed.
func (w *world) try(t *testing.T, n int, a attack) attackRow {
	t.Helper()
	s := w.play(n, a, (*scene).sweep)
	for _, leak := range s.leaks {
		t.Errorf("%s %s: it succeeds: %s", a.path, a.name, leak)
	}
	for _, lack := range s.lacks {
		t.Errorf("%s %s: %s", a.path, a.name, lack)
	}
	return attackRow{a.path, a.name, len(s.leaks) == 0, len(s.lacks) == 0}
}
