package near_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/model/near"
	"sluice/internal/spending"
	"sluice/internal/trouble"
	"sluice/policy/flow"
)

// desk is a watch over budgets, with a ledger in memory.
type desk struct {
	near.Watch
	now     time.Time
	budgets []*spending.Budget
	spent   map[string]int64 // by budget and start
	fault   error
	alerts  bool
	said    map[string]string // by key
	sends   int
	log     bytes.Buffer
}

func (d *desk) Nearly(_ context.Context, budget string, start time.Time, least int64) (bool, error) {
	return d.spent[budget+start.Format(" 02")] >= least, d.fault
}

func newDesk() *desk {
	d := &desk{now: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC), spent: map[string]int64{}, said: map[string]string{}}
	d.budgets = []*spending.Budget{
		{Name: "house", Scope: spending.ScopeGateway, Limit: 1001, WarnAt: 80, Unit: "USD", Per: spending.PerDay},
		{Name: "each", Scope: spending.ScopePerson, Limit: 10, WarnAt: 50, Unit: spending.Tokens, Per: spending.PerTotal},
		{Name: "quiet", Scope: spending.ScopeAgent, Limit: 10, Unit: spending.Tokens, Per: spending.PerDay},
	}
	d.Watch = near.Watch{
		Budgets: func() []*spending.Budget { return d.budgets }, Ledger: d, Alerts: func() bool { return d.alerts }, Now: func() time.Time { return d.now },
		Log:   slog.New(slog.NewTextHandler(&d.log, nil)),
		Level: func() flow.Level { return flow.Internal },
		Send: func(_ context.Context, text, key string, level flow.Level) error {
			if level != flow.Internal {
				return errors.New("others may not know it")
			}
			d.sends++
			if d.fault == nil {
				d.said[key] = text
			}
			return d.fault
		},
	}
	return d
}

func (d *desk) troubles(t *testing.T) map[string]trouble.Trouble {
	t.Helper()
	found, err := d.Troubles(t.Context())
	require.NoError(t, err)
	named := map[string]trouble.Trouble{}
	for _, f := range found {
		if !f.Over {
			named[f.Name] = f
		}
	}
	return named
}

func TestBudgetsNearTheirLimitAreTroubles(t *testing.T) {
	t.Parallel()
	d := newDesk()
	d.spent["house 02"], d.spent["each 01"], d.spent["quiet 02"] = 800, 5, 10
	found := d.troubles(t)
	require.Len(t, found, 1, "0% means never, and less than 80% is not enough")
	require.Equal(t, "Budget each of a person: 50% of the limit is used in total", found["budget/each"].Title)
	d.spent["house 02"] = 801
	found = d.troubles(t)
	require.Equal(t, "Budget house: 80% of the limit is used today", found["budget/house"].Title)
	require.Equal(t, time.Date(2026, 3, 3, 0, 0, 0, 0, time.UTC), found["budget/house"].Until)
	d.now = d.now.Add(12 * time.Hour)
	require.NotContains(t, d.troubles(t), "budget/house", "a new day")
	all, err := d.Troubles(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"budget/house", "budget/each"}, []string{all[0].Name, all[1].Name})
	require.True(t, all[0].Over, "what has told of it before ends")
	d.fault = errors.New("the database is away")
	_, err = d.Troubles(t.Context())
	require.ErrorIs(t, err, d.fault)
}

func TestTheOwnerIsToldOnceForEachPeriod(t *testing.T) {
	t.Parallel()
	d := newDesk()
	d.spent["house 02"] = 900
	d.fault = errors.New("the database is away")
	d.Tell(t.Context())
	require.Zero(t, d.sends)
	require.Contains(t, d.log.String(), "could not check which budgets")
	d.fault = nil
	for range 3 {
		d.Tell(t.Context())
	}
	require.Equal(t, 1, d.sends, "what was stored is not stored again")
	again := newDesk()
	again.spent, again.said = d.spent, d.said
	again.Tell(t.Context())
	require.Len(t, d.said, 1, "after a restart and on other replicas the key is the same")
	d.now, d.spent["house 03"] = d.now.Add(12*time.Hour), 900
	d.Tell(t.Context())
	require.Len(t, d.said, 2)
	d.budgets[0].Limit = 2000
	d.spent["house 03"] = 1700
	d.Tell(t.Context())
	require.Len(t, d.said, 3, "a raised limit can be reached again")
	d.alerts, d.now, d.spent["house 04"] = true, d.now.Add(24*time.Hour), 1700
	d.Tell(t.Context())
	require.Len(t, d.said, 3, "alerts tell it")
}

func TestAMessageThatIsNotStoredIsTriedAgain(t *testing.T) {
	t.Parallel()
	d := newDesk()
	d.spent["house 02"] = 900
	send, fails := d.Send, true
	d.Send = func(ctx context.Context, text, key string, level flow.Level) error {
		if fails {
			return errors.New("no room")
		}
		return send(ctx, text, key, level)
	}
	d.Tell(t.Context())
	require.Contains(t, d.log.String(), "could not tell the owner that a budget is nearly used up")
	fails = false
	d.Tell(t.Context())
	require.Equal(t, 1, d.sends)
}
