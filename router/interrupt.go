package router

import (
	"cmp"

	"sluice/router/ledger"
	"sluice/sessions"
)

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
