package storetest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sluice/policy/flow"
	"sluice/sessions"
	"sluice/store"
)

// memoryWorld is the reference model of a store: every save and tombstone in order.
type memoryWorld struct {
	rows []sessions.Memory
	now  time.Time
}

// at returns the current version of a key in an audience at a level, or nil. An expired version stays current until
// another replaces it.
func (w *memoryWorld) at(audience sessions.Audience, key string, level flow.Level) *sessions.Memory {
	for i := range w.rows {
		m := &w.rows[i]
		if m.Audience == audience && m.Key == key && m.Label.Level() == level && m.Ended.IsZero() {
			return m
		}
	}
	return nil
}

func expired(m *sessions.Memory, now time.Time) bool {
	return !m.Expires.IsZero() && !m.Expires.After(now)
}

func (w *memoryWorld) save(s sessions.MemorySave) error {
	old := w.at(s.Audience, s.Key, s.Label.Level())
	entries := 0
	for _, m := range w.rows {
		if m.Audience == s.Audience && m.Label.Level() == s.Label.Level() && m.Ended.IsZero() && m.Key != s.Key {
			entries++
		}
	}
	if entries >= s.MaxEntries {
		return sessions.ErrMemoryFull
	}
	m := s.Memory
	m.Created = m.Updated
	if old != nil {
		if !old.Deleted && !expired(old, w.now) {
			m.Created = old.Created
		}
		old.Ended = w.now
	}
	w.rows = append(w.rows, m)
	return nil
}

func (w *memoryWorld) delete(d sessions.MemoryDelete) error {
	old := w.at(d.Audience, d.Key, d.Label.Level())
	if old == nil || expired(old, w.now) || old.Deleted && !d.Uncover {
		return sessions.ErrNotFound
	}
	old.Ended = w.now
	m := d.Memory
	m.Deleted = true
	if d.Uncover {
		m.Ended = w.now
	}
	w.rows = append(w.rows, m)
	return nil
}

// visible returns what a reader sees, in the order of the saves.
func (w *memoryWorld) visible(s sessions.MemoryScope) (seen []sessions.Memory) {
	for _, m := range w.rows {
		if !m.Ended.IsZero() || s.Audience != "" && m.Audience != s.Audience || !flow.CanFlow(m.Label.Level(), s.MaxLevel) || s.Level.Valid() && m.Label.Level() != s.Level || expired(&m, s.Now) || m.Deleted {
			continue
		}
		covered := slices.ContainsFunc(flow.Levels(), func(l flow.Level) bool {
			above := w.at(m.Audience, m.Key, l)
			return l != m.Label.Level() && flow.CanFlow(m.Label.Level(), l) && flow.CanFlow(l, s.MaxLevel) && above != nil && !expired(above, s.Now)
		})
		if !covered {
			seen = append(seen, m)
		}
	}
	return seen
}

func (w *memoryWorld) list(q sessions.MemoryQuery) []sessions.Memory {
	seen := slices.DeleteFunc(w.visible(q.MemoryScope), func(m sessions.Memory) bool {
		after := cmp.Or(cmp.Compare(m.Key, q.After.Key), cmp.Compare(m.Audience, q.After.Audience)) > 0
		return q.After != (sessions.MemoryPlace{}) && !after || q.Tag != "" && !slices.Contains(m.Tags, q.Tag)
	})
	slices.SortFunc(seen, func(a, b sessions.Memory) int {
		return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Audience, b.Audience))
	})
	return seen[:min(q.Limit, len(seen))]
}

func (w *memoryWorld) keyed(q sessions.MemoryKeyed) []sessions.Memory {
	known := slices.DeleteFunc(w.visible(q.MemoryScope), func(m sessions.Memory) bool { return m.Key != q.Key })
	slices.SortFunc(known, func(a, b sessions.Memory) int {
		switch {
		case a.Audience == q.First:
			return -1
		case b.Audience == q.First:
			return 1
		}
		return cmp.Or(b.Updated.Compare(a.Updated), cmp.Compare(a.Audience, b.Audience))
	})
	return known[:min(q.Limit, len(known))]
}

func (w *memoryWorld) search(q sessions.MemorySearch) []sessions.Memory {
	seen := w.visible(q.MemoryScope)
	score := map[sessions.MemoryID]int{}
	var words []map[sessions.MemoryID]int
	asked := strings.Fields(q.Text)
	slices.Sort(asked)
	for _, word := range slices.Compact(asked) {
		has := func(text string) bool { return slices.Contains(strings.Fields(text), word) }
		having := map[sessions.MemoryID]int{}
		for _, m := range seen {
			if has(m.Key + " " + strings.Join(m.Tags, " ")) {
				having[m.ID] += 2
			}
			if has(m.Content) {
				having[m.ID]++
			}
		}
		words = append(words, having)
	}
	most := 0
	for _, having := range words {
		most = max(most, bits.Len(uint(len(having))))
	}
	for _, having := range words {
		for id, weight := range having {
			score[id] += weight * (1 + most - bits.Len(uint(len(having))))
		}
	}
	slices.Reverse(seen)
	seen = slices.DeleteFunc(seen, func(m sessions.Memory) bool { return score[m.ID] == 0 })
	slices.SortStableFunc(seen, func(a, b sessions.Memory) int { return cmp.Compare(score[b.ID], score[a.ID]) })
	return seen[:min(q.Limit, len(seen))]
}

// A few values for random memories, so that they collide.
var (
	someKeys      = []string{"tea", "plan", "green plan", "d%", "D_"}
	someWords     = []string{"tea", "plan", "green", "book", "river", "stone"}
	someTags      = []string{"food", "green", "d_"}
	someAudiences = []sessions.Audience{sessions.AudienceOwner, "agent:main:telegram:group:1"}
)

// memoryStep is one change of a random program.
type memoryStep struct {
	save   *sessions.MemorySave
	delete *sessions.MemoryDelete
	sweep  bool
}

func (s memoryStep) memory() *sessions.Memory {
	switch {
	case s.save != nil:
		return &s.save.Memory
	case s.delete != nil:
		return &s.delete.Memory
	}
	return nil
}

func drawLabel(t *rapid.T) flow.Label {
	return flow.NewLabel(rapid.SampledFrom(flow.Levels()).Draw(t, "level"), rapid.SampledFrom([]flow.Trust{flow.Trusted, flow.Untrusted}).Draw(t, "trust"))
}

func drawWords(t *rapid.T, name string, most int) string {
	return strings.Join(rapid.SliceOfN(rapid.SampledFrom(someWords), 1, most).Draw(t, name), " ")
}

func drawStep(t *rapid.T, now time.Time, bounds int) memoryStep {
	m := sessions.Memory{
		Audience: rapid.SampledFrom(someAudiences).Draw(t, "audience"), Label: drawLabel(t), Key: rapid.SampledFrom(someKeys).Draw(t, "key"),
		Session: "sess_1", Run: "run_1", Created: now, Updated: now,
	}
	switch what := rapid.IntRange(0, 9).Draw(t, "what"); {
	case what < 6:
		m.Content = drawWords(t, "content", 4)
		m.Tags = rapid.SliceOfNDistinct(rapid.SampledFrom(someTags), 0, 2, rapid.ID[string]).Draw(t, "tags")
		if rapid.IntRange(0, 2).Draw(t, "for ever") == 0 {
			m.Expires = now.Add(time.Duration(rapid.IntRange(1, 5).Draw(t, "life")) * time.Minute)
		}
		return memoryStep{save: &sessions.MemorySave{Memory: m, MaxEntries: bounds, MaxBytes: bytesMax}}
	case what < 9:
		return memoryStep{delete: &sessions.MemoryDelete{Memory: m, Uncover: rapid.Bool().Draw(t, "uncover")}}
	}
	return memoryStep{sweep: true}
}

// memoryRun runs a program in a namespace of its own.
type memoryRun struct {
	ctx       context.Context //nolint:containedctx // lives as long as the test
	db        *store.DB
	namespace string
}

var namespaces atomic.Int64

func newMemoryRun(b *bundle) memoryRun {
	return memoryRun{b.ctx, b.DB, fmt.Sprintf("n%d", namespaces.Add(1))}
}

// do executes a step and reports the result.
func (r memoryRun) do(s memoryStep, now time.Time) error {
	switch {
	case s.save != nil:
		save := *s.save
		save.Namespace, save.ID = r.namespace, sessions.NewMemoryID()
		s.save.ID = save.ID
		return r.db.SaveMemory(r.ctx, save)
	case s.delete != nil:
		gone := *s.delete
		gone.Namespace, gone.ID = r.namespace, sessions.NewMemoryID()
		s.delete.ID = gone.ID
		return r.db.DeleteMemory(r.ctx, gone)
	}
	_, err := r.db.SweepMemories(r.ctx, now, time.Time{}, 100)
	return err
}

func drawKeyed(t *rapid.T, s sessions.MemoryScope) sessions.MemoryKeyed {
	return sessions.MemoryKeyed{
		MemoryScope: s, Key: rapid.SampledFrom(someKeys).Draw(t, "get"),
		First: rapid.SampledFrom(append(slices.Clone(someAudiences), "")).Draw(t, "first"), Limit: rapid.IntRange(1, 3).Draw(t, "at most"),
	}
}

func drawScope(t *rapid.T, now time.Time) sessions.MemoryScope {
	return sessions.MemoryScope{
		Audience: rapid.SampledFrom(append(slices.Clone(someAudiences), "")).Draw(t, "of audience"),
		MaxLevel: rapid.SampledFrom(flow.Levels()).Draw(t, "up to"), Now: now,
		Level: rapid.SampledFrom(append(flow.Levels(), flow.Level{}, flow.Level{})).Draw(t, "only"),
	}
}

func drawQuery(t *rapid.T, s sessions.MemoryScope) sessions.MemoryQuery {
	q := sessions.MemoryQuery{MemoryScope: s, Limit: rapid.IntRange(1, 20).Draw(t, "limit"), Tag: rapid.SampledFrom(append(slices.Clone(someTags), "")).Draw(t, "tag")}
	if rapid.Bool().Draw(t, "page") {
		q.After = sessions.MemoryPlace{Key: rapid.SampledFrom(someKeys).Draw(t, "after"), Audience: rapid.SampledFrom(someAudiences).Draw(t, "after audience")}
		if s.Audience != "" {
			q.After.Audience = s.Audience
		}
	}
	return q
}

// plain strips memories of values that differ between runs.
func plain(found []sessions.Memory) []string {
	out := make([]string, len(found))
	for i, m := range found {
		out[i] = fmt.Sprintf("%s/%s/%s %q %q created %s updated %s expires %s", m.Audience, m.Label, m.Key, m.Content, m.Tags, m.Created, m.Updated, m.Expires)
	}
	return out
}

// ask sends all queries to a store and returns the answers as text.
func (r memoryRun) ask(t *rapid.T, q sessions.MemoryQuery, text string, keyed sessions.MemoryKeyed) (list, search, get []string) {
	q.Namespace = r.namespace
	if q.After != (sessions.MemoryPlace{}) {
		q.After.Namespace = r.namespace
	}
	listed, err := r.db.Memories(r.ctx, q)
	found, err2 := r.db.SearchMemories(r.ctx, sessions.MemorySearch{MemoryScope: q.MemoryScope, Text: text, Limit: q.Limit})
	keyed.Namespace = r.namespace
	got, err3 := r.db.MemoriesByKey(r.ctx, keyed)
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	return plain(listed), plain(found), plain(got)
}

// testMemoryProperty compares random programs with the reference model.
func testMemoryProperty(_ *testing.T, b *bundle) {
	rapid.Check(b.t, func(t *rapid.T) {
		run, world := newMemoryRun(b), &memoryWorld{now: start}
		bounds := rapid.SampledFrom([]int{2, 4, 1000}).Draw(t, "bounds")
		for range rapid.IntRange(1, 16).Draw(t, "steps") {
			world.now = world.now.Add(time.Minute)
			s := drawStep(t, world.now, bounds)
			got, want := run.do(s, world.now), error(nil)
			switch {
			case s.save != nil:
				want = world.save(*s.save)
			case s.delete != nil:
				want = world.delete(*s.delete)
			default:
				world.sweep()
			}
			if !errors.Is(got, want) || want == nil && got != nil {
				t.Fatalf("got %v, want %v", got, want)
			}
		}
		for range 5 {
			s := drawScope(t, world.now.Add(time.Minute))
			q, text, keyed := drawQuery(t, s), drawWords(t, "question", 3), drawKeyed(t, s)
			list, search, get := run.ask(t, q, text, keyed)
			same(t, "list", list, plain(world.list(q)))
			same(t, "search "+text, search, plain(world.search(sessions.MemorySearch{MemoryScope: s, Text: text, Limit: q.Limit})))
			same(t, "get", get, plain(world.keyed(keyed)))
		}
	})
}

// sweep ends expired memories. It changes no answer, only what blocks a save.
func (w *memoryWorld) sweep() {
	for i := range w.rows {
		if m := &w.rows[i]; m.Ended.IsZero() && expired(m, w.now) {
			m.Ended = m.Expires
		}
	}
}

func same(t *rapid.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Fatalf("%s:\ngot  %s\nwant %s", what, strings.Join(got, "\n     "), strings.Join(want, "\n     "))
	}
}

// testMemoryTwoRuns: two stores that look the same to a reader, but differ in what it may not see, answer it alike,
// byte for byte, and accept and refuse the same saves.
func testMemoryTwoRuns(_ *testing.T, b *bundle) {
	rapid.Check(b.t, func(t *rapid.T) {
		one, two, now := newMemoryRun(b), newMemoryRun(b), start
		s := drawScope(t, now)
		hidden := func(m *sessions.Memory) bool {
			return m != nil && (!flow.CanFlow(m.Label.Level(), s.MaxLevel) || s.Audience != "" && m.Audience != s.Audience)
		}
		for range rapid.IntRange(1, 16).Draw(t, "steps") {
			now = now.Add(time.Minute)
			shared := drawStep(t, now, 3)
			if m := shared.memory(); !hidden(m) {
				if e1, e2 := one.do(shared, now), two.do(shared, now); !errors.Is(e1, e2) {
					t.Fatalf("one %v, other %v", e1, e2)
				}
				continue
			}
			_ = one.do(shared, now) // the result is hidden, too
			for range rapid.IntRange(0, 3).Draw(t, "other hidden ones") {
				if other := drawStep(t, now, 3); hidden(other.memory()) {
					_ = two.do(other, now)
				}
			}
		}
		s.Now = now.Add(time.Minute)
		for range 5 {
			q, text, keyed := drawQuery(t, s), drawWords(t, "question", 3), drawKeyed(t, s)
			list1, search1, get1 := one.ask(t, q, text, keyed)
			list2, search2, get2 := two.ask(t, q, text, keyed)
			same(t, "list", list1, list2)
			same(t, "search "+text, search1, search2)
			same(t, "get", get1, get2)
		}
	})
}
