package store

import (
	"context"
	"time"

	"sluice/router"
	"sluice/sessions"
)

const (
	insertMedia = `INSERT INTO media (id, session_id, name, mime, size, sha256, content, level, trust, created, expires)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	mediaColumns = `id, session_id, name, mime, size, sha256, level, trust, created, expires`
	// unneeded is the condition that no delivery has the file which is not done. There are few of those with files, and they have an index.
	unneeded = `NOT EXISTS (SELECT 1 FROM deliveries WHERE files <> '' AND ` + undoneDeliveries + ` AND files LIKE '%"' || media.id || '"%')`
)

func (b *writer) media(m router.Media) {
	level, trust := label(m.Label)
	content := m.Content
	if content == nil {
		content = []byte{} // an empty file is one
	}
	b.add(Statement{SQL: insertMedia, Duplicate: sessions.ErrDuplicate, Args: []any{
		string(m.ID), string(m.Session), m.Name, m.MIME, m.Size, m.SHA256, content, level, trust, micros(m.Created), micros(m.Expires),
	}})
}

// Media implements [router.Store].
func (db *DB) Media(ctx context.Context, id sessions.MediaID) (router.Media, error) {
	return single(ctx, db, `SELECT `+mediaColumns+`, content FROM media WHERE id = ?`, []any{string(id)}, func(row Row) (router.Media, error) {
		var content []byte
		m, err := scanMedia(row, &content)
		m.Content = content
		return m, err
	})
}

// MediaInfo implements [router.Store].
func (db *DB) MediaInfo(ctx context.Context, id sessions.MediaID) (router.Media, error) {
	return single(ctx, db, `SELECT `+mediaColumns+` FROM media WHERE id = ?`, []any{string(id)}, func(row Row) (router.Media, error) {
		return scanMedia(row)
	})
}

func scanMedia(row Row, more ...any) (router.Media, error) {
	var m router.Media
	var id, session string
	var level, trust int
	var created, expires int64
	err := row.Scan(append([]any{&id, &session, &m.Name, &m.MIME, &m.Size, &m.SHA256, &level, &trust, &created, &expires}, more...)...)
	m.ID, m.Session, m.Label = sessions.MediaID(id), sessions.ID(session), labelFrom(level, trust)
	m.Created, m.Expires = fromMicros(created), fromMicros(expires)
	return m, err
}

// SweepMedia implements [router.Store].
func (db *DB) SweepMedia(ctx context.Context, now time.Time, limit int) (int, error) {
	ids, err := all(ctx, db, `SELECT id FROM media WHERE expires <= ? AND `+unneeded+` ORDER BY expires`+most(limit), []any{micros(now)}, func(row Row) (string, error) {
		var id string
		err := row.Scan(&id)
		return id, err
	})
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	var write Write
	for _, id := range ids {
		write = append(write, Statement{SQL: `DELETE FROM media WHERE id = ? AND ` + unneeded, Args: []any{id}})
	}
	return len(ids), db.write(ctx, write)
}
