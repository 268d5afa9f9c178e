package meter_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/model/meter"
	"sluice/internal/spending"
	"sluice/internal/spending/pricelist"
	"sluice/policy/flow"
	"sluice/sessions"
)

// minute is the price of a minute, in billionths of the currency.
const minute = 6_000_000

// ears has a model that hears for 0.006 USD a minute, and one whose price is only known for tokens.
func ears(t *testing.T, budgets ...*spending.Budget) *desk {
	t.Helper()
	d := newDesk(t, budgets...)
	prices := spending.Prices{}
	prices.Add("test/ears", spending.Price{Minute: 6000, NoTokens: true})
	prices.Add("test/large", spending.Flat(1_000_000, 2_000_000))
	d.Configure(&meter.Settings{Prices: &pricelist.List{Own: prices}, Budgets: budgets})
	return d
}

func (d *desk) hear(model string, longest time.Duration, ask func() (time.Duration, error)) error {
	return d.Hear(spending.With(d.Context(), ann), meter.Audio{Provider: "test", Key: "key1", Model: model, Level: flow.Internal, Longest: longest}, func(context.Context) (time.Duration, error) {
		d.now = d.now.Add(2 * time.Second)
		return ask()
	})
}

func lasts(length time.Duration) func() (time.Duration, error) {
	return func() (time.Duration, error) { return length, nil }
}

func TestARecordingIsARow(t *testing.T) {
	t.Parallel()
	d := ears(t)
	require.NoError(t, d.hear("ears", time.Hour, lasts(29500*time.Millisecond)))
	row := d.row()
	require.NotEmpty(t, row.ID)
	row.ID = ""
	require.Equal(t, spending.Call{
		Origin: ann, Provider: "test", Key: "key1", Model: "ears", Level: flow.Internal, Started: noon, Latency: 2 * time.Second, Outcome: spending.OutcomeOK,
		Amount: spending.Amount{Audio: 30 * time.Second}, Cost: minute / 2, Currency: "USD", Priced: true,
	}, row, "seconds are rounded up")
}

// Without a price for a minute, the cost is unknown and not 0, whatever tokens cost.
func TestARecordingWithoutAPriceIsUnknown(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"large", "other"} {
		d := ears(t)
		require.NoError(t, d.hear(model, time.Minute, lasts(time.Minute)))
		row := d.row()
		require.False(t, row.Priced)
		require.Empty(t, row.Currency)
		require.Equal(t, time.Minute, row.Amount.Audio)

		d = ears(t, house(int64(spending.One)))
		err := d.hear(model, time.Minute, lasts(time.Minute))
		reached, ok := errors.AsType[*spending.Reached](err)
		require.True(t, ok)
		require.True(t, reached.Unpriced)
		require.ErrorContains(t, err, "model test/"+model+" has no price for a minute of audio in USD; set minute in models.prices")
		require.Empty(t, d.book.rows)
	}
	d := ears(t) // and the other way round
	d.model = d.Wrap("test", "key1", "ears", d.fake)
	_, err := d.ask(request())
	require.NoError(t, err)
	require.False(t, d.row().Priced, "what tokens cost is not known")
}

func TestARecordingIsReserved(t *testing.T) {
	t.Parallel()
	const limit = 10 * minute
	d := ears(t, house(limit), person(1))
	held := int64(0)
	require.NoError(t, d.hear("ears", 10*time.Minute, func() (time.Duration, error) {
		held = d.book.of("house").Held
		return time.Minute, nil
	}))
	require.EqualValues(t, limit, held, "the most that it may cost")
	require.Equal(t, spending.State{Spent: minute}, d.book.of("house"))
	require.Equal(t, spending.State{}, d.book.of("each"), "a recording has no tokens")
	err := d.hear("ears", 10*time.Minute, lasts(time.Minute))
	_, refused := errors.AsType[*spending.Reached](err)
	require.True(t, refused)
	require.Len(t, d.book.rows, 1, "it was not made")
	require.NoError(t, d.hear("ears", 9*time.Minute, lasts(0)))
	require.Equal(t, spending.State{Spent: limit}, d.book.of("house"), "nobody knows how long it lasts: it may have cost that much")
	require.True(t, d.book.rows[1].Assumed)
}

// A budget that does not count recordings costs them nothing.
func TestARecordingIsNotReservedInTokens(t *testing.T) {
	t.Parallel()
	d := ears(t, person(1))
	require.NoError(t, d.hear("ears", time.Hour, func() (time.Duration, error) {
		require.Empty(t, d.book.open)
		return time.Minute, nil
	}))
	require.EqualValues(t, minute, d.row().Cost)
}

func TestAFailedRecording(t *testing.T) {
	t.Parallel()
	for outcome, test := range map[spending.Outcome]struct {
		err  error
		cost int64
	}{
		spending.Outcome(sessions.ModelAuth):        {&sessions.ModelError{Kind: sessions.ModelAuth, Err: errors.New("401")}, 0},
		spending.Outcome(sessions.ModelUnavailable): {&sessions.ModelError{Kind: sessions.ModelUnavailable, Err: errors.New("408")}, 2 * minute},
		"failed":    {errors.New("no text"), 2 * minute},
		"cancelled": {context.Canceled, 2 * minute},
	} {
		d := ears(t, house(10*minute))
		require.ErrorIs(t, d.hear("ears", 2*time.Minute, func() (time.Duration, error) { return 0, test.err }), test.err)
		row := d.row()
		require.Equal(t, outcome, row.Outcome)
		require.EqualValues(t, test.cost, row.Cost, outcome)
		require.Equal(t, test.cost > 0, row.Assumed)
		require.Equal(t, spending.State{Spent: test.cost}, d.book.of("house"))
	}
	d := ears(t, house(10*minute))
	require.Panics(t, func() { _ = d.hear("ears", time.Minute, func() (time.Duration, error) { panic("broken") }) })
	require.Equal(t, spending.State{Spent: minute}, d.book.of("house"))
	require.True(t, d.row().Assumed)
}
