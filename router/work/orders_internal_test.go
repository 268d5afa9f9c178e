package work

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/sessions"
)

// idle is an agent that has nothing to do.
type idle struct{ Agent }

func TestOrderThatNobodyKnows(t *testing.T) {
	t.Parallel()
	o := &orders{agent: idle{}}
	run := &sessions.Run{Kind: sessions.KindCommand, Input: sessions.Input{Order: &sessions.Order{Do: "dance"}}}
	_, err := o.carryOut(t.Context(), Assignment{Run: run})
	require.ErrorContains(t, err, `unknown order "dance"`)
	run.Input.Order.Do = sessions.OrderCompact
	got, err := o.carryOut(t.Context(), Assignment{Run: run})
	require.NoError(t, err)
	require.Contains(t, got.Text, "can't summarize")
}

// compacting is an agent whose threads are shortened.
type compacting struct {
	Agent
	got Compacted
	err error
}

func (c compacting) Compact(context.Context, Assignment) (Compacted, error) { return c.got, c.err }

func TestWhatACompactionSays(t *testing.T) {
	t.Parallel()
	session := sessions.NewSession(nil, sessions.Record{ID: "1", Taint: flow.NewLabel(flow.Internal, flow.Trusted), Clearance: flow.Restricted}, time.Now)
	broken := errors.New("no model")
	for name, c := range map[string]struct {
		agent compacting
		level flow.Level
		want  string
		err   error
	}{
		"where its session may be told of": {compacting{got: Compacted{Messages: 7, Before: 4000, After: 400}}, flow.Internal, "a summary replaces 7 messages. Each reply now reads about 100 tokens instead of about 1000.", nil},
		"elsewhere":                        {compacting{got: Compacted{Messages: 7}}, flow.Public, "a summary replaces the older messages.", nil},
		"of nothing":                       {compacting{err: sessions.ErrNothingToCompact}, flow.Public, "nothing to summarize yet", nil},
		"that fails":                       {compacting{err: broken}, flow.Public, "", broken},
	} {
		o := &orders{agent: c.agent, sinkLevel: func(sessions.Route) flow.Level { return c.level }}
		got, err := o.compact(t.Context(), Assignment{Session: session, Run: &sessions.Run{}})
		require.ErrorIs(t, err, c.err, name)
		require.Contains(t, got.Text, c.want, name)
	}
}
