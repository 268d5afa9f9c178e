// Package limits counts what is limited in a period.
//
// A window begins with the first event after the last window has ended. An event counts for its own level and all higher ones,
// in a row for each level.
package limits

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"sluice/router/ledger"
	"sluice/store/engine"
)

const (
	levels = 4 // how many there are

	// A window in the future was begun before a clock was set back; it has ended, too.
	ended = `limit_windows.started <= ? OR limit_windows.started > ?`
	// The row of the event's own level decides; rows of higher levels may exceed the limit.
	count = `INSERT INTO limit_windows (kind, name, level, started, used)
		SELECT CAST(? AS TEXT), CAST(? AS TEXT), l.column1, CAST(? AS BIGINT), 1 FROM (VALUES (1), (2), (3), (4)) AS l WHERE l.column1 >= ?
		ON CONFLICT (kind, name, level) DO UPDATE SET
			used = CASE WHEN ` + ended + ` THEN 1 ELSE limit_windows.used + 1 END,
			started = CASE WHEN ` + ended + ` THEN excluded.started ELSE limit_windows.started END
		WHERE limit_windows.level > ? OR limit_windows.used < ? OR ` + ended
	window = engine.Brief + `SELECT started FROM limit_windows WHERE kind = ? AND name = ? AND level = ?`
)

// Removal removes the oldest windows, at most limit.
func Removal(limit int) string {
	return `DELETE FROM limit_windows WHERE (kind, name, level) IN (SELECT kind, name, level FROM limit_windows WHERE started < ? ORDER BY started LIMIT ` + strconv.Itoa(limit) + `)`
}

// Table has the windows.
type Table struct{ *engine.Conn }

// fullError says which of several counts is at its maximum.
type fullError struct{ at int }

// Error implements error.
func (e *fullError) Error() string { return "a limit is reached" }

// CountLimits counts one event everywhere, or nowhere if one of the counts is at its maximum. It then returns that count's
// position and when its window ends; otherwise -1.
func (t Table) CountLimits(ctx context.Context, counts []ledger.LimitCount, now time.Time) (full int, until time.Time, err error) {
	var w engine.Write
	for i, c := range counts {
		over, late := engine.Micros(now.Add(-c.Rate.Per)), engine.Micros(now.Add(c.Rate.Per))
		own := c.Level.Rank()
		w = append(w, engine.Statement{
			SQL: count, Rows: int64(levels - own + 1), Else: &fullError{i}, Last: true,
			Args: []any{string(c.Kind), engine.Indexed(c.Name), engine.Micros(now), own, over, late, over, late, own, c.Rate.Max, over, late},
		})
	}
	err = t.Change(ctx, w)
	reached, ok := errors.AsType[*fullError](err)
	switch {
	case err == nil:
		return -1, time.Time{}, nil
	case !ok:
		return -1, time.Time{}, fmt.Errorf("count limits: %w", err)
	}
	c := counts[reached.at]
	var started int64
	if err := t.One(ctx, window, []any{string(c.Kind), engine.Indexed(c.Name), c.Level.Rank()}, &started); err != nil {
		return -1, time.Time{}, fmt.Errorf("read the window of a limit: %w", err)
	}
	return reached.at, engine.FromMicros(started).Add(c.Rate.Per), nil
}
