package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sluice/sessions"
	"sluice/store/engine"
)

const (
	messageColumns = `id, parent, run_id, role, parts, level, trust, model, input_tokens, output_tokens, cached_tokens, created, sender, revision`
	insertMessage  = `INSERT INTO messages (session_id, ` + messageColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	updateMessage  = `UPDATE messages SET role = ?, parts = ?, level = ?, trust = ?, model = ?,
		input_tokens = ?, output_tokens = ?, cached_tokens = ?, sender = ?, revision = ? WHERE id = ? AND session_id = ? AND revision < ?`
)

func (b *writer) message(s sessions.StoredMessage) {
	m := s.Message
	level, trust := engine.Label(m.Label)
	sender := ""
	if m.Sender != (sessions.Peer{}) {
		sender = b.Text(m.Sender)
	}
	if m.Revision == 0 {
		b.add(engine.Statement{SQL: insertMessage, Duplicate: sessions.ErrDuplicate, Args: []any{
			string(s.Session), string(m.ID), string(m.Parent), string(m.Run), string(m.Role), b.Text(m.Parts), level, trust, m.Model,
			m.Usage.InputTokens, m.Usage.OutputTokens, m.Usage.CachedTokens, engine.Micros(m.Created), sender, m.Revision,
		}})
		return
	}
	b.add(engine.Statement{SQL: updateMessage, Else: sessions.ErrConflict, Args: []any{
		string(m.Role), b.Text(m.Parts), level, trust, m.Model,
		m.Usage.InputTokens, m.Usage.OutputTokens, m.Usage.CachedTokens, sender, m.Revision, string(m.ID), string(s.Session), m.Revision,
	}})
}

func scanMessage(row engine.Row) (sessions.Message, error) {
	var m sessions.Message
	var id, parent, run, role, parts, sender string
	var level, trust int
	var created int64
	err := row.Scan(&id, &parent, &run, &role, &parts, &level, &trust, &m.Model,
		&m.Usage.InputTokens, &m.Usage.OutputTokens, &m.Usage.CachedTokens, &created, &sender, &m.Revision)
	if err != nil {
		return m, err
	}
	m.ID, m.Parent, m.Run, m.Role = sessions.MessageID(id), sessions.MessageID(parent), sessions.RunID(run), sessions.Role(role)
	m.Label, m.Created = engine.LabelFrom(level, trust), engine.FromMicros(created)
	var d engine.Decoding
	d.Into(parts, &m.Parts)
	d.Into(sender, &m.Sender)
	return m, d.Err
}

// Thread implements [sessions.Store]. It reads the session's messages after the summary with one index range, and
// then follows the parents from the head.
func (db messageTree) Thread(ctx context.Context, record sessions.Record) ([]sessions.Message, error) {
	if record.Head == "" {
		return nil, nil
	}
	if record.Compacted == "" {
		path, _, err := db.path(ctx, record, 0, "")
		return path, err
	}
	summary, err := engine.Single(ctx, db.Conn, `SELECT `+messageColumns+` FROM messages WHERE id = ?`, []any{string(record.Compacted)}, scanMessage)
	if err != nil {
		return nil, fmt.Errorf("read summary: %w", err)
	}
	after := int64(0)
	if summary.Parent != "" {
		if err := db.One(ctx, `SELECT seq FROM messages WHERE id = ?`, []any{string(summary.Parent)}, &after); err != nil {
			return nil, fmt.Errorf("read place of summary: %w", err)
		}
	}
	path, met, err := db.path(ctx, record, after, summary.Parent)
	if after > 0 && errors.Is(err, sessions.ErrNotFound) {
		path, met, err = db.path(ctx, record, 0, summary.Parent) // the head is on a branch that starts before the summary
	}
	if err != nil || !met {
		return path, err
	}
	return append([]sessions.Message{summary}, path...), nil
}

// path reads the session's messages after a position and selects the path from stop, excluded, to the head.
func (db messageTree) path(ctx context.Context, record sessions.Record, after int64, stop sessions.MessageID) (path []sessions.Message, met bool, err error) {
	rows, err := engine.All(ctx, db.Conn, `SELECT `+messageColumns+` FROM messages WHERE session_id = ? AND seq > ? ORDER BY seq`,
		[]any{string(record.ID), after}, scanMessage)
	if err != nil {
		return nil, false, err
	}
	return selected(rows, record.Head, stop)
}

// selected returns the path from stop, excluded, to head, oldest first. met reports whether the path starts at stop
// and not at the root.
func selected(rows []sessions.Message, head, stop sessions.MessageID) (path []sessions.Message, met bool, err error) {
	place := make(map[sessions.MessageID]int, len(rows))
	for i, m := range rows {
		place[m.ID] = i
	}
	id := head
	for id != "" && id != stop {
		i, ok := place[id]
		if !ok || len(path) == len(rows) {
			return nil, false, fmt.Errorf("read thread: message %s: %w", id, sessions.ErrNotFound)
		}
		path = append(path, rows[i])
		id = rows[i].Parent
	}
	slices.Reverse(path)
	return path, id == stop, nil
}

// SessionMessages reads the messages of a session in the order in which they were stored, with all branches and summaries, from
// after a message.
func (db messageTree) SessionMessages(ctx context.Context, id sessions.ID, after sessions.MessageID, limit int) ([]sessions.Message, error) {
	seq := int64(0)
	if after != "" {
		if err := db.One(ctx, `SELECT seq FROM messages WHERE id = ? AND session_id = ?`, []any{string(after), string(id)}, &seq); err != nil {
			return nil, fmt.Errorf("read place of message: %w", err)
		}
	}
	return engine.All(ctx, db.Conn, `SELECT `+messageColumns+` FROM messages WHERE session_id = ? AND seq > ? ORDER BY seq`+engine.Limit(limit), []any{string(id), seq}, scanMessage)
}
