package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What the sample's tests notice dies; what they leave open survives: the boundaries that they do not try, and what they never call.
func TestSample(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p, err := openPack(t.Context(), "./testdata/sample", dir)
	require.NoError(t, err)
	r := &runner{pack: p, workers: 2, grace: time.Second, say: t.Logf}
	require.NoError(t, r.prepare(t.Context(), []string{"./testdata/sample"}, dir))
	outcomes, err := r.judge(t.Context(), p.sites)
	require.NoError(t, err)
	fate := map[string]string{}
	for _, o := range outcomes {
		fate[o.key] = o.killedBy
	}
	require.Equal(t, map[string]string{
		"sample.go Root: negate: n < 0":                                        "TestRoot",
		"sample.go Root: move the boundary: n < 0":                             "", // 0 is not tried
		"sample.go Root: return no error: ErrNegative":                         "TestRoot",
		"sample.go Root: negate: (root+1)*(root+1) <= n":                       "TestRoot",
		"sample.go Root: move the boundary: (root+1)*(root+1) <= n":            "TestRoot",
		"sample.go Root: swap + and -: root+1":                                 "TestRoot",
		"sample.go Root: swap + and -: root+1 (2)":                             "TestRoot",
		"sample.go Root: skip the statement: root++":                           "a crash or a time-out",
		"sample.go Between: negate: n >= from && n < to":                       "TestBetween",
		"sample.go Between: swap && and ||: n >= from && n < to":               "TestBetween",
		"sample.go Between: move the boundary: n >= from":                      "TestBetween",
		"sample.go Between: move the boundary: n < to":                         "", // 3 is not tried
		"sample.go Untested: skip the statement: list = append(list, \"end\")": "",
	}, fate)
}

func TestSurvivorsNeedAReason(t *testing.T) {
	t.Parallel()
	survivor := outcome{site: site{key: "a.go F: negate: x"}}
	killed := outcome{site: site{key: "a.go F: negate: y"}, killedBy: "TestF"}
	for name, test := range map[string]struct {
		accepted string
		outcomes []outcome
		good     bool
	}{
		"all killed":                {"", []outcome{killed}, true},
		"a survivor without reason": {"", append(many(killed, 20), survivor), false},
		"a survivor with a reason":  {"p a.go F: negate: x # it makes no difference", append(many(killed, 20), survivor), true},
		"too many survivors":        {"p a.go F: negate: x # it makes no difference", []outcome{killed, survivor}, false},
		"reason of another package": {"q a.go F: negate: x # it makes no difference", append(many(killed, 20), survivor), false},
	} {
		c := campaign{accepted: readAccepted("# a comment # is none\n" + test.accepted + "\n")}
		require.Equal(t, test.good, c.report(&pack{path: "p"}, test.outcomes), name)
	}
}

func many(o outcome, n int) []outcome {
	list := make([]outcome, n)
	for i := range list {
		list[i] = o
	}
	return list
}
