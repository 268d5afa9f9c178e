package queue

import (
	"slices"
	"time"

	"sluice/sessions"
)

// Interrupted are the runs that a message ends in queue mode interrupt: those for the same people, except runs caused
// by agents. A waiting run is included, because it may have started when the change is stored.
func Interrupted(waiting []sessions.Run, by sessions.Route) (ends []sessions.Interrupt) {
	for _, run := range waiting {
		if run.Leader == "" && !Alone(run) && SameAudience(run.Route, by) {
			ends = append(ends, sessions.Interrupt{Session: run.Session, Run: run.ID})
		}
	}
	return ends
}

// MaxWaiting is how many unfinished runs of one session are read at a time; a configured cap never exceeds it.
const MaxWaiting = 200

// Queued selects the runs that have not started.
func Queued(waiting []sessions.Run) []sessions.Run {
	var queued []sessions.Run
	for _, w := range waiting {
		if w.Status == sessions.RunQueued {
			queued = append(queued, w)
		}
	}
	return queued
}

// SameAudience reports whether one answer can serve both routes: a private question is answered alone.
func SameAudience(a, b sessions.Route) bool { return a.Lane() == b.Lane() && a.Handle == b.Handle }

// Pick chooses the next runs of a session from its waiting runs, in order. The first is the leader. A wait above 0
// says when to pick again: the queue mode asks for a quiet time first. busy says that a run has just ended here.
func Pick(q Settings, waiting []sessions.Run, now time.Time, busy bool) (batch []sessions.Run, wait time.Duration) {
	if len(waiting) == 0 {
		return nil, 0
	}
	if resumed := resumable(waiting); len(resumed) > 0 {
		return resumed, 0
	}
	switch step := slices.IndexFunc(waiting, NeverBatched); {
	case step == 0:
		return slices.Clip(waiting[:1]), 0
	case step > 0:
		waiting = waiting[:step]
	}
	said := Messages(waiting)
	n := 1
	for together(q.Mode) && n < len(said) && SameAudience(said[n][0].Route, said[0][0].Route) {
		n++
	}
	batch = said[0]
	if n > 1 {
		batch = slices.Concat(said[:n]...)
	}
	for _, message := range said[:n] {
		wait = max(wait, WaitForMore(message, now))
	}
	if busy && q.Mode == sessions.QueueCollect {
		// Don't wait for a message from the future: a clock was set back.
		if quiet := now.Sub(newest(batch)); quiet >= 0 {
			wait = max(wait, q.Debounce-quiet)
		}
	}
	if wait > 0 {
		return nil, wait
	}
	return batch, 0
}

// together reports whether all waiting messages become one run.
func together(mode sessions.QueueMode) bool {
	return mode == sessions.QueueCollect || mode == sessions.QueueInterrupt
}

// Alone reports whether a run is not a person's message: messages of agents, commands, and what a trigger causes.
func Alone(run sessions.Run) bool {
	switch run.Kind {
	case sessions.KindNote, sessions.KindCommand, sessions.KindTrigger:
		return true
	}
	return run.Kind.Step()
}

// NeverBatched reports whether a run always has its own batch: runs that are worked alone, orders, and runs with functions of their client.
func NeverBatched(run sessions.Run) bool {
	return Alone(run) || run.Input.Order != nil || len(run.Input.Functions) > 0
}

// newest is the latest time at which one of the runs was accepted.
func newest(runs []sessions.Run) time.Time {
	at := runs[0].Accepted
	for _, run := range runs {
		if run.Accepted.After(at) {
			at = run.Accepted
		}
	}
	return at
}

// resumable is the run that was running when its worker died, with the runs merged into it.
func resumable(waiting []sessions.Run) []sessions.Run {
	var batch []sessions.Run
	for _, w := range waiting {
		if w.Status == sessions.RunRunning && w.Leader == "" {
			batch = append(batch, w)
			break
		}
	}
	if batch == nil {
		return nil
	}
	for _, w := range waiting {
		if w.Leader == batch[0].ID {
			batch = append(batch, w)
		}
	}
	return batch
}

// Settings bound a session's queue.
type Settings struct {
	Mode     sessions.QueueMode // never QueueInherit
	Cap      int                // messages that may wait behind a run
	DropNew  bool
	Debounce time.Duration // collect: the quiet time before the waiting messages are taken
}
