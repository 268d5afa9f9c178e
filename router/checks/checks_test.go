package checks_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"sluice/internal/check"
	"sluice/policy/flow"
	"sluice/router/checks"
	"sluice/router/ledger"
	"sluice/sessions"
)

// scene is a store with one check, whose source is a number.
type scene struct {
	*checks.Checks
	t *testing.T

	mu     sync.Mutex
	row    *ledger.Check
	told   []string
	number int
	broken error
	log    strings.Builder
	reads  int
}

func newScene(t *testing.T, d check.Definition) *scene {
	t.Helper()
	s := &scene{t: t}
	s.Checks = checks.New(checks.Config{
		Store: s, Commit: s.commit, Now: time.Now, Log: slog.New(slog.NewTextHandler(&s.log, nil)), Looks: checks.NewMetrics(prometheus.NewRegistry()),
		Owner:  func(context.Context) (sessions.Route, error) { return sessions.Route{}, nil },
		Notice: func(_ sessions.Route, text string) ledger.Delivery { return ledger.Delivery{Text: text} },
		Ways: check.Ways{Count: func(context.Context, string) (int, error) {
			s.reads++
			return s.number, s.broken
		}},
	})
	s.define(d)
	return s
}

func (s *scene) define(d check.Definition) {
	s.t.Helper()
	d.Name, d.Gateway, d.Every = "n", check.DeadLetters, time.Minute
	d.Label = flow.NewLabel(flow.Internal, flow.Trusted)
	k, err := check.New(d)
	require.NoError(s.t, err)
	s.Configure([]*check.Check{k})
}

func (s *scene) Check(context.Context, string) (ledger.Check, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.row == nil {
		return ledger.Check{}, sessions.ErrNotFound
	}
	return *s.row, nil
}

func (s *scene) commit(_ context.Context, change ledger.Change) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := change.Checks[0]
	if s.row != nil && c.Revision != s.row.Revision+1 {
		return sessions.ErrConflict
	}
	s.row = &c
	for _, d := range change.Deliver {
		s.told = append(s.told, d.Text)
	}
	return nil
}

// look looks when the number is as given.
func (s *scene) look(number int) ledger.Check {
	s.t.Helper()
	s.number = number
	row, err := s.Look(s.t.Context(), "n", true)
	require.NoError(s.t, err)
	return row
}

func TestNews(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		when    string
		numbers []int
		news    []int64
	}{
		"changes":             {"", []int{1, 1, 2, 2, 1}, []int64{0, 0, 1, 1, 2}},
		"above a bound":       {"value > 2", []int{0, 3, 3, 4, 2, 5}, []int64{0, 1, 1, 2, 2, 3}},
		"bad from the start":  {"value > 2", []int{3, 3}, []int64{1, 1}},
		"compared to before":  {"before != null && value > before", []int{5, 3, 4}, []int64{0, 0, 1}},
		"holds without a new": {"true", []int{1, 1}, []int64{1, 1}},
	} {
		s := newScene(t, check.Definition{When: c.when})
		for i, n := range c.numbers {
			require.Equal(t, c.news[i], s.look(n).News, "%s, look %d", name, i)
		}
	}
}

// What several users ask for within `every` is read once.
func TestOneLookForAll(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newScene(t, check.Definition{})
		for range 3 {
			var all sync.WaitGroup
			for range 5 {
				all.Go(func() {
					_, err := s.Look(t.Context(), "n", false)
					require.NoError(t, err)
				})
			}
			all.Wait()
			time.Sleep(59 * time.Second)
		}
		require.Equal(t, 2, s.reads)
		_, err := s.Look(t.Context(), "gone", false)
		require.ErrorIs(t, err, checks.ErrUnknown)
	})
}

func TestFailuresAreToldOnce(t *testing.T) {
	t.Parallel()
	s := newScene(t, check.Definition{})
	s.look(1)
	s.broken = errors.New("refused")
	for i := range 3 {
		row := s.look(2)
		require.Equal(t, i+1, row.Fails)
		require.Equal(t, "1", row.Value)
		require.Equal(t, "refused", row.Error)
	}
	require.Len(t, s.told, 1)
	require.NotContains(t, s.log.String(), "refused", "and so does a log")
	require.Contains(t, s.log.String(), "check=n")
	require.NotContains(t, s.told[0], "refused", "an error may quote what only the source's label may show")
	s.broken = errors.New(strings.Repeat("ü", 300))
	require.True(t, utf8.ValidString(s.look(2).Error))
	s.broken = nil
	row := s.look(2)
	require.Equal(t, int64(1), row.News, "what changed meanwhile is noticed")
	require.Empty(t, row.Error)
	s.look(2)
	require.Len(t, s.told, 2)
	require.Contains(t, s.told[1], "works again. It had failed 4 times")
}

// Another definition begins with a first value, and users still find out what is new.
func TestAnotherDefinition(t *testing.T) {
	t.Parallel()
	s := newScene(t, check.Definition{})
	s.look(1)
	require.Equal(t, int64(1), s.look(2).News)
	s.define(check.Definition{Value: "body * 2"})
	_, row, err := s.Last(t.Context(), "n")
	require.NoError(t, err)
	require.Empty(t, row.Value)
	row = s.look(2)
	require.Equal(t, "4", row.Value)
	require.Equal(t, int64(1), row.News)
}

// A replica that looked at the same time wins, and its row is used.
func TestTwoReplicas(t *testing.T) {
	t.Parallel()
	s := newScene(t, check.Definition{})
	s.look(1)
	other := s.Ways.Count
	s.Ways.Count = func(ctx context.Context, what string) (int, error) {
		s.Ways.Count = other
		s.look2(7)
		return other(ctx, what)
	}
	require.Equal(t, "7", s.look(2).Value)
}

// look2 stores a row as another replica does.
func (s *scene) look2(value int) {
	row := *s.row
	row.Revision, row.Value, row.Hash = row.Revision+1, "7", "h"
	require.Equal(s.t, 7, value)
	s.row = &row
}
