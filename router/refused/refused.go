// Package refused remembers whose messages were refused, so that an operator can see why there was no answer. It keeps the
// time, the place and the reason, never the text.
//
// A refusal is noted in memory and stored a few seconds later, because people who are not admitted must not cause commits. Refusals
// of one place and person between two commits are counted together; beyond noteMax places and people, further ones are left out.
package refused

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"sluice/adapters"
	"sluice/internal/pause"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

const (
	storeEvery = 2 * time.Second
	// noteMax is how many places and people are noted between two commits.
	noteMax = 500
)

// Store keeps refusals.
type Store interface {
	// SaveRefusals adds to what is known of each place and person, and removes the oldest beyond [ledger.RefusalsMax].
	SaveRefusals(ctx context.Context, all []ledger.Refusal) error
}

// Log notes refusals. It is safe for concurrent use.
type Log struct {
	Store     Store // nil: nothing is kept
	SinkLevel func(route sessions.Route) flow.Level
	Now       func() time.Time
	Log       *slog.Logger

	mu    sync.Mutex
	noted map[string]ledger.Refusal
}

// Note notes that an event was refused. It never waits.
func (l *Log) Note(in adapters.Inbound, reason string) {
	l.NoteAt(in, l.SinkLevel(in.Route), reason)
}

// NoteAt notes that an event of a level was refused. The refusal has at least the level of the channel, of which only those who
// may know of the channel learn.
func (l *Log) NoteAt(in adapters.Inbound, level flow.Level, reason string) {
	if l.Store == nil {
		return
	}
	now := l.Now()
	channel := l.SinkLevel(sessions.Route{Channel: in.Route.Channel, Account: in.Route.Account})
	level = flow.NewLabel(level, flow.Trusted).Join(flow.NewLabel(channel, flow.Trusted)).Level()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.noted == nil {
		l.noted = map[string]ledger.Refusal{}
	}
	id := ledger.RefusalIDOf(in.Route, in.Sender.ID)
	r, known := l.noted[id]
	if !known {
		if len(l.noted) >= noteMax {
			return
		}
		r = ledger.Refusal{
			ID: id, Channel: in.Route.Channel, Account: in.Route.Account, ChatType: in.Route.ChatType, Chat: in.Route.Conversation, Title: in.Route.Title, User: in.Sender,
			First: now,
		}
	}
	r.Level, r.Reason, r.Last, r.Count = level, reason, now, r.Count+1
	l.noted[id] = r
}

// Run stores what was noted, until ctx ends.
func (l *Log) Run(ctx context.Context) { pause.Rounds(ctx, storeEvery, storeEvery, l.Log, l.StoreRest) }

// StoreRest stores what was noted.
func (l *Log) StoreRest(ctx context.Context) {
	l.mu.Lock()
	noted := l.noted
	l.noted = nil
	l.mu.Unlock()
	if len(noted) == 0 {
		return
	}
	all := make([]ledger.Refusal, 0, len(noted))
	for _, r := range noted {
		all = append(all, r)
	}
	if err := l.Store.SaveRefusals(ctx, all); err != nil {
		l.Log.Debug("cannot store refused messages; trying again later", "err", err)
		l.putBack(all)
	}
}

// putBack notes again what could not be stored, within the bound: what was noted meanwhile comes first.
func (l *Log) putBack(all []ledger.Refusal) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.noted == nil {
		l.noted = map[string]ledger.Refusal{}
	}
	for _, r := range all {
		newer, known := l.noted[r.ID]
		switch {
		case known:
			newer.First, newer.Count = r.First, newer.Count+r.Count
			l.noted[r.ID] = newer
		case len(l.noted) < noteMax:
			l.noted[r.ID] = r
		}
	}
}
