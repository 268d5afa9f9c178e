//go:build mutants

package attacks_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/policy"
)

// mutantRow is a checkpoint and the attack that succeeds without it.
type mutantRow struct{ Checkpoint, Attack, Seen string }

// Without any one of the checkpoints an attack of the corpus succeeds: none of them is there for nothing, and the
// corpus would see it go.
func TestMutants(t *testing.T) {
	w := newWorld(t, lenient)
	n := len(corpus())
	rows := []mutantRow{}
	for _, at := range checkpoints(t) {
		row := mutantRow{Checkpoint: string(at)}
		for _, a := range corpus() {
			if !slices.Contains(a.without, at) {
				continue
			}
			s := w.playWithout(n, at, a)
			n++
			if len(s.leaks) == 0 {
				t.Errorf("without %s the attack does not succeed: %s", at, a.name)
			}
			if row.Attack == "" && len(s.leaks) > 0 {
				row.Attack, row.Seen = a.path+": "+a.name, placeOf(s.leaks[0])
			}
		}
		require.NotEmpty(t, row.Attack, "no attack of the corpus needs the checkpoint %s", at)
		rows = append(rows, row)
		t.Logf("%s → %s (%s)", row.Checkpoint, row.Attack, row.Seen)
	}
	keep(t, "mutants.json", rows)
}

// playWithout plays an attack with a checkpoint taken away, and looks for the secret until it is seen once.
func (w *world) playWithout(n int, at policy.Checkpoint, a attack) *scene {
	defer policy.Without(at)()
	return w.play(n, a, (*scene).sweepUntilSeen)
}

// placeOf is where a leak was seen, without what was seen there.
func placeOf(leak string) string {
	place, _, _ := strings.Cut(leak, ": ")
	return place
}

// sweepUntilSeen is a sweep that ends when the secret has been seen, also if that was before the sweep.
func (s *scene) sweepUntilSeen() {
	s.t.Helper()
	s.settle()
	for _, look := range s.looks() {
		if len(s.leaks) > 0 {
			return
		}
		look()
	}
}
