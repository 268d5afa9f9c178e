package turn_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/sessions/address"
	"sluice/sessions/turn"
)

func TestKindsAndStatuses(t *testing.T) {
	t.Parallel()
	for kind, step := range map[turn.RunKind]bool{
		turn.KindAsk: true, turn.KindReply: true, turn.KindAnnounce: true, turn.KindTask: true, turn.KindReport: true,
		turn.KindMessage: false, turn.KindCommand: false, turn.KindNote: false, "": false,
	} {
		require.Equal(t, step, kind.Step(), kind)
	}
	for status, ended := range map[turn.RunStatus]bool{
		turn.RunQueued: false, turn.RunRunning: false,
		turn.RunDone: true, turn.RunFailed: true, turn.RunTimeout: true, turn.RunAborted: true, turn.RunDropped: true,
	} {
		require.Equal(t, ended, status.Terminal(), status)
	}
	for order, answered := range map[turn.OrderKind]bool{
		turn.OrderEdit: true, turn.OrderRetry: true,
		turn.OrderUndo: false, turn.OrderSwitch: false, turn.OrderRaise: false, turn.OrderCompact: false,
	} {
		require.Equal(t, answered, order.Answered(), order)
	}
	for mode, valid := range map[turn.QueueMode]bool{
		turn.QueueInherit: true, turn.QueueSteer: true, turn.QueueFollowup: true, turn.QueueCollect: true, turn.QueueInterrupt: true,
		"Steer": false, "drop": false,
	} {
		require.Equal(t, valid, mode.Valid(), mode)
	}
}

func TestSpeaker(t *testing.T) {
	t.Parallel()
	ann := address.Peer{ID: "ann"}
	for name, c := range map[string]struct {
		kind   turn.RunKind
		sender address.Peer
		want   string
	}{
		"a person":           {turn.KindMessage, ann, "test:ann"},
		"a person's command": {turn.KindCommand, ann, "test:ann"},
		"no sender":          {turn.KindMessage, address.Peer{}, ""},
		"another agent":      {turn.KindAsk, ann, ""},
		"a report":           {turn.KindReport, ann, ""},
		"a note":             {turn.KindNote, ann, ""},
	} {
		run := turn.Run{Kind: c.kind, Route: address.Route{Channel: "test"}, Input: turn.Input{Sender: c.sender}}
		require.Equal(t, c.want, run.Speaker(), name)
	}
}

func TestWorkError(t *testing.T) {
	t.Parallel()
	errCause := errors.New("disk full")
	err := &turn.WorkError{Status: turn.RunFailed, Public: "Try again.", Err: errCause}
	require.EqualError(t, err, "run failed: disk full")
	require.ErrorIs(t, err, errCause)
}
