package memories

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"sluice/policy/flow"
	"sluice/sessions"
	"sluice/store/engine"
)

const (
	memoryColumns = `id, namespace, audience, level, trust, mkey, content, tags, session_id, run_id, created, updated, expires, deleted, ended, ending`
	// memoryPlace is the seq of the save in progress; see the migration.
	memoryPlace = `(SELECT n.no * 4503599627370496 + a.no * 268435456 + n.saves FROM memory_namespaces n
		JOIN memory_audiences a ON a.namespace_no = n.no WHERE n.namespace = ? AND a.audience = ?)`
	ofKey = `namespace = ? AND audience = ? AND mkey = ? AND level = ?`

	newMemoryNamespace = `INSERT INTO memory_namespaces (namespace, no, saves)
		SELECT /*pg CAST(*/?/*pg AS TEXT)*/, COALESCE(max(no), 0) + 1, 0 FROM memory_namespaces WHERE true ON CONFLICT (namespace) DO NOTHING`
	// countMemorySave locks the namespace's row: saves in one namespace run one after the other.
	countMemorySave   = `UPDATE memory_namespaces SET saves = saves + 1 WHERE namespace = ? AND saves < 268435455`
	newMemoryAudience = `INSERT INTO memory_audiences (namespace_no, audience, no)
		SELECT n.no, /*pg CAST(*/?/*pg AS TEXT)*/, (SELECT COALESCE(max(a.no), 0) + 1 FROM memory_audiences a WHERE a.namespace_no = n.no)
		FROM memory_namespaces n WHERE n.namespace = ? ON CONFLICT (namespace_no, audience) DO NOTHING`
	endMemory = `UPDATE memories SET ended = ?, ending = CASE WHEN expires > 0 AND expires <= ? THEN 'expired' ELSE ? END WHERE ` + ofKey + ` AND ended = 0`
	// createdBefore is when the version that this save replaces was created.
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

	// current selects versions that are the current one of their key at a given time.
	current = `m.ended = 0 AND (m.expires = 0 OR m.expires > ?)`
	// uncovered selects versions without a current version of the same key at a higher level, up to a level, at a
	// given time.
	uncovered = `NOT EXISTS (SELECT 1 FROM memory_veils v WHERE v.seq = m.seq AND v.level <= ? AND (v.expires = 0 OR v.expires > ?))`
)

// Table has the memories of agents. It is safe for concurrent use.
type Table struct {
	conn       *engine.Conn
	namespaces *engine.Presence // by namespace
}

// NewTable creates a Table on an engine.
func NewTable(c *engine.Conn, alone bool) Table {
	return Table{conn: c, namespaces: engine.NewPresence(alone)}
}

// memoryTries bounds the retries of a save that competes with another first save of its namespace.
const memoryTries = 20

func keyOf(m sessions.Memory) []any {
	return []any{m.Namespace, string(m.Audience), m.Key, m.Label.Level().Rank()}
}

// Remembers reports whether a memory was ever saved in a namespace. If not, there is nothing to search.
func (t Table) Remembers(ctx context.Context, namespace string) (bool, error) {
	return t.namespaces.Ask(ctx, t.conn, namespace, engine.Brief+`SELECT no FROM memory_namespaces WHERE namespace = ?`, namespace)
}

// SaveMemory applies a save in one transaction.
func (t Table) SaveMemory(ctx context.Context, s sessions.MemorySave) error {
	if !s.Label.Valid() || s.Namespace == "" || s.Audience == "" {
		return errors.New("save memory: it has no label, no namespace or no audience")
	}
	tags, err := engine.Encode(s.Tags)
	if err != nil {
		return err
	}
	var trail engine.Trail
	if len(s.Audit) > 0 {
		var e engine.Encoding
		if trail = e.Entries(s.Audit); e.Err != nil {
			return e.Err
		}
	}
	return t.changeMemory(ctx, s.Memory, func() engine.Write { return saveMemory(s, tags) }, trail)
}

// changeMemory applies a write, and retries while another write creates the same namespace at the same time.
func (t Table) changeMemory(ctx context.Context, m sessions.Memory, write func() engine.Write, trail engine.Trail) (err error) {
	for range memoryTries {
		err = t.conn.Apply(ctx, write(), trail, t.namespaces.Adding(m.Namespace))
		if !errors.Is(err, sessions.ErrConflict) {
			return err
		}
		_, err = t.Memory(ctx, m.ID, m.Label.Level())
		if err == nil {
			return sessions.ErrDuplicate
		}
		if !errors.Is(err, sessions.ErrNotFound) {
			return err
		}
	}
	return fmt.Errorf("change memory: %w: other writers keep changing it", sessions.ErrConflict)
}

// inMemoryPlace creates the namespace and the audience of a save and takes the next seq, before the rest of the
// write.
func inMemoryPlace(m sessions.Memory) engine.Write {
	namespace, audience := m.Namespace, string(m.Audience)
	return engine.Write{
		{SQL: newMemoryNamespace, Args: []any{namespace}, Duplicate: sessions.ErrConflict},
		{SQL: countMemorySave, Args: []any{namespace}, Else: sessions.ErrMemoryFull},
		{SQL: newMemoryAudience, Args: []any{audience, namespace}, Duplicate: sessions.ErrConflict},
	}
}

func saveMemory(s sessions.MemorySave, tags string) engine.Write {
	m, now := s.Memory, engine.Micros(s.Updated)
	level, trust := engine.Label(m.Label)
	size := int64(len(m.Key) + len(m.Content) + len(tags))
	insert := []any{size, string(m.ID), m.Namespace, string(m.Audience), level, trust, m.Key, m.Content, tags, string(m.Session), string(m.Run)}
	insert = append(insert, keyOf(m)...)
	insert = append(insert, now, now, engine.Micros(m.Expires), m.Namespace, string(m.Audience))
	insert = append(insert, level, s.MaxEntries, level, size, s.MaxBytes)
	labels := m.Key + " " + strings.Join(m.Tags, " ")
	write := append(inMemoryPlace(m),
		engine.Statement{SQL: endMemory, Args: append([]any{now, now, string(sessions.MemoryReplaced)}, keyOf(m)...)},
		engine.Statement{SQL: insertMemory, Args: insert, Duplicate: sessions.ErrConflict, Else: sessions.ErrMemoryFull},
		engine.Statement{SQL: insertMemoryWords, Args: []any{strings.Join(words(labels), " "), strings.Join(words(m.Content), " "), string(m.ID)}},
	)
	for _, tag := range m.Tags {
		write = append(write, engine.Statement{SQL: insertMemoryTag, Args: []any{tag, string(m.ID)}})
	}
	return write
}

// DeleteMemory applies a deletion in one transaction.
func (t Table) DeleteMemory(ctx context.Context, d sessions.MemoryDelete) error {
	if !d.Label.Valid() {
		return errors.New("delete memory: it has no label")
	}
	var e engine.Encoding
	trail := e.Entries(d.Audit)
	if e.Err != nil {
		return e.Err
	}
	err := t.changeMemory(ctx, d.Memory, func() engine.Write { return deleteMemory(d) }, trail)
	if errors.Is(err, sessions.ErrNotFound) { // unless it was deleted already
		if _, known := t.Memory(ctx, d.ID, d.Label.Level()); known == nil {
			return sessions.ErrDuplicate
		}
	}
	return err
}

func deleteMemory(d sessions.MemoryDelete) engine.Write {
	m, now := d.Memory, engine.Micros(d.Updated)
	level, trust := engine.Label(m.Label)
	ended, ending := int64(0), ""
	if d.Uncover {
		ended, ending = now, string(sessions.MemoryUncovered)
	}
	end := append([]any{now, string(sessions.MemoryDeleted)}, keyOf(m)...)
	return engine.Write{
		{SQL: countMemorySave, Args: []any{m.Namespace}, Else: sessions.ErrNotFound},
		{
			SQL:  `UPDATE memories SET ended = ?, ending = ? WHERE ` + ofKey + ` AND ended = 0 AND (expires = 0 OR expires > ?) AND deleted <= ?`,
			Args: append(end, now, engine.Flag(d.Uncover)), Else: sessions.ErrNotFound,
		},
		{SQL: insertTombstone, Duplicate: sessions.ErrConflict, Args: []any{
			m.Namespace, string(m.Audience), len(m.Key), string(m.ID), m.Namespace, string(m.Audience), level, trust, m.Key,
			string(m.Session), string(m.Run), now, now, ended, ending,
		}},
	}
}

func scanMemory(row engine.Row) (sessions.Memory, error) {
	var m sessions.Memory
	var id, audience, tags, session, run, ending string
	var level, trust, deleted int
	var created, updated, expires, ended int64
	err := row.Scan(&id, &m.Namespace, &audience, &level, &trust, &m.Key, &m.Content, &tags, &session, &run, &created, &updated, &expires, &deleted, &ended, &ending)
	if err != nil {
		return m, err
	}
	m.ID, m.Audience, m.Label = sessions.MemoryID(id), sessions.Audience(audience), engine.LabelFrom(level, trust)
	m.Session, m.Run, m.Deleted, m.Ending = sessions.ID(session), sessions.RunID(run), deleted == 1, sessions.MemoryEnding(ending)
	m.Created, m.Updated, m.Expires, m.Ended = engine.FromMicros(created), engine.FromMicros(updated), engine.FromMicros(expires), engine.FromMicros(ended)
	return m, engine.Decode(tags, &m.Tags)
}

// Memory reads a version by its id; one above the level is [sessions.ErrNotFound].
func (t Table) Memory(ctx context.Context, id sessions.MemoryID, upTo flow.Level) (sessions.Memory, error) {
	return engine.Single(ctx, t.conn, `SELECT `+memoryColumns+` FROM memories WHERE id = ? AND level <= ?`, []any{string(id), upTo.Rank()}, scanMemory)
}

// MemoryVersions reads the versions and tombstones of a key in its audience at its level, newest first.
func (t Table) MemoryVersions(ctx context.Context, m sessions.Memory, limit int) ([]sessions.Memory, error) {
	return engine.All(ctx, t.conn, `SELECT `+memoryColumns+` FROM memories WHERE `+ofKey+` ORDER BY seq DESC`+engine.Limit(limit), keyOf(m), scanMemory)
}

// MemoryHistory reads versions and tombstones of a key, newest first.
func (t Table) MemoryHistory(ctx context.Context, q sessions.MemoryHistory) ([]sessions.Memory, error) {
	f := engine.Filter{}
	f.Add(`mkey = ?`, q.Key)
	f.Add(`level <= ?`, q.MaxLevel.Rank())
	f.AddIf(q.Namespace != "", `namespace = ?`, q.Namespace)
	f.AddIf(q.Audience != "", `audience = ?`, string(q.Audience))
	f.AddIf(q.After != "", `id < ?`, string(q.After))
	return engine.All(ctx, t.conn, `SELECT `+memoryColumns+` FROM memories`+f.Where()+` ORDER BY id DESC`+engine.Limit(q.Limit), f.Args, scanMemory)
}

// MemoriesByKey reads the memories of a scope with a key.
func (t Table) MemoriesByKey(ctx context.Context, q sessions.MemoryKeyed) ([]sessions.Memory, error) {
	f := inScope(q.MemoryScope)
	f.Add(`m.mkey = ?`, q.Key)
	order := ` ORDER BY CASE WHEN m.audience = ? THEN 0 ELSE 1 END, m.updated DESC, m.audience, m.namespace`
	return engine.All(ctx, t.conn, `SELECT `+memoryColumns+` FROM memories m`+f.Where()+order+engine.Limit(q.Limit), append(f.Args, string(q.First)), scanMemory)
}

// Memories lists the memories of a scope.
func (t Table) Memories(ctx context.Context, q sessions.MemoryQuery) ([]sessions.Memory, error) {
	if len(q.Tags) > 0 {
		return t.taggedMemories(ctx, q)
	}
	f := inScope(q.MemoryScope)
	from := ` FROM memories m`
	if q.Tag != "" {
		from += ` JOIN memory_tags t ON t.seq = m.seq`
		f.Add(`t.tag = ?`, q.Tag)
	}
	switch a := q.After; {
	case a == (sessions.MemoryPlace{}):
	case q.Namespace != "" && q.Audience != "": // an index then has the order of the keys
		f.Add(`m.mkey > ?`, a.Key)
	default:
		f.Add(`(m.namespace, m.mkey, m.audience) > (?, ?, ?)`, a.Namespace, a.Key, string(a.Audience))
	}
	return engine.All(ctx, t.conn, `SELECT `+memoryColumns+from+f.Where()+` ORDER BY m.namespace, m.mkey, m.audience`+engine.Limit(q.Limit), f.Args, scanMemory)
}

// taggedMemories reads the memories of several tags with one statement.
func (t Table) taggedMemories(ctx context.Context, q sessions.MemoryQuery) ([]sessions.Memory, error) {
	parts, args := make([]string, len(q.Tags)), []any(nil)
	for i, tag := range q.Tags {
		f := inScope(q.MemoryScope)
		f.Add(`t.tag = ?`, tag)
		parts[i] = `SELECT * FROM (SELECT ` + memoryColumns + `, ` + strconv.Itoa(i) + ` AS n FROM memories m JOIN memory_tags t ON t.seq = m.seq` + f.Where() +
			` ORDER BY m.namespace, m.mkey, m.audience` + engine.Limit(q.Limit) + `) t` + strconv.Itoa(i)
		args = append(args, f.Args...)
	}
	return engine.All(ctx, t.conn, `SELECT `+memoryColumns+` FROM (`+strings.Join(parts, ` UNION ALL `)+`) u ORDER BY n, namespace, mkey, audience`, args, scanMemory)
}

// inScope selects what a reader may see, before any other condition.
func inScope(s sessions.MemoryScope) engine.Filter {
	f, now := engine.Filter{}, engine.Micros(s.Now)
	f.AddIf(s.Namespace != "", `m.namespace = ?`, s.Namespace)
	f.AddIf(s.Audience != "", `m.audience = ?`, string(s.Audience))
	f.Add(`m.level <= ?`, s.MaxLevel.Rank())
	f.AddIf(s.Level.Valid(), `m.level = ?`, s.Level.Rank())
	f.Add(current, now)
	f.Add(uncovered, s.MaxLevel.Rank(), now)
	f.Add(`m.deleted = 0`)
	return f
}

// SweepMemories ends expired memories, and deletes those that ended before a time, at most limit of each. It returns how
// many.
func (t Table) SweepMemories(ctx context.Context, now, before time.Time, limit int) (int, error) {
	expired, err := t.memorySeqs(ctx, `SELECT seq FROM memories WHERE ended = 0 AND expires > 0 AND expires <= ? ORDER BY expires`+engine.Limit(limit), engine.Micros(now))
	if err != nil {
		return 0, err
	}
	old, err := t.memorySeqs(ctx, `SELECT seq FROM memories WHERE ended > 0 AND ended <= ? ORDER BY ended`+engine.Limit(limit), engine.Micros(before))
	if err != nil {
		return 0, err
	}
	var write engine.Write
	for _, seq := range expired {
		write = append(write, engine.Statement{SQL: `UPDATE memories SET ended = expires, ending = 'expired' WHERE seq = ? AND ended = 0`, Args: []any{seq}})
	}
	for _, seq := range old {
		write = append(write, engine.Statement{SQL: `DELETE FROM memories WHERE seq = ?`, Args: []any{seq}})
	}
	return len(write), t.conn.Change(ctx, write)
}

func (t Table) memorySeqs(ctx context.Context, query string, args ...any) ([]int64, error) {
	return engine.All(ctx, t.conn, query, args, func(row engine.Row) (int64, error) {
		var seq int64
		err := row.Scan(&seq)
		return seq, err
	})
}
