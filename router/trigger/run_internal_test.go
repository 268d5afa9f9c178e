package trigger

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

// ran has one session and one run, and keeps what is stored.
type ran struct {
	rows
	session sessions.Record
	run     sessions.Run
}

func (r *ran) SessionByKey(context.Context, sessions.Key) (sessions.Record, error) {
	return r.session, nil
}

func (r *ran) Run(context.Context, sessions.RunID) (sessions.Run, error) { return r.run, nil }

// A trigger has the label of what its run is told and learns: its history is listed by it.
func TestTriggerHasTheLabelOfItsRun(t *testing.T) {
	t.Parallel()
	secret := flow.NewLabel(flow.Confidential, flow.Untrusted)
	r := &ran{session: sessions.Record{ID: "s1"}, run: sessions.Run{Status: sessions.RunDone, Reply: "NO_REPLY", Label: secret}}
	w := &worker{all: &Triggers{Store: r, Lanes: r, Now: time.Now}}
	job := ledger.Trigger{Key: "cron/a/1", Source: ledger.TriggerCron, Subject: "a", Status: ledger.TriggerWaiting, Label: flow.Bottom()}

	var change ledger.Change
	begun, err := w.begin(t.Context(), job, &Run{Session: "cron:a", Text: "hello", Label: secret}, &change)
	require.NoError(t, err)
	require.Equal(t, secret, begun.Label, "told")
	require.Equal(t, secret, change.Enqueue[0].Label)

	job.Status, job.Run = ledger.TriggerRunning, "r1"
	require.NoError(t, w.watch(t.Context(), job))
	ended := r.stored[0].Triggers[0]
	require.Equal(t, ledger.TriggerOK, ended.Status)
	require.Equal(t, secret, ended.Label, "learned")
}
