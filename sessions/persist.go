package sessions

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	"sluice/internal/pause"
	"sluice/sessions/message"
	"sluice/sessions/record"
)

// saver stores what is not stored yet.
type saver struct{ *state }

// Pending is the change that stores what is not stored yet: always the record,
// settings that were changed, and the messages that are new or edited, on whatever
// branch. It has no effect; after the change was committed, perhaps as a part of a
// greater one, [Session.Saved] must be told.
func (s *Session) Pending() Change {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.saver.pending()
}

func (s saver) pending() Change {
	var change Change
	if s.isNew {
		change.Create = []Record{s.record}
	} else {
		change.Save = []Record{s.record}
	}
	change.Audit, change.Postings = slices.Clone(s.audit), slices.Clone(s.postings)
	if !s.settings.Empty() {
		change.Patch = []Patch{s.settings}
	}
	for _, m := range s.notStored() {
		change.Messages = append(change.Messages, StoredMessage{Session: s.record.ID, Message: cloneMessage(m)})
	}
	return change
}

// Saved says that a change made by Pending was committed, with the record as the committer may have completed it.
func (s *Session) Saved(change Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saver.saved(change)
}

func (s saver) saved(change Change) {
	s.attempt = nil
	s.audit, s.postings = s.audit[min(len(change.Audit), len(s.audit)):], s.postings[min(len(change.Postings), len(s.postings)):]
	for _, stored := range change.Messages {
		s.savedMessage(stored.Message)
	}
	for _, record := range change.Create {
		s.savedRecord(record, record.Revision)
	}
	for _, record := range change.Save {
		s.savedRecord(record, record.Revision+1)
	}
	for _, p := range change.Patch {
		if reflect.DeepEqual(p, s.settings) {
			s.settings = Patch{ID: s.record.ID}
		}
	}
}

// savedMessage notes what the store has of a message. One that was edited since stays unsaved.
func (s saver) savedMessage(stored Message) {
	if _, ok := s.unsaved[stored.ID]; !ok {
		return
	}
	if m, err := s.find(stored.ID); err == nil {
		if reflect.DeepEqual(*m, stored) {
			delete(s.unsaved, m.ID)
		} else {
			m.Revision = stored.Revision + 1
		}
		return
	}
	if m := s.aside[stored.ID]; reflect.DeepEqual(m, stored) {
		delete(s.unsaved, m.ID)
		delete(s.aside, m.ID)
	} else {
		m.Revision = stored.Revision + 1
		s.aside[m.ID] = m
	}
}

func (s saver) savedRecord(record Record, revision int64) {
	if record.ID != s.record.ID {
		return
	}
	s.changed = !sameState(s.record, record)
	s.record.Revision, s.record.Route, s.record.LastActivity = revision, record.Route, record.LastActivity
	s.isNew = false
}

// sameState compares what the step API writes of a record.
func sameState(a, b Record) bool {
	return a.Agent == b.Agent && a.Head == b.Head && a.Compacted == b.Compacted && a.Taint == b.Taint &&
		a.Usage == b.Usage && a.ContextSize == b.ContextSize && a.AbortedLast == b.AbortedLast
}

// Persist stores what is not stored yet in one transaction. [ErrConflict] says
// that somebody else has stored the session since: nothing was written; Reload and do the step again.
//
// While the store is unavailable it waits for it until ctx ends: an answer that was paid for and the result of a tool that has
// run must outlive an outage that the process outlives.
//
// After any other error it may be called again: if the answer to a commit was
// lost, it finds out whether it was applied, and nothing is stored twice.
func (s *Session) Persist(ctx context.Context) error { return s.saver.Persist(ctx) }

// Persist is [Session.Persist].
func (s saver) Persist(ctx context.Context) error {
	const first, longest = 100 * time.Millisecond, 5 * time.Second
	pauses := pause.Doubling(first, longest, 0)
	for {
		err := s.persist(ctx)
		if !errors.Is(err, ErrUnavailable) {
			return err
		}
		if pause.Wait(ctx, pauses.NextBackOff()) != nil {
			return err
		}
	}
}

func (s saver) persist(ctx context.Context) error {
	if err := s.settle(ctx); err != nil {
		return fmt.Errorf("persist session: find out what was stored: %w", err)
	}
	s.mu.Lock()
	if !s.dirty() {
		s.mu.Unlock()
		return nil
	}
	change := s.pending()
	s.mu.Unlock()
	err := s.store.CommitSession(ctx, change)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.saved(change)
		return nil
	case record.Uncertain(err):
		s.attempt = &change
	}
	return fmt.Errorf("persist session: %w", err)
}

// settle finds out whether the last attempt to store the session was applied.
func (s saver) settle(ctx context.Context) error {
	s.mu.Lock()
	attempt, id := s.attempt, s.record.ID
	s.mu.Unlock()
	if attempt == nil {
		return nil
	}
	applied, err := s.applied(ctx, id, *attempt)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempt = nil
	if applied {
		s.saved(*attempt)
	}
	return nil
}

// applied looks for a change in the store: its messages, which nobody else can have
// written; without messages the record, which then is as it should be.
func (s saver) applied(ctx context.Context, id ID, change Change) (bool, error) {
	stored, err := s.store.Session(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	for _, r := range change.Save {
		if stored.Revision == r.Revision || len(change.Messages) == 0 && (stored.Revision != r.Revision+1 || !sameState(stored, r)) {
			return false, nil
		}
	}
	for _, r := range change.Create {
		if stored.Key != r.Key || stored.Agent != r.Agent {
			return false, nil // another session that has our id
		}
	}
	for _, m := range change.Messages {
		got, err := s.store.Message(ctx, id, m.Message.ID)
		if errors.Is(err, ErrNotFound) || err == nil && !message.Same(got, m.Message) {
			return false, nil
		}
		if err != nil {
			return false, err
		}
	}
	return true, nil
}

// Dirty reports whether anything is not stored.
func (s *Session) Dirty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.saver.dirty()
}

func (s saver) dirty() bool {
	return s.changed || len(s.unsaved) > 0 || len(s.audit) > 0 || len(s.postings) > 0 || !s.settings.Empty()
}

// Reload reads the record and the selected thread again. With changes that are
// not stored it is ErrDirty, unless force says to lose them, on all branches, and
// what they had taught the session: it is then as after a crash.
func (s *Session) Reload(ctx context.Context, force bool) error {
	s.mu.Lock()
	id, dirty, busy := s.record.ID, s.saver.dirty(), s.building != nil
	s.mu.Unlock()
	switch {
	case busy:
		return fmt.Errorf("reload session: %w", ErrStepBusy)
	case dirty && !force:
		return fmt.Errorf("reload session: %w", ErrDirty)
	}
	record, err := s.store.Session(ctx, id)
	if err != nil {
		return fmt.Errorf("reload session: %w", err)
	}
	messages, err := s.store.Thread(ctx, record)
	if err != nil {
		return fmt.Errorf("reload session: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reset(record, messages)
	s.isNew = false
	return nil
}
