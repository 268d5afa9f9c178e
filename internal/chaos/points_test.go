package chaos_test

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/chaos"
	"sluice/internal/chaos/completions"
	"sluice/internal/faultpoint"
)

// step is what it takes to reach a fault point, and what a kill there may cost.
type step struct {
	point faultpoint.Point
	words string // asks the model for what the point needs
	// unknown: the kill falls between a call of the platform and its receipt, so
	// the gateway can't know whether the message was shown.
	unknown bool
}

// points are all fault points, as the program declares them.
func points(t *testing.T) (all []faultpoint.Point) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join("..", "faultpoint", "point.go"), nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); ok && kind.Name == "Point" {
			name, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			require.NoError(t, err)
			all = append(all, faultpoint.Point(name))
		}
		return true
	})
	require.NotEmpty(t, all)
	return all
}

// steps are all points. A point that is missing here fails the test.
func steps(t *testing.T) []step {
	t.Helper()
	var all []step
	for _, p := range points(t) {
		s := step{point: p}
		switch p {
		case faultpoint.ToolBeforeIntent, faultpoint.ToolAfterCall:
			s.words = "[tool]"
		case faultpoint.PreviewBeforeSend, faultpoint.PreviewAfterSend, faultpoint.PreviewBeforeFinal, faultpoint.FinishAfterCommit:
			// An answer with a preview is queued when its run ends. The intent to send any other answer is stored with the end
			// of its run, so that this end is the step SendAfterIntent.
			s.words = "[slow]"
			s.unknown = p == faultpoint.PreviewBeforeSend || p == faultpoint.PreviewAfterSend
		case faultpoint.SendBetweenChunks:
			s.words, s.unknown = "[long]", true
		case faultpoint.SendAfterIntent, faultpoint.SendAfterCall:
			s.unknown = true
		}
		all = append(all, s)
	}
	return all
}

func TestKillAtEveryStep(t *testing.T) {
	t.Parallel()
	for name := range platforms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, mode := range modes("followup", "collect") {
				t.Run(mode, func(t *testing.T) {
					w := newWorld(t, options{platform: name, queue: mode, slow: 1500 * time.Millisecond, binary: built.faulty, seedPlus: 10})
					w.dieAtAll(steps(t))
				})
			}
		})
	}
}

// dieAtAll dies once at each step; each time a person of its own has asked for something.
func (w *world) dieAtAll(all []step) {
	w.t.Helper()
	for i, s := range all {
		w.dieAt(s, int64(2001+i))
	}
	w.settle()
	verdict, unknown := w.judge()
	w.t.Logf("killed at %d steps; %d sends unknown, %d messages shown twice", len(all), len(unknown), len(verdict.Repeats))
}

// modes are the queue modes to be tested: the first alone in a short run.
func modes(all ...string) []string {
	if *long {
		return all
	}
	return all[:1]
}

// dieAt lets the gateway live until a person's message has come to a step, and
// again without harm until the message is answered.
func (w *world) dieAt(s step, person int64) {
	w.t.Helper()
	var said chaos.Said
	w.dies(string(s.point), func() { said = w.say(person, s.words) })
	w.awaitAnswers()
	unknown := len(w.rows("unknown")) - w.unknown
	w.unknown += unknown
	repeats := chaos.Judge([]chaos.Said{said}, w.sent()).Repeats[said.Token]
	w.t.Logf("%-22s unknown %d, repeats %d", s.point, unknown, repeats)
	if !s.unknown || w.chat.settles() {
		require.Zero(w.t, unknown, "step %s: nothing was on its way to the platform, or it can be looked up", s.point)
	}
	require.LessOrEqual(w.t, unknown, 1, "step %s", s.point)
	require.LessOrEqual(w.t, repeats, unknown, "step %s: a repeat that nobody counts", s.point)
	if strings.Contains(s.words, "[long]") {
		w.wholeLongAnswer(person, unknown)
	}
}

// startArmable starts a gateway that dies where the file w.armed says.
func (w *world) startArmable() {
	w.t.Helper()
	w.startReady(faultpoint.Env + "=" + w.armed)
}

// dies lets the gateway that runs die at a point because of what is done, and starts the next one.
func (w *world) dies(point string, do func()) {
	w.t.Helper()
	if w.process == nil {
		w.startArmable()
	}
	require.NoError(w.t, os.WriteFile(w.armed, []byte(point), 0o600))
	do()
	ctx, cancel := context.WithTimeout(w.t.Context(), readyWithin)
	defer cancel()
	killed, err := w.process.Killed(ctx)
	require.NoError(w.t, err, "%s was not reached", point)
	require.True(w.t, killed, "%s: the gateway ended otherwise", point)
	require.NoError(w.t, os.Remove(w.armed))
	w.startArmable()
}

// wholeLongAnswer checks that each line of a long answer is shown, in order; of
// each unknown send one piece may be there twice.
func (w *world) wholeLongAnswer(person int64, unknown int) {
	w.t.Helper()
	next, repeats := 1, 0
	for _, text := range w.chat.shown(person) {
		first := next
		for n := 1; n <= completions.LongLines; n++ {
			switch has := strings.Contains(text, completions.LongLine(n)); {
			case has && n == next:
				next++
			case has && n < first:
				repeats++
			case has:
				require.Failf(w.t, "a line is missing", "want %d, found %d", next, n)
			}
		}
	}
	require.Equal(w.t, completions.LongLines+1, next, "the long answer is whole")
	require.LessOrEqual(w.t, repeats, unknown*completions.LongLines)
}
