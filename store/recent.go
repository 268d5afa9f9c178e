package store

import (
	"hash/maphash"
	"slices"
	"sync"

	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store/engine"
)

const (
	recentMax     = 1024    // sessions that are kept
	recentBytes   = 8 << 20 // about how much memory they take together at most
	recentStripes = 64
)

// recentSessions keeps the rows of live sessions, so that a session is not read again for each message. It keeps nothing if
// other processes write to the database. It is safe for concurrent use.
type recentSessions struct {
	alone bool
	seed  maphash.Seed

	mu      sync.Mutex
	rows    map[sessions.ID]sessions.Record
	bytes   int                          // sum of the sizes of rows
	ids     map[sessions.Key]sessions.ID // of rows
	stripes recentTurns
	writing [recentStripes]int // writes in progress
	changes map[sessions.ID]recentChange
}

// recentChange counts the writes of a session that are in progress.
type recentChange struct {
	writes int
	shared bool // there were two at once
}

// recentTurns counts the beginnings and ends of writes. The sessions are divided into stripes by a hash of their id.
type recentTurns [recentStripes]uint64

func newRecentSessions(alone bool) *recentSessions {
	return &recentSessions{alone: alone, seed: maphash.MakeSeed(), rows: map[sessions.ID]sessions.Record{}, ids: map[sessions.Key]sessions.ID{}, changes: map[sessions.ID]recentChange{}}
}

func (s *recentSessions) stripe(id sessions.ID) int {
	return int(maphash.String(s.seed, string(id)) % recentStripes)
}

// byID returns a row, or what learn needs if the row has to be read.
func (s *recentSessions) byID(id sessions.ID) (r sessions.Record, ok bool, before recentTurns) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok = s.rows[id]
	return r, ok, s.stripes
}

// byKey is byID for the live session of a key.
func (s *recentSessions) byKey(key sessions.Key) (r sessions.Record, ok bool, before recentTurns) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if id, known := s.ids[sessions.Key(engine.Indexed(key))]; known {
		r, ok = s.rows[id]
	}
	return r, ok, s.stripes
}

// learn keeps a row that was read, unless a write may have changed it since before.
func (s *recentSessions) learn(r sessions.Record, before recentTurns) {
	if !s.alone || !r.Ended.IsZero() {
		return
	}
	i := s.stripe(r.ID)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.writing[i] > 0 || s.stripes[i] != before[i] {
		return
	}
	s.keep(r)
}

// keep adds a row. While there are too many, or they are too large, any other one goes. The caller holds mu.
func (s *recentSessions) keep(r sessions.Record) {
	s.drop(r.ID)
	size := recordSize(&r)
	if size > recentBytes {
		return
	}
	for id := range s.rows {
		if len(s.rows) < recentMax && s.bytes+size <= recentBytes {
			break
		}
		s.drop(id)
	}
	s.rows[r.ID], s.ids[r.Key] = r, r.ID
	s.bytes += size
}

// recordSize is about how much memory a row takes.
func recordSize(r *sessions.Record) int {
	const base = 2 << 10 // of a row without its longest texts
	size := base + len(r.Key) + len(r.Route.Title) + len(r.Title.Raw()) + len(r.Label.Raw()) + len(r.Metadata)
	for _, path := range slices.Concat(r.FileAccess.Read, r.FileAccess.Write) {
		size += 16 + len(path)
	}
	return size
}

// drop removes a row. The caller holds mu.
func (s *recentSessions) drop(id sessions.ID) {
	if r, ok := s.rows[id]; ok {
		delete(s.rows, id)
		delete(s.ids, r.Key)
		s.bytes -= recordSize(&r)
	}
}

// changedRow is a session that a write changes.
type changedRow struct {
	id     sessions.ID
	stripe int
	row    sessions.Record // as it was before; without an id if it was not kept
}

// changing says that a write of sessions begins. The result must hear how it ended; nil if the write changes none that
// could be kept.
func (s *recentSessions) changing(c *ledger.Change) engine.Ended {
	if !s.alone || len(c.Save)+len(c.Patch)+len(c.End)+len(c.Create) == 0 {
		return nil
	}
	rows := make([]changedRow, 0, len(c.Save)+len(c.Patch)+len(c.End)+len(c.Create))
	for _, r := range c.Save {
		rows = append(rows, changedRow{id: r.ID})
	}
	for _, p := range c.Patch {
		rows = append(rows, changedRow{id: p.ID})
	}
	for _, e := range c.End {
		rows = append(rows, changedRow{id: e.ID})
	}
	for _, r := range c.Create {
		rows = append(rows, changedRow{id: r.ID})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range rows {
		s.begin(&rows[i])
	}
	saved := c.Save
	return func(err error) { s.ended(rows, saved, err) }
}

// begin takes a row away until its write has ended. The caller holds mu.
func (s *recentSessions) begin(c *changedRow) {
	c.stripe = s.stripe(c.id)
	s.writing[c.stripe]++
	s.stripes[c.stripe]++
	change := s.changes[c.id]
	s.changes[c.id] = recentChange{change.writes + 1, change.writes > 0}
	c.row = s.rows[c.id]
	s.drop(c.id)
}

// end reports whether a write was the only one of its session. The caller holds mu.
func (s *recentSessions) end(c *changedRow) (only bool) {
	s.writing[c.stripe]--
	s.stripes[c.stripe]++
	change := s.changes[c.id]
	if change.writes > 1 {
		s.changes[c.id] = recentChange{change.writes - 1, true}
		return false
	}
	delete(s.changes, c.id)
	return !change.shared
}

// ended takes the end of a write. A row that was only saved, by nobody else meanwhile, is known without reading it again.
func (s *recentSessions) ended(rows []changedRow, saved []sessions.Record, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range rows {
		c := &rows[i]
		if only := s.end(c); err != nil || !only || i >= len(saved) || c.row.ID == "" || saved[i].Route != c.row.Route {
			continue
		}
		s.keep(asSaved(c.row, saved[i]))
	}
}

// asSaved is a row after saveSession has changed it. Only the route is stored in another form than it has here.
func asSaved(row, r sessions.Record) sessions.Record {
	row.Revision = r.Revision + 1
	row.Agent, row.Taint, row.Head, row.Compacted = r.Agent, engine.LabelFrom(engine.Label(r.Taint)), r.Head, r.Compacted
	row.Usage, row.ContextSize, row.AbortedLast = r.Usage, r.ContextSize, r.AbortedLast
	row.LastActivity = engine.FromMicros(engine.Micros(r.LastActivity))
	return row
}
