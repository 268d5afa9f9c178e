package storetest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/router/ledger"
	"sluice/store"
	"sluice/store/engine"
)

// finder is a recorder whose queries always find one row, so that a step reaches its deletes.
type finder struct{ recorder }

func (f *finder) Query(ctx context.Context, sql string, args []any, scan func(engine.Row) error) error {
	if err := f.recorder.Query(ctx, sql, args, scan); err != nil {
		return err
	}
	return scan(foundRow{})
}

type foundRow struct{}

func (foundRow) Scan(...any) error { return nil }

// pruneStatements returns the statements of a first and a later step, for each kind that retention removes.
func pruneStatements(t *testing.T) []engine.Statement {
	t.Helper()
	f := &finder{}
	db := store.New(f, nil)
	for _, kind := range []ledger.PruneKind{
		ledger.PruneDeliveries, ledger.PruneExchanges, ledger.PruneChains, ledger.PruneTriggers, ledger.PruneAlerts, ledger.PruneHooks, ledger.PruneChecks, ledger.PruneNodes, ledger.PruneLimits, ledger.PruneRuns, ledger.PruneArchived, ledger.PruneSessions, ledger.PruneMedia, ledger.PruneUsage, ledger.PruneEvents,
	} {
		done, err := db.Prune(t.Context(), ledger.Prune{Kind: kind, Before: start})
		require.NoError(t, err)
		_, err = db.Prune(t.Context(), ledger.Prune{Kind: kind, Before: start, After: done.Next})
		require.NoError(t, err)
		_, err = db.Prune(t.Context(), ledger.Prune{Kind: kind, Before: start, After: "nowhere"})
		if kind != ledger.PruneChains && kind != ledger.PruneTriggers && kind != ledger.PruneAlerts && kind != ledger.PruneHooks && kind != ledger.PruneChecks && kind != ledger.PruneNodes && kind != ledger.PruneLimits && kind != ledger.PruneMedia && kind != ledger.PruneUsage && kind != ledger.PruneEvents { // kinds whose positions are not numbers
			require.ErrorContains(t, err, "place of the last step", kind)
		}
	}
	require.NoError(t, db.Close())
	return f.seen
}
