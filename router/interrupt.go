package router

import (
	"cmp"
	"errors"

	"sluice/router/ledger"
	"sluice/sessions"
)

// Causes with which a run is cancelled.
var (
	// errAborted: somebody stopped it.
	errAborted = errors.New("stopped by a person")
	// errReplaced: a newer message has come and the session's queue mode is interrupt.
	errReplaced = errors.New("replaced by a newer message")
)

// abortCause is the error for what the store says; nil for none.
func abortCause(asked sessions.AbortCause) error {
	switch asked {
	case sessions.AbortNone:
		return nil
	case sessions.AbortReplaced:
		return errReplaced
	}
	return errAborted
}

// interrupt adds to the change that brings a message that it ends the run which works
// for the same people. What agents say to each other goes on. A run that waits now
// is named too: it may have begun until the change is stored.
func (s *Settings) interrupt(record sessions.Record, in Admission, waiting []sessions.Run, change *ledger.Change) {
	if s.queueMode(record) != sessions.QueueInterrupt {
		return
	}
	for _, run := range waiting {
		if run.Leader == "" && !workedAlone(run) && sameAudience(run.Route, in.Route) {
			change.Interrupt = append(change.Interrupt, sessions.Interrupt{Session: run.Session, Run: run.ID})
		}
	}
}

// queueMode is a session's queue mode.
func (s *Settings) queueMode(record sessions.Record) sessions.QueueMode {
	return cmp.Or(record.QueueMode, s.Queue.Mode)
}
