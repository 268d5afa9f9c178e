package budget

import (
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/adapters/telegram/telegramtest"
	"sluice/store/storetest"
)

var (
	update = flag.Bool("update", false, "write testdata")                       //nolint:gochecknoglobals // a flag
	why    = flag.String("why", "", "the reason why limits rise, with -update") //nolint:gochecknoglobals // a flag
)

const (
	batches  = 7 // of each case; the median counts
	together = 6 // messages of a batch, one after the other
	memory   = 2 << 30
	earlier  = 2 // messages that a conversation has before
)

// TestBudget compares what a message costs with testdata/budget.txt. It is not parallel: what is allocated is counted for the process.
//
//nolint:paralleltest // it counts what the process allocates
func TestBudget(t *testing.T) {
	t.Setenv("SLUICE_API_SPECS", "") // the fake platform would check its requests, in this process
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // a collection empties pools
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(memory))
	var b book
	for _, database := range []string{"sqlite", "postgres"} {
		t.Run(database, func(t *testing.T) {
			url, m := "", newMeter()
			if database == "postgres" {
				url = storetest.NewWire(t, storetest.Postgres(t), m.asked).URL
			}
			b.measure(t, newGateway(t, url, m), database)
		})
	}
	b.check(t)
}

// book is all that was measured.
type book struct {
	lines      []line
	statements []statement
}

// cost is that of some messages.
type cost struct {
	counts map[string]float64 // of each statement
	allocs float64
	bytes  float64
}

// scene is something that happens in a conversation which has some messages already.
type scene struct {
	before func(n int) // makes conversation n
	act    func(n int)
	many   int // a batch
}

func (b *book) measure(t *testing.T, g *gateway, database string) {
	t.Helper()
	private := func(n int) telegramtest.Chat { return telegramtest.Private(firstOf(n)) }
	group := func(n int) telegramtest.Chat { return telegramtest.Group(-firstOf(n), "Group") }
	talk := func(chat func(int) telegramtest.Chat) func(int) {
		return func(n int) {
			for range earlier {
				g.say(chat(n), firstOf(n), "How is the weather?", 1)
			}
		}
	}
	say := func(chat func(int) telegramtest.Chat, text string) func(int) {
		return func(n int) { g.say(chat(n), firstOf(n), text, 1) }
	}
	exchange := func(turns int64) scene {
		return scene{
			before: func(n int) { talk(private)(n); talk(group)(n) },
			act: func(n int) {
				g.turns.Store(turns)
				g.say(private(n), firstOf(n), fmt.Sprintf("ask agent:main:telegram:group:%d", -firstOf(n)), 2)
			},
			many: together,
		}
	}
	next := 0
	run := func(s scene) cost { return g.run(s, &next) }
	direct := run(scene{talk(private), say(private, "And now?"), together})
	inGroup := run(scene{talk(group), say(group, "And now?"), together})
	tool := run(scene{talk(private), say(private, "tool"), together})
	// An exchange with five turns has three steps more than one whose second turn ends it.
	// The first exchanges fill what later ones use again, so they are not measured.
	run(exchange(1))
	long, short := run(exchange(5)), run(exchange(1))
	b.add(database, "direct", direct)
	b.add(database, "group", inGroup)
	b.add(database, "tool", tool)
	b.add(database, "step", difference(long, short, 3))
}

// run lets a scene happen in many conversations.
func (g *gateway) run(s scene, next *int) cost {
	first := *next
	*next += batches * s.many
	require.LessOrEqual(g.t, *next, people)
	for n := first; n < *next; n++ {
		s.before(n)
	}
	var allocs, bytes []float64
	counted := make([]map[string]int, 0, batches+1)
	var before, after runtime.MemStats
	for batch := range batches {
		counted = append(counted, g.meter.snapshot())
		runtime.ReadMemStats(&before)
		for n := range s.many {
			s.act(first + batch*s.many + n)
		}
		runtime.ReadMemStats(&after)
		allocs = append(allocs, float64(after.Mallocs-before.Mallocs)/float64(s.many))
		bytes = append(bytes, float64(after.TotalAlloc-before.TotalAlloc)/float64(s.many))
	}
	counted = append(counted, g.meter.snapshot())
	// Work in the background adds to what some batches allocate, and buffers that happen to be free save it in others.
	return cost{ofStatements(counted, s.many), median(allocs), median(bytes)}
}

// ofStatements is how often each statement goes to the database for a message. Of the batches the median counts: a sweep
// asks for the work of each partition, every half a minute, and on a busy machine that falls into one of them.
func ofStatements(counted []map[string]int, many int) map[string]float64 {
	counts := map[string]float64{}
	for sql := range counted[len(counted)-1] {
		var each []float64
		for i, after := range counted[1:] {
			each = append(each, float64(after[sql]-counted[i][sql])/float64(many))
		}
		counts[sql] = median(each)
	}
	return counts
}

func median(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

func difference(long, short cost, steps float64) cost {
	d := cost{counts: map[string]float64{}, allocs: (long.allocs - short.allocs) / steps, bytes: (long.bytes - short.bytes) / steps}
	for sql, n := range long.counts {
		d.counts[sql] = (n - short.counts[sql]) / steps
	}
	return d
}

// add notes what a case costs. A count is rounded: what the gateway does now and then by itself is not part of a message.
func (b *book) add(database, scene string, c cost) {
	byName, sums := map[string]float64{}, map[string]float64{}
	kinds := map[string]string{}
	for sql, n := range c.counts {
		byName[name(sql)] += n
		kinds[name(sql)] = kind(sql)
	}
	for _, text := range slices.SortedFunc(maps.Keys(byName), func(a, b string) int {
		return strings.Compare(kinds[a]+a, kinds[b]+b)
	}) {
		count := math.Round(byName[text])
		if count == 0 {
			continue
		}
		sums[kinds[text]] += count
		b.statements = append(b.statements, statement{scene, database, kinds[text], text, count})
	}
	for _, measure := range []string{reads, writes, transactions, commits, roundTrips} {
		b.lines = append(b.lines, line{scene, database, measure, sums[measure], ""})
	}
	if !racing {
		b.lines = append(b.lines, line{scene, database, "allocations", math.Round(c.allocs), ""}, line{scene, database, "bytes", math.Round(c.bytes), ""})
	}
}

// check compares with the files, or writes them.
func (b *book) check(t *testing.T) {
	t.Helper()
	budgetFile, statementsFile := filepath.Join("testdata", "budget.txt"), filepath.Join("testdata", "statements.txt")
	text, err := read(budgetFile)
	require.NoError(t, err)
	limits, err := parseLimits(text)
	require.NoError(t, err)
	if *update {
		text, err := rewrite(limits, b.lines, *why)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(budgetFile, []byte(text), 0o600))
		require.NoError(t, os.WriteFile(statementsFile, []byte(formatStatements(b.statements)), 0o600))
		return
	}
	text, err = read(statementsFile)
	require.NoError(t, err)
	known, err := parseStatements(text)
	require.NoError(t, err)
	for _, fault := range b.compare(t, limits) {
		t.Error(fault)
	}
	if t.Failed() {
		for _, text := range more(b.statements, known) {
			t.Error(text)
		}
	}
}

// compare gives what is above its limit, and logs what is far below.
func (b *book) compare(t *testing.T, limits map[string]line) (faults []string) {
	t.Helper()
	for _, m := range b.lines {
		limit, known := limits[m.key()]
		switch {
		case !known:
			faults = append(faults, m.key()+": testdata/budget.txt has no limit for it")
		case over(m, limit):
			faults = append(faults, fmt.Sprintf("%s: %s, the limit is %s", m.key(), number(m.limit), number(limit.limit)))
		case below(m, limit):
			t.Logf("%s: %s, well below the limit %s: run make budget", m.key(), number(m.limit), number(limit.limit))
		}
	}
	return faults
}
