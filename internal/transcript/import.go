package transcript

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

const (
	lineMax  = 64 << 20 // bytes of a line
	batchMax = 4 << 20  // bytes of the lines of one commit
)

// Target is a store that sessions are imported into.
type Target interface {
	Commit(ctx context.Context, change ledger.Change) error
	Session(ctx context.Context, id sessions.ID) (sessions.Record, error)
	SessionByKey(ctx context.Context, key sessions.Key) (sessions.Record, error)
	Message(ctx context.Context, session sessions.ID, id sessions.MessageID) (sessions.Message, error)
}

// Options say how sessions are imported. All fields but Rename are required.
type Options struct {
	Rename    map[string]string // agents by their name in the file
	HasAgent  func(agent string) bool
	Partition func(id sessions.ID) int
}

// LineError says which line is invalid.
type LineError struct {
	Line int
	Err  error
}

// Error implements error.
func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap gives the cause.
func (e *LineError) Unwrap() error { return e.Err }

// Import reads sessions into a store and counts those that are new. Stored sessions and messages stay as they are. Import
// stops at the first invalid line with a *[LineError]. Then all sessions before this line are imported, and so is the part of
// its own session before it that was committed.
func Import(ctx context.Context, from io.Reader, to Target, o Options) (Counts, error) {
	i := &importing{Options: o, to: to}
	in := bufio.NewReaderSize(from, 1<<16)
	for !i.ended {
		i.line++
		text, err := readLine(in)
		if errors.Is(err, io.EOF) {
			err = errors.New("the file is cut off: its last line is missing")
		}
		if err == nil {
			err = i.take(ctx, text)
		}
		if err != nil {
			if ctx.Err() != nil {
				return i.new, context.Cause(ctx)
			}
			return i.new, &LineError{i.line, err}
		}
	}
	return i.new, i.atEnd(ctx, in)
}

// atEnd checks that nothing follows the end: it would not be imported.
func (i *importing) atEnd(ctx context.Context, in *bufio.Reader) error {
	for ctx.Err() == nil {
		i.line++
		text, err := readLine(in)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return &LineError{i.line, err}
		case len(text) > 0:
			return &LineError{i.line, errors.New("the file goes on after the end of its export: import each export from a file of its own")}
		}
	}
	return context.Cause(ctx)
}

// readLine reads a line without its end.
func readLine(in *bufio.Reader) ([]byte, error) {
	var text []byte
	for {
		part, err := in.ReadSlice('\n')
		if text = append(text, part...); len(text) > lineMax {
			return nil, fmt.Errorf("the line has more than %d bytes", lineMax)
		}
		if err == nil || errors.Is(err, io.EOF) && len(text) > 0 {
			return bytes.TrimSpace(text), nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, err
		}
	}
}

// importing is an import.
type importing struct {
	Options
	to    Target
	line  int
	seen  Counts // in the file
	new   Counts
	ended bool

	session *session   // the current one; nil before the first
	stored  flow.Label // what the current session has learnt, in the store
	taint   flow.Label // the same with what is about to be stored
	open    bool       // its head is not stored yet
	change  ledger.Change
	batch   map[sessions.MessageID]bool // in change
	bytes   int
}

// take handles a line.
func (i *importing) take(ctx context.Context, text []byte) error {
	var l line
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&l); err != nil {
		return fmt.Errorf("the line can't be read: %w", err)
	}
	switch {
	case i.line == 1 && l.Sluice == nil:
		return errors.New("this is not the beginning of an export of Sluice")
	case i.line == 1 && l.Sluice.Format != Format:
		return fmt.Errorf("the file has format %d, but this version of Sluice reads only format %d", l.Sluice.Format, Format)
	case i.line == 1:
		return nil
	case l.Session != nil:
		if err := i.close(ctx); err != nil {
			return err
		}
		i.seen.Sessions++
		return i.begin(ctx, l.Session)
	case l.Message != nil:
		i.seen.Messages++
		return i.add(ctx, l.Message, len(text))
	case l.End != nil:
		if err := i.close(ctx); err != nil {
			return err
		}
		if got := (end{i.seen.Sessions, i.seen.Messages}); got != *l.End {
			return fmt.Errorf("lines are missing: the export has %d sessions and %d messages, but the file has only %d and %d", l.End.Sessions, l.End.Messages, got.Sessions, got.Messages)
		}
		i.ended = true
		return nil
	}
	return errors.New("the line is neither a session nor a message")
}

// begin checks a session, and creates it unless it is already stored.
func (i *importing) begin(ctx context.Context, s *session) error {
	if err := i.check(s); err != nil {
		return err
	}
	i.session, i.batch = s, map[sessions.MessageID]bool{}
	have, err := i.to.Session(ctx, s.ID)
	switch {
	case err == nil && (have.Key != s.Key || have.Agent != s.Agent):
		return fmt.Errorf("session %s is already stored with the key %s", s.ID, have.Key)
	case err == nil:
		i.stored, i.taint = have.Taint, have.Taint
		i.open = have.Head == "" && (s.Head != "" || !s.Archived.IsZero() && !have.Archived) // an import was interrupted
		return nil
	case !errors.Is(err, sessions.ErrNotFound):
		return fmt.Errorf("read session: %w", err)
	}
	if s.Archived.IsZero() {
		if other, err := i.to.SessionByKey(ctx, s.Key); err == nil {
			return fmt.Errorf("the key %s belongs to another session (%s): reset or delete that session first", s.Key, other.ID)
		} else if !errors.Is(err, sessions.ErrNotFound) {
			return fmt.Errorf("read session of key %s: %w", s.Key, err)
		}
	}
	i.open, i.stored, i.taint = true, s.Taint, s.Taint
	i.new.Sessions++
	i.change.Create = []sessions.Record{s.record(i.Partition(s.ID))}
	return nil
}

// check checks a session, and replaces its agent as Rename says.
func (i *importing) check(s *session) error {
	if _, err := sessions.ParseID(string(s.ID)); err != nil {
		return fmt.Errorf("invalid session id %q: %w", s.ID, err)
	}
	if name, ok := i.Rename[s.Agent]; ok {
		if rest, ok := strings.CutPrefix(string(s.Key), "agent:"+s.Agent+":"); ok {
			s.Key = sessions.Key("agent:" + name + ":" + rest)
		}
		s.Agent = name
	}
	if _, err := sessions.ParseKey(string(s.Key)); err != nil {
		return fmt.Errorf("invalid session key %q: %w", s.Key, err)
	}
	if owner := s.Key.Agent(); owner != "" && owner != s.Agent {
		return fmt.Errorf("the key %s is one of agent %s, and the session is one of %s", s.Key, owner, s.Agent)
	}
	if !i.HasAgent(s.Agent) {
		return fmt.Errorf("there is no agent %q: add it to the configuration, or give its sessions to another agent with --agent %s=NAME", s.Agent, s.Agent)
	}
	if !s.Taint.Valid() || !s.Clearance.Valid() {
		return errors.New("the session has no valid label")
	}
	return nil
}

// add adds a message unless it is already stored.
func (i *importing) add(ctx context.Context, m *message, size int) error {
	switch {
	case i.session == nil:
		return errors.New("the message has no session before it")
	case m.ID == "" || m.Role == "":
		return errors.New("the message has no id or no role")
	case !m.Label.Valid():
		return errors.New("the message has no valid label")
	}
	for p := range m.Parts {
		if !m.Parts[p].Label.Valid() {
			return errors.New("a part of the message has no valid label")
		}
		m.Label = m.Label.Join(m.Parts[p].Label)
	}
	if known, err := i.has(ctx, m.ID); known || err != nil {
		return err
	}
	if m.Parent != "" {
		if known, err := i.has(ctx, m.Parent); err != nil || !known {
			return errors.Join(err, fmt.Errorf("the message follows %s, which is not in the session", m.Parent))
		}
	}
	i.change.Messages = append(i.change.Messages, sessions.StoredMessage{Session: i.session.ID, Message: m.stored()})
	i.batch[m.ID] = true
	i.taint = i.taint.Join(m.Label)
	i.new.Messages++
	if i.bytes += size; i.bytes >= batchMax || len(i.batch) >= messagesPage {
		return i.commit(ctx)
	}
	return nil
}

// has reports whether the current session has a message.
func (i *importing) has(ctx context.Context, id sessions.MessageID) (bool, error) {
	if i.batch[id] {
		return true, nil
	}
	if len(i.change.Create) > 0 { // nothing of the session is stored yet
		return false, nil
	}
	_, err := i.to.Message(ctx, i.session.ID, id)
	if errors.Is(err, sessions.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read message: %w", err)
	}
	return true, nil
}

func (i *importing) commit(ctx context.Context) error {
	if len(i.change.Create) == 0 && len(i.change.Messages) == 0 {
		return nil
	}
	if err := i.raise(ctx); err != nil {
		return err
	}
	err := i.to.Commit(ctx, i.change)
	i.change, i.bytes = ledger.Change{}, 0
	clear(i.batch)
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

// raise adds to the change that the session has learnt its messages. A session that exists may have learnt less than the file's,
// and the labels of a file may not fit together.
func (i *importing) raise(ctx context.Context) error {
	if i.taint == i.stored {
		return nil
	}
	if len(i.change.Create) > 0 {
		i.change.Create[0].Taint = i.taint
	} else {
		r, err := i.to.Session(ctx, i.session.ID)
		if err != nil {
			return fmt.Errorf("read session: %w", err)
		}
		r.Taint = r.Taint.Join(i.taint)
		i.change.Save = []sessions.Record{r}
	}
	i.stored = i.taint
	return nil
}

// close stores the rest of the current session, and then its head.
func (i *importing) close(ctx context.Context) error {
	if i.session == nil {
		return nil
	}
	if err := i.commit(ctx); err != nil {
		return err
	}
	s := i.session
	if i.session = nil; !i.open {
		return nil
	}
	r, err := i.to.Session(ctx, s.ID)
	if err != nil {
		return fmt.Errorf("read session: %w", err)
	}
	r.Head, r.Compacted, r.Usage, r.ContextSize, r.AbortedLast, r.LastActivity = s.Head, s.Compacted, s.Usage, s.ContextSize, s.AbortedLast, s.LastActivity
	for _, id := range []sessions.MessageID{s.Head, s.Compacted} {
		if id == "" {
			continue
		}
		if _, err := i.to.Message(ctx, s.ID, id); err != nil {
			return fmt.Errorf("session %s: its message %s is missing: %w", s.ID, id, err)
		}
	}
	change := ledger.Change{Change: sessions.Change{Save: []sessions.Record{r}}}
	if !s.Archived.IsZero() && r.Ended.IsZero() {
		change.End = []sessions.End{{ID: s.ID, At: s.Archived, Archive: true}}
	}
	if err := i.to.Commit(ctx, change); err != nil {
		return fmt.Errorf("store head of session %s: %w", s.ID, err)
	}
	return nil
}
