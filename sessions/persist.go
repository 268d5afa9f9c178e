package sessions

import (
	"context"
	"fmt"
)

// Pending is the change that stores what is not stored yet: always the record,
// and the messages that are new or edited. It has no effect; after the change
// was committed, perhaps as a part of a greater one, [Session.Saved] must be told.
func (s *Session) Pending() Change {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pending()
}

func (s *Session) pending() Change {
	var change Change
	if s.isNew {
		change.Create = []Record{s.record}
	} else {
		change.Save = []Record{s.record}
	}
	for i := len(s.messages) - len(s.unsaved); i < len(s.messages); i++ {
		if i < 0 || !s.unsaved[s.messages[i].ID] {
			return s.pendingScattered(change) // an older message was edited
		}
		change.Messages = append(change.Messages, StoredMessage{Session: s.record.ID, Message: s.messages[i]})
	}
	return change
}

// pendingScattered collects unsaved messages that are not simply the newest ones.
func (s *Session) pendingScattered(change Change) Change {
	change.Messages = nil
	for _, m := range s.messages {
		if s.unsaved[m.ID] {
			change.Messages = append(change.Messages, StoredMessage{Session: s.record.ID, Message: m})
		}
	}
	return change
}

// Saved says that a change made by Pending was committed, with the record as the committer may have completed it.
func (s *Session) Saved(change Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, stored := range change.Messages {
		if m, err := s.find(stored.Message.ID); err == nil && m.Revision == stored.Message.Revision {
			delete(s.unsaved, m.ID)
		}
	}
	for _, record := range change.Create {
		s.saved(record, record.Revision)
	}
	for _, record := range change.Save {
		s.saved(record, record.Revision+1)
	}
}

func (s *Session) saved(record Record, revision int64) {
	if record.ID != s.record.ID {
		return
	}
	s.record.Revision, s.record.Route, s.record.LastActivity = revision, record.Route, record.LastActivity
	s.isNew = false
	s.changed = s.record.Head != record.Head || s.record.Taint != record.Taint || s.record.Compacted != record.Compacted
}

// Persist stores what is not stored yet in one transaction. [ErrConflict] says
// that somebody else has stored the session since: nothing was written; Reload and do the step again.
func (s *Session) Persist(ctx context.Context) error {
	s.mu.Lock()
	if !s.dirty() {
		s.mu.Unlock()
		return nil
	}
	change := s.pending()
	s.mu.Unlock()
	if err := s.store.CommitSession(ctx, change); err != nil {
		return fmt.Errorf("persist session: %w", err)
	}
	s.Saved(change)
	return nil
}

// Dirty reports whether anything is not stored.
func (s *Session) Dirty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dirty()
}

func (s *Session) dirty() bool { return s.changed || len(s.unsaved) > 0 }

// Reload reads the record and the selected thread again. With changes that are
// not stored it is ErrDirty, unless force says to lose them.
func (s *Session) Reload(ctx context.Context, force bool) error {
	s.mu.Lock()
	id, dirty := s.record.ID, s.dirty()
	s.mu.Unlock()
	if dirty && !force {
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
	s.record, s.messages, s.unsaved = record, messages, map[MessageID]bool{}
	s.isNew, s.changed = false, false
	return nil
}
