package agent

import (
	"context"
	"errors"

	runs "sluice/router/work"
	"sluice/sessions"
)

var _ runs.Compactor = (*Loop)(nil)

// commandKeeps: the command keeps at most 1/commandKeeps of a thread.
const commandKeeps = 4

// Compact implements [runs.Compactor].
func (l *Loop) Compact(ctx context.Context, a runs.Assignment) (runs.Compacted, error) {
	w := &work{parts: l.parts, session: a.Session, run: a.Run, emit: a.Emit}
	w.event(sessions.Event{Type: sessions.EventStarted})
	before, messages := threadSize(a.Session)
	w.compactions++
	err := w.compactTo(ctx, min(w.keepBytes(), before/commandKeeps))
	if errors.Is(err, sessions.ErrNothingToCompact) {
		return runs.Compacted{}, err
	}
	if err != nil {
		return runs.Compacted{}, w.ended(ctx, err)
	}
	after, kept := threadSize(a.Session)
	return runs.Compacted{Messages: messages - kept + 1, Before: before, After: after, Usage: w.usage.Get()}, nil
}

// threadSize is the size of a thread as models read it: bytes of text, and messages.
func threadSize(s *sessions.Session) (size, messages int) {
	thread := s.Messages()
	for _, m := range thread {
		for _, p := range m.Parts {
			size += len(p.Text) + len(p.Args)
		}
	}
	return size, len(thread)
}
