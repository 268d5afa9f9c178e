package store

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/store/engine"
)

// A label whose columns make none was lost, and is RESTRICTED.
func TestLabelsThatWereLost(t *testing.T) {
	t.Parallel()
	for _, l := range flow.Levels() {
		for _, trust := range []flow.Trust{flow.Trusted, flow.Untrusted} {
			kept := flow.NewLabel(l, trust)
			require.Equal(t, kept, engine.LabelFrom(engine.Label(kept)))
		}
	}
	for _, columns := range [][2]int{{0, 0}, {5, 0}, {-1, 1}, {1, -1}, {1, 2}, {0, 2}} {
		require.Equal(t, flow.Top(), engine.LabelFrom(columns[0], columns[1]), columns)
	}
	require.Equal(t, flow.Top(), engine.LabelFrom(engine.Label(flow.Label{})))
}

// A time that JSON can't say is stored as the nearest one, wherever in a value it stands; the value itself stays as it was.
func TestTimesAreMendedEverywhere(t *testing.T) {
	t.Parallel()
	type inner struct{ At time.Time }
	late := time.Date(57_000, 1, 1, 0, 0, 0, 0, time.UTC)
	value := struct {
		Pointer *inner
		List    []inner
		Any     any
		Array   [1]inner
		Nothing *inner
		None    any
	}{Pointer: &inner{late}, List: []inner{{late}}, Any: inner{late}, Array: [1]inner{{late}}}
	text, err := engine.Encode(value)
	require.NoError(t, err)
	require.Equal(t, 4, strings.Count(text, "9999-12-31T23:59:59"), text)
	require.Equal(t, late, value.Pointer.At)
	require.Equal(t, late, value.List[0].At)
}

// The first value that can't be encoded or decoded is the error, whatever comes after it.
func TestFirstErrorCounts(t *testing.T) {
	t.Parallel()
	var e engine.Encoding
	require.Equal(t, "1", e.Text(1))
	require.NoError(t, e.Err)
	e.Text(math.Inf(1))
	e.Text(1)
	require.ErrorContains(t, e.Err, "encode float64")
	first := e.Err
	e.Text(make(chan int))
	require.Equal(t, first, e.Err)

	var d engine.Decoding
	var n int
	d.Into("7", &n)
	d.Into("x", &n)
	d.Into("8", &n)
	require.ErrorContains(t, d.Err, "decode stored *int")
	require.Equal(t, 7, n)
}
