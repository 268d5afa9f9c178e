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
	mediaColumns = `id, session_id, name, mime, size, sha256, content, level, trust, created, expires`
	// expiredMedia are those that nobody needs: the deliveries that are looked at are few, by the index of those with files.
	expiredMedia = `SELECT id FROM media WHERE expires <= ? AND NOT EXISTS (SELECT 1 FROM deliveries
		WHERE files <> '' AND ` + undoneDeliveries + ` AND files LIKE '%"' || media.id || '"%') ORDER BY expires`
)

// PutMedia implements [router.Store].
func (db *DB) PutMedia(ctx context.Context, m router.Media) error {
	level, trust := label(m.Label)
	content := m.Content
	if content == nil {
		content = []byte{} // an empty file is one
	}
	return db.write(ctx, Write{{SQL: insertMedia, Duplicate: sessions.ErrDuplicate, Args: []any{
		string(m.ID), string(m.Session), m.Name, m.MIME, m.Size, m.SHA256, content, level, trust, micros(m.Created), micros(m.Expires),
	}}}, router.Change{})
}

// Media implements [router.Store].
func (db *DB) Media(ctx context.Context, id sessions.MediaID) (router.Media, error) {
	return single(ctx, db, `SELECT `+mediaColumns+` FROM media WHERE id = ?`, []any{string(id)}, scanMedia)
}

func scanMedia(row Row) (router.Media, error) {
	var m router.Media
	var id, session string
	var level, trust int
	var created, expires int64
	err := row.Scan(&id, &session, &m.Name, &m.MIME, &m.Size, &m.SHA256, &m.Content, &level, &trust, &created, &expires)
	m.ID, m.Session, m.Label = sessions.MediaID(id), sessions.ID(session), labelFrom(level, trust)
	m.Created, m.Expires = fromMicros(created), fromMicros(expires)
	return m, err
}

// SweepMedia implements [router.Store].
func (db *DB) SweepMedia(ctx context.Context, now time.Time, limit int) (int, error) {
	ids, err := all(ctx, db, expiredMedia+most(limit), []any{micros(now)}, func(row Row) (string, error) {
		var id string
		err := row.Scan(&id)
		return id, err
	})
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	var write Write
	for _, id := range ids {
		write = append(write, Statement{SQL: `DELETE FROM media WHERE id = ?`, Args: []any{id}})
	}
	return len(ids), db.write(ctx, write, router.Change{})
}
