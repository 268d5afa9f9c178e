package store

import (
	"context"

	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store/engine"
)

const (
	insertMedia = `INSERT INTO media (id, session_id, name, mime, size, sha256, content, level, trust, created)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	mediaColumns = `id, session_id, name, mime, size, sha256, level, trust, created`
	// unneeded is the condition that no unsettled delivery has the file. Few unsettled deliveries have files, and an
	// index finds them.
	unneeded = `NOT EXISTS (SELECT 1 FROM deliveries WHERE files <> '' AND ` + undoneDeliveries + ` AND files LIKE '%"' || media.id || '"%')`
)

func (b *writer) media(m ledger.Media) {
	level, trust := engine.Label(m.Label)
	content := m.Content
	if content == nil {
		content = []byte{} // not NULL, even for an empty file
	}
	b.add(engine.Statement{SQL: insertMedia, Duplicate: sessions.ErrDuplicate, Args: []any{
		string(m.ID), string(m.Session), m.Name, m.MIME, m.Size, m.SHA256, content, level, trust, engine.Micros(m.Created),
	}})
}

// Media implements [ledger.Store].
func (db mediaTable) Media(ctx context.Context, id sessions.MediaID) (ledger.Media, error) {
	return engine.Single(ctx, db.Conn, `SELECT `+mediaColumns+`, content FROM media WHERE id = ?`, []any{string(id)}, func(row engine.Row) (ledger.Media, error) {
		var content []byte
		m, err := scanMedia(row, &content)
		m.Content = content
		return m, err
	})
}

// MediaInfo implements [ledger.Store].
func (db mediaTable) MediaInfo(ctx context.Context, id sessions.MediaID) (ledger.Media, error) {
	return engine.Single(ctx, db.Conn, `SELECT `+mediaColumns+` FROM media WHERE id = ?`, []any{string(id)}, func(row engine.Row) (ledger.Media, error) {
		return scanMedia(row)
	})
}

// MediaHeld implements [ledger.Store].
func (db mediaTable) MediaHeld(ctx context.Context, id sessions.ID, each int64) (int64, error) {
	return engine.Single(ctx, db.Conn, `SELECT CAST(COALESCE(SUM(size), 0) AS BIGINT), COUNT(*) FROM media WHERE session_id = ?`, []any{string(id)}, func(row engine.Row) (int64, error) {
		var bytes, files int64
		err := row.Scan(&bytes, &files)
		return bytes + files*each, err
	})
}

func scanMedia(row engine.Row, more ...any) (ledger.Media, error) {
	var m ledger.Media
	var id, session string
	var level, trust int
	var created int64
	err := row.Scan(append([]any{&id, &session, &m.Name, &m.MIME, &m.Size, &m.SHA256, &level, &trust, &created}, more...)...)
	m.ID, m.Session, m.Label = sessions.MediaID(id), sessions.ID(session), engine.LabelFrom(level, trust)
	m.Created = engine.FromMicros(created)
	return m, err
}
