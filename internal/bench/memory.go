package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"sluice/policy/flow"
	"sluice/sessions"
	"sluice/store"
	pgstore "sluice/store/postgres"
	"sluice/store/sqlite"
)

const (
	memorySavers   = 64     // concurrent saves
	memoryWords    = 30_000 // different words
	memoryQueries  = 200    // per kind; there are five
	memoryRepeat   = 5
	memoryHiddenBy = 5 // one in this many memories is at a level hidden from the reader
)

// measureMemory measures searches of an agent's memories on both stores.
func measureMemory(ctx context.Context, b *bench) (err error) {
	db, err := sqlite.Open(ctx, sqlite.Config{Dir: filepath.Join(b.dir, "memory")})
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	l := newLibrary(b.remembered)
	err = b.memories(ctx, "SQLite", db, l, func() error { return nil })
	if err = errors.Join(err, db.Close()); err != nil {
		return err
	}
	cluster, err := startPostgres(ctx, filepath.Join(b.dir, "pgmemory"))
	if errors.Is(err, errNoPostgres) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, cluster.stop()) }()
	url, err := cluster.create(ctx, "memory")
	if err != nil {
		return err
	}
	if db, err = pgstore.Open(ctx, pgstore.Config{URL: url}); err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	err = b.memories(ctx, "PostgreSQL", db, l, func() error { return vacuum(ctx, url) })
	if err = errors.Join(err, db.Close()); err != nil {
		return err
	}
	return b.fullText(ctx, url, l)
}

// vacuum runs at once what PostgreSQL runs automatically about a minute after many writes.
func vacuum(ctx context.Context, url string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	defer conn.Close(ctx) //nolint:errcheck // nothing is open in it
	if _, err := conn.Exec(ctx, "VACUUM ANALYZE"); err != nil {
		return fmt.Errorf("vacuum database: %w", err)
	}
	return nil
}

// memories fills a store, lets it settle, and searches it.
func (b *bench) memories(ctx context.Context, name string, db *store.DB, l *library, settle func() error) error {
	began := time.Now()
	if err := l.save(ctx, db); err != nil {
		return err
	}
	name = fmt.Sprintf("%s with %d memories: ", name, b.remembered)
	b.report.add(name+"saved", "", perSecond, float64(len(l.memories))/time.Since(began).Seconds())
	if err := settle(); err != nil {
		return err
	}
	for _, kind := range l.kinds() {
		times, err := l.search(ctx, db, kind)
		if err != nil {
			return err
		}
		b.report.add(name+"search, "+kind.name+", p50", "", milliseconds, inMilliseconds(quantile(times, 0.5)))
		b.report.add(name+"search, "+kind.name+", p99", "≤ 50 ms", milliseconds, inMilliseconds(quantile(times, 0.99)))
	}
	return nil
}

// library generates memories: texts of 8 to 28 words with the frequencies of a natural language (Zipf's law).
type library struct {
	random   *rand.Rand
	memories []sessions.Memory
	having   map[string]int // the number of visible memories with a word
}

func newLibrary(visible int) *library {
	l := &library{random: rand.New(rand.NewPCG(1, 2)), having: map[string]int{}} // the same texts in each run
	zipf := rand.NewZipf(l.random, 1.05, 8, memoryWords-1)
	audiences := []sessions.Audience{sessions.AudienceOwner, sessions.AudienceOwner, "agent:main:telegram:group:1", "agent:main:slack:channel:C1"}
	for i := range visible + visible/memoryHiddenBy {
		words := make([]string, 8+l.random.IntN(21))
		for j := range words {
			words[j] = word(zipf.Uint64())
		}
		level := flow.Public
		switch {
		case i >= visible:
			level = flow.Confidential
		case i%3 == 0:
			level = flow.Internal
		}
		if i < visible {
			distinct := slices.Compact(slices.Sorted(slices.Values(words)))
			for _, w := range distinct {
				l.having[w]++
			}
		}
		l.memories = append(l.memories, sessions.Memory{
			Namespace: "main", Audience: audiences[i%len(audiences)], Label: flow.NewLabel(level, flow.Trusted), Key: fmt.Sprintf("note-%d", i),
			Content: strings.Join(words, " "), Tags: []string{"note"}, Session: "sess_1", Updated: time.Now(),
		})
	}
	return l
}

// word returns the n-th word, made of syllables so that no word is the stem of another.
func word(n uint64) string {
	const consonants, vowels = "bdfgklmnprtvz", "aou"
	text := []byte{}
	for n++; n > 0; n /= uint64(len(consonants) * len(vowels)) {
		digit := n % uint64(len(consonants)*len(vowels))
		text = append(text, consonants[digit%uint64(len(consonants))], vowels[digit/uint64(len(consonants))])
	}
	return string(text) + "x"
}

func (l *library) save(ctx context.Context, db *store.DB) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(memorySavers)
	for _, m := range l.memories {
		g.Go(func() error {
			m.ID = sessions.NewMemoryID()
			return db.SaveMemory(ctx, sessions.MemorySave{Memory: m, MaxEntries: len(l.memories), MaxBytes: 1 << 40})
		})
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("save memories: %w", err)
	}
	return nil
}

// kind is a kind of question: the number of words, and the number of memories with each of them.
type kind struct {
	name        string
	words       int
	least, most int
}

func (l *library) kinds() []kind {
	n := len(l.memories)
	return []kind{
		{"two rare words", 2, 5, max(5, n/1000)},
		{"two words", 2, n / 500, n / 50},
		{"three words", 3, n / 500, n / 50},
		{"two common words", 2, n / 33, n / 4},
		{"a rare and a common word", 0, 0, 0},
	}
}

// questions returns some questions of a kind.
func (l *library) questions(k kind) []string {
	pick := func(least, most, count int) []string {
		var fit []string
		for w, n := range l.having {
			if n >= least && n <= most {
				fit = append(fit, w)
			}
		}
		slices.Sort(fit)
		var picked []string
		for range count {
			picked = append(picked, fit[l.random.IntN(len(fit))])
		}
		return picked
	}
	var out []string
	n := len(l.memories)
	for range memoryQueries {
		if k.words > 0 {
			out = append(out, strings.Join(pick(k.least, k.most, k.words), " "))
			continue
		}
		out = append(out, strings.Join(append(pick(5, max(5, n/1000), 1), pick(n/33, n/4, 1)...), " "))
	}
	return out
}

// search sends the questions of a kind as the owner, one after the other.
func (l *library) search(ctx context.Context, db *store.DB, k kind) ([]time.Duration, error) {
	var times []time.Duration
	questions := l.questions(k)
	for range memoryRepeat {
		for _, q := range questions {
			began := time.Now()
			found, err := db.SearchMemories(ctx, sessions.MemorySearch{
				MemoryScope: sessions.MemoryScope{Namespace: "main", MaxLevel: flow.Internal, Now: began}, Text: q, Limit: 10,
			})
			if err != nil {
				return nil, fmt.Errorf("search memories: %w", err)
			}
			if len(found) == 0 {
				return nil, fmt.Errorf("search memories: %q has found nothing", q)
			}
			times = append(times, time.Since(began))
		}
	}
	slices.Sort(times)
	return times, nil
}
