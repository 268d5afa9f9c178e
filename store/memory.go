package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/policy/flow"
	"sluice/sessions"
)

const (
	memoryColumns = `id, namespace, audience, level, trust, mkey, content, tags, session_id, run_id, created, updated, expires, deleted, ended, ending`
	// memoryPlace is the seq of the save under way, see the migration.
	memoryPlace = `(SELECT n.no * 4503599627370496 + a.no * 268435456 + n.saves FROM memory_namespaces n
		JOIN memory_audiences a ON a.namespace_no = n.no WHERE n.namespace = ? AND a.audience = ?)`
	ofKey = `namespace = ? AND audience = ? AND mkey = ? AND level = ?`

	newMemoryNamespace = `INSERT INTO memory_namespaces (namespace, no, saves)
		SELECT /*pg CAST(*/?/*pg AS TEXT)*/, COALESCE(max(no), 0) + 1, 0 FROM memory_namespaces WHERE true ON CONFLICT (namespace) DO NOTHING`
	// countMemorySave takes the namespace's row: saves there come one after the other.
	countMemorySave   = `UPDATE memory_namespaces SET saves = saves + 1 WHERE namespace = ? AND saves < 268435455`
	newMemoryAudience = `INSERT INTO memory_audiences (namespace_no, audience, no)
		SELECT n.no, /*pg CAST(*/?/*pg AS TEXT)*/, (SELECT COALESCE(max(a.no), 0) + 1 FROM memory_audiences a WHERE a.namespace_no = n.no)
		FROM memory_namespaces n WHERE n.namespace = ? ON CONFLICT (namespace_no, audience) DO NOTHING`
	endMemory = `UPDATE memories SET ended = ?, ending = CASE WHEN expires > 0 AND expires <= ? THEN 'expired' ELSE ? END WHERE ` + ofKey + ` AND ended = 0`
	// createdBefore is when the version was created that the save under way has replaced.
	createdBefore = `(SELECT CASE WHEN v.ending = 'replaced' AND v.deleted = 0 THEN v.created END FROM memories v
		WHERE v.namespace = ? AND v.audience = ? AND v.mkey = ? AND v.level = ? ORDER BY v.seq DESC LIMIT 1)`
	memoryFits = `COALESCE((SELECT u.entries FROM memory_usage u WHERE u.place = p.seq >> 28 AND u.level = ?), 0) < ?
		AND COALESCE((SELECT u.bytes FROM memory_usage u WHERE u.place = p.seq >> 28 AND u.level = ?), 0) + ? <= ?`
	insertMemory = `INSERT INTO memories (seq, size, id, namespace, audience, level, trust, mkey, content, tags, session_id, run_id, created, updated, expires, deleted, ended, ending)
		SELECT p.seq, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, COALESCE(` + createdBefore + `, ?), ?, ?, 0, 0, ''
		FROM (SELECT ` + memoryPlace + ` AS seq) p WHERE ` + memoryFits
	insertTombstone = `INSERT INTO memories (seq, size, id, namespace, audience, level, trust, mkey, content, tags, session_id, run_id, created, updated, expires, deleted, ended, ending)
		VALUES (` + memoryPlace + `, ?, ?, ?, ?, ?, ?, ?, '', '', ?, ?, ?, ?, 0, 1, ?, ?)`
	insertMemoryWords = `INSERT INTO memory_words (seq, level, labels, body)
		SELECT seq, level, /*pg CAST(*/?/*pg AS TEXT)*/, /*pg CAST(*/?/*pg AS TEXT)*/ FROM memories WHERE id = ?`
	insertMemoryTag = `INSERT INTO memory_tags (tag, seq) SELECT /*pg CAST(*/?/*pg AS TEXT)*/, seq FROM memories WHERE id = ? ON CONFLICT (tag, seq) DO NOTHING`
	pruneMemories   = `DELETE FROM memories WHERE ` + ofKey + ` AND ending IN ('replaced', 'expired') AND deleted = 0 AND seq <=
		(SELECT v.seq FROM memories v WHERE v.namespace = ? AND v.audience = ? AND v.mkey = ? AND v.level = ?
			AND v.ending IN ('replaced', 'expired') AND v.deleted = 0 ORDER BY v.seq DESC LIMIT 1 OFFSET ?)`

	// current is what is the current version of its key at a time.
	current = `m.ended = 0 AND (m.expires = 0 OR m.expires > ?)`
	// uncovered is what no current version of a higher level stands above, up to a level, at a time.
	uncovered = `NOT EXISTS (SELECT 1 FROM memory_veils v WHERE v.seq = m.seq AND v.level <= ? AND (v.expires = 0 OR v.expires > ?))`
)

// memoryTries bounds how often a save is tried that met another first one of its namespace.
const memoryTries = 20

func keyOf(m sessions.Memory) []any {
	return []any{m.Namespace, string(m.Audience), m.Key, m.Label.Level().Rank()}
}

// SaveMemory applies a save in one transaction.
func (db *DB) SaveMemory(ctx context.Context, s sessions.MemorySave) error {
	if !s.Label.Valid() || s.Namespace == "" || s.Audience == "" {
		return errors.New("save memory: it has no label, no namespace or no audience")
	}
	tags, err := encode(s.Tags)
	if err != nil {
		return err
	}
	return db.changeMemory(ctx, s.Memory, func() Write { return saveMemory(s, tags) }, nil)
}

// changeMemory applies a write until it did not meet another one that began the same namespace.
func (db *DB) changeMemory(ctx context.Context, m sessions.Memory, write func() Write, trail Trail) error {
	for range memoryTries {
		err := db.run(ctx, write(), trail)
		if !errors.Is(err, sessions.ErrConflict) {
			return err
		}
		_, err = db.Memory(ctx, m.ID, m.Label.Level())
		if err == nil {
			return sessions.ErrDuplicate
		}
		if !errors.Is(err, sessions.ErrNotFound) {
			return err
		}
	}
	return fmt.Errorf("change memory: %w: others change it over and over", sessions.ErrConflict)
}

// inMemoryPlace makes the place of a save and takes it, before anything else of the write.
func inMemoryPlace(m sessions.Memory) Write {
	namespace, audience := m.Namespace, string(m.Audience)
	return Write{
		{SQL: newMemoryNamespace, Args: []any{namespace}, Duplicate: sessions.ErrConflict},
		{SQL: countMemorySave, Args: []any{namespace}, Else: sessions.ErrMemoryFull},
		{SQL: newMemoryAudience, Args: []any{audience, namespace}, Duplicate: sessions.ErrConflict},
	}
}

func saveMemory(s sessions.MemorySave, tags string) Write {
	m, now := s.Memory, micros(s.Updated)
	level, trust := label(m.Label)
	size := int64(len(m.Key) + len(m.Content) + len(tags))
	insert := []any{size, string(m.ID), m.Namespace, string(m.Audience), level, trust, m.Key, m.Content, tags, string(m.Session), string(m.Run)}
	insert = append(insert, keyOf(m)...)
	insert = append(insert, now, now, micros(m.Expires), m.Namespace, string(m.Audience))
	insert = append(insert, level, s.MaxEntries, level, size, s.MaxBytes)
	labels := m.Key + " " + strings.Join(m.Tags, " ")
	write := append(inMemoryPlace(m),
		Statement{SQL: endMemory, Args: append([]any{now, now, string(sessions.MemoryReplaced)}, keyOf(m)...)},
		Statement{SQL: insertMemory, Args: insert, Duplicate: sessions.ErrConflict, Else: sessions.ErrMemoryFull},
		Statement{SQL: insertMemoryWords, Args: []any{strings.Join(words(labels), " "), strings.Join(words(m.Content), " "), string(m.ID)}},
	)
	for _, tag := range m.Tags {
		write = append(write, Statement{SQL: insertMemoryTag, Args: []any{tag, string(m.ID)}})
	}
	prune := slices.Concat(keyOf(m), keyOf(m), []any{sessions.MemoryVersions - 1})
	return append(write, Statement{SQL: pruneMemories, Args: prune})
}

// DeleteMemory applies a deletion in one transaction.
func (db *DB) DeleteMemory(ctx context.Context, d sessions.MemoryDelete) error {
	if !d.Label.Valid() {
		return errors.New("delete memory: it has no label")
	}
	var e encoding
	trail := e.entries(d.Audit)
	if e.err != nil {
		return e.err
	}
	err := db.changeMemory(ctx, d.Memory, func() Write { return deleteMemory(d) }, trail)
	if errors.Is(err, sessions.ErrNotFound) { // unless it is because this has been done already
		if _, known := db.Memory(ctx, d.ID, d.Label.Level()); known == nil {
			return sessions.ErrDuplicate
		}
	}
	return err
}

func deleteMemory(d sessions.MemoryDelete) Write {
	m, now := d.Memory, micros(d.Updated)
	level, trust := label(m.Label)
	ended, ending := int64(0), ""
	if d.Uncover {
		ended, ending = now, string(sessions.MemoryUncovered)
	}
	end := append([]any{now, string(sessions.MemoryDeleted)}, keyOf(m)...)
	return Write{
		{SQL: countMemorySave, Args: []any{m.Namespace}, Else: sessions.ErrNotFound},
		{
			SQL:  `UPDATE memories SET ended = ?, ending = ? WHERE ` + ofKey + ` AND ended = 0 AND (expires = 0 OR expires > ?) AND deleted <= ?`,
			Args: append(end, now, flag(d.Uncover)), Else: sessions.ErrNotFound,
		},
		{SQL: insertTombstone, Duplicate: sessions.ErrConflict, Args: []any{
			m.Namespace, string(m.Audience), len(m.Key), string(m.ID), m.Namespace, string(m.Audience), level, trust, m.Key,
			string(m.Session), string(m.Run), now, now, ended, ending,
		}},
	}
}

func scanMemory(row Row) (sessions.Memory, error) {
	var m sessions.Memory
	var id, audience, tags, session, run, ending string
	var level, trust, deleted int
	var created, updated, expires, ended int64
	err := row.Scan(&id, &m.Namespace, &audience, &level, &trust, &m.Key, &m.Content, &tags, &session, &run, &created, &updated, &expires, &deleted, &ended, &ending)
	if err != nil {
		return m, err
	}
	m.ID, m.Audience, m.Label = sessions.MemoryID(id), sessions.Audience(audience), labelFrom(level, trust)
	m.Session, m.Run, m.Deleted, m.Ending = sessions.ID(session), sessions.RunID(run), deleted == 1, sessions.MemoryEnding(ending)
	m.Created, m.Updated, m.Expires, m.Ended = fromMicros(created), fromMicros(updated), fromMicros(expires), fromMicros(ended)
	return m, decode(tags, &m.Tags)
}

// Memory reads a version by its id; one above the level is [sessions.ErrNotFound].
func (db *DB) Memory(ctx context.Context, id sessions.MemoryID, upTo flow.Level) (sessions.Memory, error) {
	return single(ctx, db, `SELECT `+memoryColumns+` FROM memories WHERE id = ? AND level <= ?`, []any{string(id), upTo.Rank()}, scanMemory)
}

// MemoryVersions reads the versions and tombstones of a memory's key in its audience at its level, the newest first.
func (db *DB) MemoryVersions(ctx context.Context, m sessions.Memory, limit int) ([]sessions.Memory, error) {
	return all(ctx, db, `SELECT `+memoryColumns+` FROM memories WHERE `+ofKey+` ORDER BY seq DESC`+most(limit), keyOf(m), scanMemory)
}

// MemoriesByKey reads what is in a scope under a key: one at most of each audience, the newest first.
func (db *DB) MemoriesByKey(ctx context.Context, s sessions.MemoryScope, key string) ([]sessions.Memory, error) {
	f := inScope(s)
	f.add(`m.mkey = ?`, key)
	found, err := all(ctx, db, `SELECT `+memoryColumns+` FROM memories m`+f.where(), f.args, scanMemory)
	slices.SortFunc(found, func(a, b sessions.Memory) int {
		return cmp.Or(b.Updated.Compare(a.Updated), cmp.Compare(a.Audience, b.Audience))
	})
	return found, err
}

// Memories lists what is in a scope.
func (db *DB) Memories(ctx context.Context, q sessions.MemoryQuery) ([]sessions.Memory, error) {
	if len(q.Tags) > 0 {
		return db.taggedMemories(ctx, q)
	}
	f := inScope(q.MemoryScope)
	from := ` FROM memories m`
	if q.Tag != "" {
		from += ` JOIN memory_tags t ON t.seq = m.seq`
		f.add(`t.tag = ?`, q.Tag)
	}
	switch a := q.After; {
	case a == (sessions.MemoryPlace{}):
	case q.Namespace != "" && q.Audience != "": // then an index is in the order of the keys
		f.add(`m.mkey > ?`, a.Key)
	default:
		f.add(`(m.namespace, m.mkey, m.audience) > (?, ?, ?)`, a.Namespace, a.Key, string(a.Audience))
	}
	return all(ctx, db, `SELECT `+memoryColumns+from+f.where()+` ORDER BY m.namespace, m.mkey, m.audience`+most(q.Limit), f.args, scanMemory)
}

// taggedMemories reads the memories of several tags with one statement.
func (db *DB) taggedMemories(ctx context.Context, q sessions.MemoryQuery) ([]sessions.Memory, error) {
	parts, args := make([]string, len(q.Tags)), []any(nil)
	for i, tag := range q.Tags {
		f := inScope(q.MemoryScope)
		f.add(`t.tag = ?`, tag)
		parts[i] = `SELECT * FROM (SELECT ` + memoryColumns + `, ` + strconv.Itoa(i) + ` AS n FROM memories m JOIN memory_tags t ON t.seq = m.seq` + f.where() +
			` ORDER BY m.namespace, m.mkey, m.audience` + most(q.Limit) + `) t` + strconv.Itoa(i)
		args = append(args, f.args...)
	}
	return all(ctx, db, `SELECT `+memoryColumns+` FROM (`+strings.Join(parts, ` UNION ALL `)+`) u ORDER BY n, namespace, mkey, audience`, args, scanMemory)
}

// inScope selects what a reader may see, before anything else selects.
func inScope(s sessions.MemoryScope) filter {
	f, now := filter{}, micros(s.Now)
	f.addIf(s.Namespace != "", `m.namespace = ?`, s.Namespace)
	f.addIf(s.Audience != "", `m.audience = ?`, string(s.Audience))
	f.add(`m.level <= ?`, s.MaxLevel.Rank())
	f.add(current, now)
	f.add(uncovered, s.MaxLevel.Rank(), now)
	f.add(`m.deleted = 0`)
	return f
}

// memoryKept is how long what is not current is kept, for whoever has to look into what was there.
const memoryKept = 365 * 24 * time.Hour

// SweepMemories ends what has expired, and deletes what ended long ago; at most limit of each. It returns how many.
func (db *DB) SweepMemories(ctx context.Context, now time.Time, limit int) (int, error) {
	expired, err := db.memorySeqs(ctx, `SELECT seq FROM memories WHERE ended = 0 AND expires > 0 AND expires <= ? ORDER BY expires`+most(limit), micros(now))
	if err != nil {
		return 0, err
	}
	old, err := db.memorySeqs(ctx, `SELECT seq FROM memories WHERE ended > 0 AND ended <= ? ORDER BY ended`+most(limit), micros(now.Add(-memoryKept)))
	if err != nil {
		return 0, err
	}
	var write Write
	for _, seq := range expired {
		write = append(write, Statement{SQL: `UPDATE memories SET ended = expires, ending = 'expired' WHERE seq = ? AND ended = 0`, Args: []any{seq}})
	}
	for _, seq := range old {
		write = append(write, Statement{SQL: `DELETE FROM memories WHERE seq = ?`, Args: []any{seq}})
	}
	return len(write), db.write(ctx, write)
}

func (db *DB) memorySeqs(ctx context.Context, query string, args ...any) ([]int64, error) {
	return all(ctx, db, query, args, func(row Row) (int64, error) {
		var seq int64
		err := row.Scan(&seq)
		return seq, err
	})
}
