package store

import (
	"context"
	"slices"
	"strconv"

	"sluice/sessions"
	"sluice/store/engine"
)

const (
	childrenOf = `SELECT ` + messageColumns + ` FROM messages WHERE session_id = ? AND parent = ? AND role <> 'summary' ORDER BY seq DESC LIMIT `

	// newestLeaf walks down from a message, with one index lookup per message: SQLite executes a CROSS JOIN in the
	// order in which it is written. The row stored last is a leaf, because an answer is stored after the message it
	// answers.
	newestLeaf = `WITH RECURSIVE below (id, seq) AS (
			SELECT id, seq FROM messages WHERE id = ? AND session_id = ? AND role <> 'summary'
			UNION SELECT m.id, m.seq FROM below b CROSS JOIN messages m WHERE m.session_id = ? AND m.parent = b.id AND m.role <> 'summary')
		SELECT id FROM messages WHERE seq = (SELECT max(seq) FROM below)`

	// summaryOf walks up from a head to the first message with a summary, which is where the model's view of the
	// thread begins.
	summaryOf = `WITH RECURSIVE path (id, parent) AS (
			SELECT id, parent FROM messages WHERE id = ? AND session_id = ?
			UNION SELECT m.id, m.parent FROM path p CROSS JOIN messages m WHERE m.id = p.parent AND m.session_id = ?
			AND NOT EXISTS (SELECT 1 FROM messages s WHERE s.session_id = ? AND s.parent = p.id AND s.role = 'summary'))
		SELECT id FROM messages WHERE seq = (
			SELECT max(s.seq) FROM path p CROSS JOIN messages s WHERE s.session_id = ? AND s.parent = p.id AND s.role = 'summary')`
)

// Message implements [sessions.Store].
func (db messageTree) Message(ctx context.Context, session sessions.ID, id sessions.MessageID) (sessions.Message, error) {
	return engine.Single(ctx, db.Conn, `SELECT `+messageColumns+` FROM messages WHERE id = ? AND session_id = ?`, []any{string(id), string(session)}, scanMessage)
}

// Children implements [sessions.Store].
func (db messageTree) Children(ctx context.Context, session sessions.ID, parent sessions.MessageID) ([]sessions.Message, error) {
	rows, err := engine.All(ctx, db.Conn, childrenOf+strconv.Itoa(sessions.BranchesMax), []any{string(session), string(parent)}, scanMessage)
	slices.Reverse(rows)
	return rows, err
}

// NewestLeaf implements [sessions.Store].
func (db messageTree) NewestLeaf(ctx context.Context, session sessions.ID, id sessions.MessageID) (sessions.MessageID, error) {
	return engine.Single(ctx, db.Conn, newestLeaf, []any{string(id), string(session), string(session)}, scanMessageID)
}

// Summary implements [sessions.Store].
func (db messageTree) Summary(ctx context.Context, session sessions.ID, head sessions.MessageID) (sessions.MessageID, error) {
	in := string(session)
	found, err := engine.All(ctx, db.Conn, summaryOf, []any{string(head), in, in, in, in}, scanMessageID)
	if err != nil || len(found) == 0 {
		return "", err
	}
	return found[0], nil
}

func scanMessageID(row engine.Row) (sessions.MessageID, error) {
	var id string
	err := row.Scan(&id)
	return sessions.MessageID(id), err
}
