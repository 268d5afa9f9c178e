package store

import (
	"context"

	"sluice/sessions"
	"sluice/store/engine"
)

const (
	todoColumns = `id, session_id, text, status, level, trust, created, place, updated`
	// inLiveSession locks the session's row, so that nobody ends the session in the meantime.
	inLiveSession = `UPDATE sessions SET ended = ended WHERE id = ? AND ` + live
	insertTodo    = `INSERT INTO todos (` + todoColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`
	updateTodo    = `UPDATE todos SET text = ?, status = ?, level = ?, trust = ?, updated = ? WHERE id = ? AND session_id = ?`
	removeTodo    = `DELETE FROM todos WHERE id = ? AND session_id = ?`
	endTodos      = `DELETE FROM todos WHERE session_id = ?`
)

// ChangeTodos applies a change to a session's items in one transaction.
func (db todoTable) ChangeTodos(ctx context.Context, c sessions.TodoChange) error {
	session := string(c.Session)
	write := engine.Write{{SQL: inLiveSession, Args: []any{session}, Else: sessions.ErrNotFound}}
	for _, t := range c.Add {
		level, trust := engine.Label(t.Label)
		write = append(write, engine.Statement{SQL: insertTodo, Args: []any{
			string(t.ID), session, t.Text, string(t.Status), level, trust, engine.Micros(t.Created), t.Place, engine.Micros(t.Updated),
		}})
	}
	for _, t := range c.Update {
		level, trust := engine.Label(t.Label)
		write = append(write, engine.Statement{SQL: updateTodo, Else: sessions.ErrNotFound, Args: []any{
			t.Text, string(t.Status), level, trust, engine.Micros(t.Updated), string(t.ID), session,
		}})
	}
	for _, id := range c.Remove {
		write = append(write, engine.Statement{SQL: removeTodo, Args: []any{string(id), session}})
	}
	return db.Change(ctx, write)
}

// Todos reads a session's items, oldest first.
func (db todoTable) Todos(ctx context.Context, session sessions.ID) ([]sessions.Todo, error) {
	return engine.All(ctx, db.Conn, `SELECT `+todoColumns+` FROM todos WHERE session_id = ? ORDER BY created, place`+engine.Limit(sessions.TodosMax), []any{string(session)}, scanTodo)
}

func scanTodo(row engine.Row) (sessions.Todo, error) {
	var t sessions.Todo
	var id, session, status string
	var level, trust int
	var created, updated int64
	err := row.Scan(&id, &session, &t.Text, &status, &level, &trust, &created, &t.Place, &updated)
	t.ID, t.Session, t.Status, t.Label = sessions.TodoID(id), sessions.ID(session), sessions.TodoStatus(status), engine.LabelFrom(level, trust)
	t.Created, t.Updated = engine.FromMicros(created), engine.FromMicros(updated)
	return t, err
}
