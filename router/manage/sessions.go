package manage

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/router/request"
	"sluice/sessions"
)

// tries bounds how often a change is retried after conflicts.
const tries = 5

// Store reads and writes sessions and their runs.
type Store interface {
	Session(ctx context.Context, id sessions.ID) (sessions.Record, error)
	SessionByKey(ctx context.Context, key sessions.Key) (sessions.Record, error)
	Run(ctx context.Context, id sessions.RunID) (sessions.Run, error)
	WaitingRuns(ctx context.Context, id sessions.ID, limit int) ([]sessions.Run, error)
	ListExchanges(ctx context.Context, q ledger.ExchangeQuery) ([]ledger.Exchange, error)
	CommitSession(ctx context.Context, c sessions.Change) error
	Commit(ctx context.Context, c ledger.Change) error
}

// Lanes commits a change and wakes the affected lanes, see [lanes.Lanes.Commit].
type Lanes interface {
	Commit(ctx context.Context, c ledger.Change) error
}

// Events has the live events of sessions.
type Events interface {
	Follow(ctx context.Context, id sessions.ID, after uint64) (<-chan sessions.Event, error)
}

// Sessions finds, creates, changes and ends sessions for operators and programs. All fields are required. It is safe
// for concurrent use.
type Sessions struct {
	Store     Store
	Places    *place.Places
	Settings  func() *place.Settings
	Lanes     Lanes
	Events    Events
	ModelName func(agent string) string // of an agent; empty if the agent does not exist
	Stopping  func() bool               // whether the gateway accepts no new requests
	Now       func() time.Time
	Log       *slog.Logger
}

// NewSession asks for a session over HTTP.
type NewSession struct {
	Agent      string
	Persistent bool
	TTL        time.Duration
	Metadata   json.RawMessage
	FileAccess *sessions.FileAccess // nil: as for every session in which others than an owner speak
	Title      flow.Text
	Clearance  flow.Level // the highest level that it may ever learn; invalid: all levels
}

// ResolveSession finds a live session by its key, its id, or "main".
func (k *Sessions) ResolveSession(ctx context.Context, keyOrID string) (sessions.Record, error) {
	return k.Places.Resolve(ctx, keyOrID)
}

// ReadableSession is ResolveSession for a session that is only read: it finds archived ones too.
func (k *Sessions) ReadableSession(ctx context.Context, keyOrID string) (sessions.Record, error) {
	return k.Places.Readable(ctx, keyOrID)
}

// SessionOrMain finds a session by its key or id. Without either, it returns the default agent's main session, or the
// record from which that session would be created.
func (k *Sessions) SessionOrMain(ctx context.Context, keyOrID string) (sessions.Record, error) {
	if keyOrID != "" {
		return k.ResolveSession(ctx, keyOrID)
	}
	agent := k.Settings().Agent
	record := k.Places.NewAgentSession(agent)
	stored, err := k.Store.SessionByKey(ctx, record.Key)
	switch {
	case errors.Is(err, sessions.ErrNotFound):
		return record, nil
	case err != nil:
		return record, fmt.Errorf("read session: %w", err)
	}
	return stored, nil
}

// MainSession returns the main session that a name refers to, and creates it if it does not exist. If the name does not
// refer to the main session of an agent, the error is [sessions.ErrNotFound].
func (k *Sessions) MainSession(ctx context.Context, name string) (sessions.Record, error) {
	s := k.Settings()
	key, err := s.Keyer.Resolve(name, s.Agent)
	agent := key.Agent()
	if err != nil || key != s.Keyer.Main(agent) || k.ModelName(agent) == "" {
		return sessions.Record{}, sessions.ErrNotFound
	}
	for range tries {
		record, err := k.Store.SessionByKey(ctx, key)
		if !errors.Is(err, sessions.ErrNotFound) {
			return record, err
		}
		record = k.Places.NewRecord(key, agent, sessions.Route{})
		err = k.Store.CommitSession(ctx, sessions.Change{Create: []sessions.Record{record}})
		if !errors.Is(err, sessions.ErrConflict) {
			return record, err
		}
	}
	return sessions.Record{}, fmt.Errorf("make main session: %w", sessions.ErrConflict)
}

// CreateSession creates a session for use over HTTP.
func (k *Sessions) CreateSession(ctx context.Context, n NewSession) (sessions.Record, error) {
	return k.create(ctx, n, func(id sessions.ID) string { return string(id) })
}

// OpenSession finds the live session that has a name of an agent's sessions over HTTP, or creates it. The name is the caller's to
// choose: it must keep callers apart.
func (k *Sessions) OpenSession(ctx context.Context, name string, n NewSession) (sessions.Record, error) {
	for range tries {
		record, err := k.Store.SessionByKey(ctx, httpKey(n.Agent, name))
		if errors.Is(err, sessions.ErrNotFound) {
			record, err = k.create(ctx, n, func(sessions.ID) string { return name })
		}
		if !errors.Is(err, sessions.ErrConflict) { // otherwise another request has created it
			return record, err
		}
	}
	return sessions.Record{}, fmt.Errorf("open session: %w", sessions.ErrConflict)
}

// httpKey is the key of a session that was made over HTTP.
func httpKey(agent, name string) sessions.Key {
	return sessions.Key("agent:" + agent + ":http:" + name)
}

// create creates a session; named gives the last part of its key.
func (k *Sessions) create(ctx context.Context, n NewSession, named func(id sessions.ID) string) (sessions.Record, error) {
	if k.Stopping() {
		return sessions.Record{}, request.ErrStopping
	}
	agent := n.Agent
	if agent == "" {
		agent = k.Settings().Agent
	}
	if k.ModelName(agent) == "" {
		return sessions.Record{}, &request.Error{Field: "agent", Text: fmt.Sprintf("no agent %q: see agents.list in the configuration", agent)}
	}
	if len(n.Metadata) > sessions.MetadataMax {
		return sessions.Record{}, &request.Error{Field: "metadata", Text: fmt.Sprintf("is %d bytes long, the maximum is %d", len(n.Metadata), sessions.MetadataMax)}
	}
	record := k.Places.NewRecord("", agent, sessions.Route{})
	if n.FileAccess != nil {
		if size := pathBytes(*n.FileAccess); size > sessions.MetadataMax {
			return sessions.Record{}, &request.Error{Field: "file_access", Text: fmt.Sprintf("has paths of %d bytes, the maximum is %d", size, sessions.MetadataMax)}
		}
		access, err := n.FileAccess.Checked()
		if err != nil {
			return sessions.Record{}, &request.Error{Field: "file_access", Text: err.Error()}
		}
		record.FileAccess = access
	}
	record.Key = httpKey(agent, named(record.ID))
	record.Persistent, record.TTL, record.Metadata, record.Title = n.Persistent, n.TTL, n.Metadata, n.Title
	if n.Clearance.Valid() {
		record.Clearance = n.Clearance
	}
	if err := k.Store.CommitSession(ctx, sessions.Change{Create: []sessions.Record{record}}); err != nil {
		return sessions.Record{}, fmt.Errorf("create session: %w", err)
	}
	return record, nil
}

// pathBytes is the length of all paths of a file access, with 3 bytes per path for the separators.
func pathBytes(a sessions.FileAccess) (size int) {
	for _, path := range slices.Concat(a.Read, a.Write) {
		size += len(path) + 3
	}
	return size
}

// PatchSession changes a session's settings.
func (k *Sessions) PatchSession(ctx context.Context, p sessions.Patch, actor string) (sessions.Record, error) {
	if err := p.Check(); err != nil {
		return sessions.Record{}, &request.Error{Text: err.Error()}
	}
	entry := sessions.AuditEntry{At: k.Now(), Actor: actor, Action: "session.patch", Object: string(p.ID), Session: p.ID, Label: ledger.NoticeLabel()}
	if err := k.Store.Commit(ctx, ledger.Change{Change: sessions.Change{Patch: []sessions.Patch{p}, Audit: []sessions.AuditEntry{entry}}}); err != nil {
		return sessions.Record{}, fmt.Errorf("patch session: %w", err)
	}
	return k.Store.Session(ctx, p.ID)
}

// Learn raises a session to a label that reaches it outside its runs, for example through a file in its workspace. It
// is called before the data can be read: after a crash in between, the session only has a label that is too high. A
// run in progress continues from its last stored step with the new label.
func (k *Sessions) Learn(ctx context.Context, id sessions.ID, label flow.Label, actor string) error {
	for range tries {
		record, err := k.Places.LiveSession(ctx, id)
		if err != nil {
			return fmt.Errorf("read session: %w", err)
		}
		taint := record.Taint.Join(label)
		if taint == record.Taint {
			return nil
		}
		if !taint.FlowsTo(record.Clearance) {
			return &request.Error{Field: "label", Text: place.AboveClearance(record, taint.Level())}
		}
		entry := sessions.AuditEntry{
			At: k.Now(), Actor: actor, Action: "session.learn", Object: string(record.Key), Session: id, Label: taint,
			Detail: map[string]string{"from": record.Taint.String(), "to": taint.String()},
		}
		record.Taint = taint
		err = k.Store.Commit(ctx, ledger.Change{Change: sessions.Change{Save: []sessions.Record{record}, Audit: []sessions.AuditEntry{entry}}})
		if !errors.Is(err, sessions.ErrConflict) { // otherwise one of its runs has stored a step in the meantime
			return err
		}
	}
	return fmt.Errorf("raise session: %w", sessions.ErrConflict)
}

// ResetSession starts a new session under the key of an old one, for the caller of the API. If a rule keeps the session, the
// error is a [*request.Error].
func (k *Sessions) ResetSession(ctx context.Context, id sessions.ID, actor string) (sessions.Record, error) {
	old, err := k.Store.Session(ctx, id)
	if err != nil {
		return old, err
	}
	entry, kept := k.Places.OperatorMayEnd(old, actor)
	if kept != "" {
		return sessions.Record{}, k.keep(ctx, entry, kept)
	}
	change, fresh := k.Places.Reset(old, flow.Level{})
	change.Audit = []sessions.AuditEntry{entry}
	if err := k.Store.Commit(ctx, change); err != nil {
		return sessions.Record{}, fmt.Errorf("reset session: %w", err)
	}
	return fresh, nil
}

// DeleteSession ends a session, which may be archived, and stops its work and its sub-agents, for the caller of the API. If a rule keeps the
// session, the error is a [*request.Error].
func (k *Sessions) DeleteSession(ctx context.Context, id sessions.ID, actor string) error {
	record, err := k.Store.Session(ctx, id)
	if err != nil {
		return fmt.Errorf("delete session: %w", err)
	}
	entry, kept := k.Places.OperatorMayEnd(record, actor)
	if kept != "" {
		return k.keep(ctx, entry, kept)
	}
	if err := k.End(ctx, id, entry); err != nil {
		return fmt.Errorf("delete session: %w", err)
	}
	return nil
}

// End ends a session, stops its work and its sub-agents, and adds an entry to the audit trail. It asks no rules.
func (k *Sessions) End(ctx context.Context, id sessions.ID, entry sessions.AuditEntry) error {
	return k.commitStop(ctx, id, func(c *ledger.Change) {
		c.End = append(c.End, sessions.End{ID: id, At: k.Now()})
		c.Audit = append(c.Audit, entry)
	})
}

// keep records why a session was not ended, and returns the matching error.
func (k *Sessions) keep(ctx context.Context, entry sessions.AuditEntry, why string) error {
	if err := k.Store.Commit(ctx, ledger.Change{Change: sessions.Change{Audit: []sessions.AuditEntry{entry}}}); err != nil {
		return fmt.Errorf("record refusal: %w", err)
	}
	return &request.Error{Text: why}
}

// AbortSession stops the current run of a session, its queued runs and its sub-agents.
func (k *Sessions) AbortSession(ctx context.Context, id sessions.ID, actor string) error {
	if err := k.commitStop(ctx, id, func(c *ledger.Change) { c.Audit = append(c.Audit, k.Stopped(id, actor)) }); err != nil {
		return fmt.Errorf("abort session: %w", err)
	}
	return nil
}

// WaitRun waits until a run has ended, at most for d, and returns its current state.
func (k *Sessions) WaitRun(ctx context.Context, id sessions.RunID, d time.Duration) (sessions.Run, error) {
	run, err := k.Store.Run(ctx, id)
	if err != nil || run.Status.Terminal() || d <= 0 {
		return run, err
	}
	waiting, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	events, err := k.Events.Follow(waiting, run.Session, 0)
	if err != nil && waiting.Err() == nil {
		k.Log.Debug("cannot follow the events of a session; the end of its run is noticed later", "session", string(run.Session), "err", err)
	}
	// The run may have ended before the subscription started, and the bus may not work or lose an event, so a ticker
	// checks as well.
	ticker := time.NewTicker(2 * time.Second)
	defer ticker.Stop()
	for {
		run, err = k.Store.Run(ctx, id)
		if err != nil || run.Status.Terminal() || waiting.Err() != nil {
			return run, err
		}
		k.awaitEnd(waiting, id, events, ticker.C)
	}
}

// awaitEnd returns when the run may have ended.
func (k *Sessions) awaitEnd(ctx context.Context, id sessions.RunID, events <-chan sessions.Event, tick <-chan time.Time) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
			return
		case e, ok := <-events:
			if !ok {
				events = nil // the ticker still works
			} else if e.Run == id && e.Type.Terminal() {
				return
			}
		}
	}
}
