package trigger

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"sluice/router/lanes"
	"sluice/router/ledger"
	"sluice/sessions"
)

// contested has a due trigger that somebody else changes, and one that is due much later.
type contested struct {
	Store
	owners
}

// owners is what else the lanes need of the database.
type owners struct{ lanes.Store }

func (contested) TakePartition(context.Context, int, string, int64) (int64, error) { return 1, nil }

func (contested) WaitingLanes(context.Context, int) ([]sessions.Lane, error) {
	return []sessions.Lane{ledger.DueLane}, nil
}

func (contested) AbortsRequested(context.Context, int) ([]sessions.ID, error) { return nil, nil }

func (contested) OpenTriggers(context.Context, int, int) ([]ledger.Trigger, error) {
	due := ledger.Trigger{Key: "hook/ci/1", Source: ledger.TriggerHook, Status: ledger.TriggerWaiting, Due: time.Now().Add(-time.Second)}
	later := due
	later.Key, later.Due = "hook/ci/2", time.Now().Add(time.Hour)
	return []ledger.Trigger{due, later}, nil
}

func (contested) Commit(context.Context, ledger.Change) error { return sessions.ErrConflict }

// A row that somebody else has changed is read again at once, not when the next row is due.
func TestChangedTriggerIsReadAgain(t *testing.T) {
	t.Parallel()
	rests := make(chan lanes.Rest, 1)
	db := contested{}
	all := &Triggers{Store: db, Lanes: db, Now: time.Now, Log: slog.New(slog.DiscardHandler)}
	l := lanes.New(lanes.Config{
		Store: db, Released: func(int) {}, Partitions: 1, Replica: "a", Log: slog.New(slog.DiscardHandler),
		Owned: prometheus.NewGauge(prometheus.GaugeOpts{Name: "owned"}),
		Worker: func(lane *lanes.Lane) lanes.Turn {
			turn := all.Worker(lane)
			return func() (lanes.Rest, error) {
				rest, err := turn()
				rests <- rest
				return lanes.Rest{}, err
			}
		},
	})
	require.NoError(t, l.Acquire(t.Context(), 0, 0))
	t.Cleanup(func() { l.ReleaseAll(context.Background()) })
	require.Equal(t, lanes.Rest{Again: true}, <-rests)
}
