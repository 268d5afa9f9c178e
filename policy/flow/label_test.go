package flow_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/policy/flow"
)

// anyLabel draws any label, the invalid one included.
func anyLabel(t *rapid.T, name string) flow.Label {
	labels := []flow.Label{{}}
	for _, l := range flow.Levels() {
		labels = append(labels, flow.NewLabel(l, flow.Trusted), flow.NewLabel(l, flow.Untrusted))
	}
	return rapid.SampledFrom(labels).Draw(t, name)
}

func TestJoinLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		a, b, c := anyLabel(rt, "a"), anyLabel(rt, "b"), anyLabel(rt, "c")
		require.Equal(rt, a.Join(b), b.Join(a))
		require.Equal(rt, a.Join(b).Join(c), a.Join(b.Join(c)))
		if a.Valid() {
			require.Equal(rt, a, a.Join(a))
			require.Equal(rt, a, a.Join(flow.Bottom()))
		} else {
			require.Equal(rt, flow.Top(), a.Join(b), "a lost label is the top")
		}
		for _, place := range flow.Levels() {
			if a.Valid() && b.Valid() && a.Join(b).FlowsTo(place) {
				require.True(rt, a.FlowsTo(place) && b.FlowsTo(place), "what is joined flows no further than its parts")
			}
		}
		require.Equal(rt, flow.Top(), a.Join(flow.Top()))
	})
}

func TestZeroValuesFlowNowhere(t *testing.T) {
	t.Parallel()
	var label flow.Label
	var level flow.Level
	for _, l := range flow.Levels() {
		require.False(t, label.FlowsTo(l))
		require.False(t, flow.CanFlow(level, l))
		require.False(t, flow.CanFlow(l, level))
	}
	require.Equal(t, flow.Top(), flow.NewLabel(level, flow.Trusted))
	_, err := label.MarshalText()
	require.Error(t, err, "an invalid label is never written")
}

func TestNamesAndRanks(t *testing.T) {
	t.Parallel()
	for _, l := range flow.Levels() {
		again, err := flow.ParseLevel(l.String())
		require.NoError(t, err)
		require.Equal(t, l, again)
		again, err = flow.LevelFromRank(l.Rank())
		require.NoError(t, err)
		require.Equal(t, l, again)
	}
	for _, bad := range []int{-1, 0, 5, 257, 1 << 20} {
		_, err := flow.LevelFromRank(bad)
		require.Error(t, err)
	}
	_, err := flow.ParseLevel("SECRET")
	require.ErrorContains(t, err, "want one of PUBLIC")
}

func FuzzParse(f *testing.F) {
	f.Add("PUBLIC/trusted")
	f.Add("RESTRICTED/untrusted")
	f.Add("/")
	f.Fuzz(func(t *testing.T, s string) {
		l, err := flow.Parse(s)
		if err != nil {
			require.False(t, l.Valid())
			return
		}
		again, err := flow.Parse(l.String())
		require.NoError(t, err)
		require.Equal(t, l, again)
	})
}
