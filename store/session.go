package store

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store/engine"
	"sluice/store/views"
)

const sessionColumns = `id, skey, agent, partition_no, revision, level, trust, clearance, route, send_policy, group_activation, model, head, compacted,
	title, metadata, file_access, persistent, ttl, input_tokens, output_tokens, cached_tokens, context_size, aborted_last,
	created, last_activity, ended, thinking_level, verbose_level, label, spawned_by, queue_mode, model_said, title_said, label_said,
	temperature, max_output_tokens, archived, voice`

const (
	createSession = `INSERT INTO sessions (` + sessionColumns + `)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	saveSession = `UPDATE sessions SET revision = revision + 1, agent = ?, level = ?, trust = ?, route = ?, head = ?, compacted = ?,
		input_tokens = ?, output_tokens = ?, cached_tokens = ?, context_size = ?, aborted_last = ?, last_activity = ?
		WHERE id = ? AND revision = ?`
	patchSession = `UPDATE sessions SET send_policy = COALESCE(?, send_policy),
		group_activation = COALESCE(?, group_activation), model = COALESCE(?, model),
		title = COALESCE(?, title), metadata = COALESCE(?, metadata),
		thinking_level = COALESCE(?, thinking_level), verbose_level = COALESCE(?, verbose_level), label = COALESCE(?, label), ttl = COALESCE(?, ttl),
		queue_mode = COALESCE(?, queue_mode), model_said = COALESCE(?, model_said), title_said = COALESCE(?, title_said), label_said = COALESCE(?, label_said),
		temperature = COALESCE(?, temperature), max_output_tokens = COALESCE(?, max_output_tokens), voice = COALESCE(?, voice)
		WHERE id = ? AND ` + live
	// live is true for a session that has not ended, in a statement that names its id. "+ 0" keeps PostgreSQL from reading
	// an index of all live sessions instead.
	live        = `ended/*pg + 0*/ = 0`
	lockSession = `UPDATE sessions SET ended = ended WHERE id = ?`
	idleSession = lockSession + ` AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.session_id = ? AND r.` + openRuns + `)`
	// endSession archives a live session, or ends one that lives or is archived.
	endSession = `UPDATE sessions SET ended = ?, archived = ? WHERE id = ? AND (` + live + ` OR archived > ?)`
)

func (b *writer) createSession(r sessions.Record) {
	level, trust := engine.Label(r.Taint)
	b.add(engine.Statement{SQL: createSession, Duplicate: sessions.ErrConflict, Args: []any{
		string(r.ID), engine.Indexed(r.Key), r.Agent, r.Partition, r.Revision, level, trust, r.Clearance.Rank(), b.route(r.Route),
		string(r.SendPolicy), string(r.Activation), r.Model.Raw(), string(r.Head), string(r.Compacted), r.Title.Raw(), string(r.Metadata), b.Text(r.FileAccess),
		engine.Flag(r.Persistent), r.TTL.Microseconds(), r.Usage.InputTokens, r.Usage.OutputTokens, r.Usage.CachedTokens, r.ContextSize,
		engine.Flag(r.AbortedLast), engine.Micros(r.Created), engine.Micros(r.LastActivity), engine.Micros(r.Ended),
		string(r.ThinkingLevel), string(r.VerboseLevel), r.Label.Raw(), string(r.SpawnedBy), string(r.QueueMode),
		engine.TextLabel(r.Model), engine.TextLabel(r.Title), engine.TextLabel(r.Label), string(r.Temperature), r.MaxTokens, engine.Flag(r.Archived), engine.Flag(r.Voice),
	}})
}

func (b *writer) saveSession(r sessions.Record) {
	level, trust := engine.Label(r.Taint)
	b.add(engine.Statement{SQL: saveSession, Else: sessions.ErrConflict, Args: []any{
		r.Agent, level, trust, b.route(r.Route), string(r.Head), string(r.Compacted),
		r.Usage.InputTokens, r.Usage.OutputTokens, r.Usage.CachedTokens, r.ContextSize, engine.Flag(r.AbortedLast), engine.Micros(r.LastActivity),
		string(r.ID), r.Revision,
	}})
}

func (b *writer) patchSession(p sessions.Patch) {
	args := []any{
		given(p.SendPolicy), given(p.Activation), givenText(p.Model), givenText(p.Title), nil,
		given(p.ThinkingLevel), given(p.VerboseLevel), givenText(p.Label), nil, given(p.QueueMode),
		givenLabel(p.Model), givenLabel(p.Title), givenLabel(p.Label), given(p.Temperature), nil, nil, string(p.ID),
	}
	if p.Metadata != nil {
		args[4] = string(*p.Metadata)
	}
	if p.TTL != nil {
		args[8] = p.TTL.Microseconds()
	}
	if p.MaxTokens != nil {
		args[14] = *p.MaxTokens
	}
	if p.Voice != nil {
		args[15] = engine.Flag(*p.Voice)
	}
	b.add(engine.Statement{SQL: patchSession, Args: args, Else: sessions.ErrNotFound})
}

// given returns the value that a patch sets, or NULL if the patch does not change the column.
func given[T ~string](value *T) any {
	if value == nil {
		return nil
	}
	return string(*value)
}

func givenText(t *flow.Text) any {
	if t == nil {
		return nil
	}
	return t.Raw()
}

func givenLabel(t *flow.Text) any {
	if t == nil {
		return nil
	}
	return engine.TextLabel(*t)
}

// idle locks the session's row first: a concurrent caller reads the runs only after this one has committed.
func (b *writer) idle(id sessions.ID) {
	b.add(engine.Statement{SQL: lockSession, Args: []any{string(id)}, Else: sessions.ErrNotFound})
	b.add(engine.Statement{SQL: idleSession, Args: []any{string(id), string(id)}, Else: sessions.ErrConflict})
}

// route encodes a route; an empty text stands for no route.
func (b *writer) route(r sessions.Route) string {
	if r == (sessions.Route{}) {
		return ""
	}
	return b.Text(r)
}

func scanSession(row engine.Row) (sessions.Record, error) {
	var r sessions.Record
	var id, key, override, activation, head, compacted, route, metadata, access, thinking, verbose, parent, queue, temperature string
	var model, title, name engine.LabelledText
	var level, trust, clearance, persistent, aborted, archived, voice int
	var ttl, created, active, ended int64
	err := row.Scan(&id, &key, &r.Agent, &r.Partition, &r.Revision, &level, &trust, &clearance, &route, &override, &activation, &model.Text, &head,
		&compacted, &title.Text, &metadata, &access, &persistent, &ttl, &r.Usage.InputTokens, &r.Usage.OutputTokens,
		&r.Usage.CachedTokens, &r.ContextSize, &aborted, &created, &active, &ended,
		&thinking, &verbose, &name.Text, &parent, &queue, &model.Label, &title.Label, &name.Label, &temperature, &r.MaxTokens, &archived, &voice)
	if err != nil {
		return r, err
	}
	r.SpawnedBy, r.QueueMode = sessions.ID(parent), sessions.QueueMode(queue)
	r.ID, r.Key, r.SendPolicy = sessions.ID(id), sessions.Key(key), sessions.SendPolicy(override)
	r.Activation = sessions.Activation(activation)
	r.ThinkingLevel, r.VerboseLevel = sessions.ThinkingLevel(thinking), sessions.VerboseLevel(verbose)
	r.Temperature, r.Voice = sessions.Temperature(temperature), voice != 0
	r.Head, r.Compacted = sessions.MessageID(head), sessions.MessageID(compacted)
	r.Taint = engine.LabelFrom(level, trust)
	r.Model, r.Title, r.Label = model.Labelled(r.Taint), title.Labelled(r.Taint), name.Labelled(r.Taint)
	r.Clearance, _ = flow.LevelFromRank(clearance) // an invalid one reaches nothing
	r.Persistent, r.AbortedLast, r.Archived, r.TTL = persistent == 1, aborted == 1, archived == 1, time.Duration(ttl)*time.Microsecond
	r.Created, r.LastActivity, r.Ended = engine.FromMicros(created), engine.FromMicros(active), engine.FromMicros(ended)
	if metadata != "" {
		r.Metadata = json.RawMessage(metadata)
	}
	var d engine.Decoding
	d.Into(route, &r.Route)
	d.Into(access, &r.FileAccess)
	return r, d.Err
}

// Session implements [sessions.Store].
func (db sessionTable) Session(ctx context.Context, id sessions.ID) (sessions.Record, error) {
	r, ok, before := db.recent.byID(id)
	if ok {
		return r, nil
	}
	r, err := engine.Single(ctx, db.Conn, engine.Brief+`SELECT `+sessionColumns+` FROM sessions WHERE id = ?`, []any{string(id)}, scanSession)
	if err == nil {
		db.recent.learn(r, before)
	}
	return r, err
}

// SessionByKey implements [ledger.Store].
func (db sessionTable) SessionByKey(ctx context.Context, key sessions.Key) (sessions.Record, error) {
	r, ok, before := db.recent.byKey(key)
	if ok {
		return r, nil
	}
	r, err := engine.Single(ctx, db.Conn, engine.Brief+`SELECT `+sessionColumns+` FROM sessions WHERE skey = ? AND ended = 0`, []any{engine.Indexed(key)}, scanSession)
	if err == nil {
		db.recent.learn(r, before)
	}
	return r, err
}

// ArchivedSession implements [ledger.Store].
func (db sessionTable) ArchivedSession(ctx context.Context, key sessions.Key) (sessions.Record, error) {
	return engine.Single(ctx, db.Conn, `SELECT `+sessionColumns+` FROM sessions WHERE skey = ? AND archived = 1 ORDER BY ended DESC LIMIT 1`, []any{engine.Indexed(key)}, scanSession)
}

// lastAccepted is when the newest run of a session was accepted, whether it was answered or not.
const lastAccepted = `COALESCE((SELECT latest.accepted FROM runs latest WHERE latest.session_id = sessions.id ORDER BY latest.seq DESC LIMIT 1), 0)`

// expiredSessions has one indexed query per kind of expiry, so that sessions with time left cost nothing.
const (
	expiredSessions = `SELECT id FROM (
		SELECT id FROM sessions WHERE ended = 0 AND ttl > 0 AND created + ttl <= ? AND (spawned_by = '' OR ` + notBusy + `)
		UNION ALL SELECT id FROM sessions WHERE ended = 0 AND persistent = 0 AND last_activity < ? AND (head <> '' OR ttl = 0)
			AND NOT (ttl > 0 AND created + ttl <= ?) AND ` + notBusy
	idleSessions = `
		UNION ALL SELECT id FROM sessions WHERE ended = 0 AND last_activity < ? AND persistent = 1 AND NOT (ttl > 0 AND created + ttl <= ?)
			AND ` + lastAccepted + ` < ? AND NOT EXISTS (SELECT 1 FROM exchanges x WHERE x.requester = sessions.id AND x.ended = 0) AND ` + notBusy
	notBusy = `NOT EXISTS (SELECT 1 FROM runs r WHERE r.session_id = sessions.id AND ` + openRuns + `)`
)

// ExpiredSessions implements [ledger.Store].
func (db sessionTable) ExpiredSessions(ctx context.Context, e ledger.Expiry, limit int) ([]sessions.ID, error) {
	now, idle, kept := engine.Micros(e.Now), engine.Micros(e.IdleSince), engine.Micros(e.KeptSince)
	query, args := expiredSessions, []any{now, idle, now}
	if !e.KeptSince.IsZero() {
		query, args = query+idleSessions, append(args, kept, now, kept)
	}
	return engine.All(ctx, db.Conn, query+`) s`+engine.Limit(limit), args, func(row engine.Row) (sessions.ID, error) {
		var id string
		err := row.Scan(&id)
		return sessions.ID(id), err
	})
}

// SendersBelow implements [ledger.Store].
func (db sessionTable) SendersBelow(ctx context.Context, conversation sessions.Key, limit int) ([]sessions.Record, error) {
	thread, topic := string(conversation)+":thread:", string(conversation)+":topic:"
	query := `SELECT ` + sessionColumns + ` FROM sessions WHERE ended = 0 AND send_policy <> '' AND (substr(skey, 1, ?) = ? OR substr(skey, 1, ?) = ?) ORDER BY id`
	args := []any{utf8.RuneCountInString(thread), thread, utf8.RuneCountInString(topic), topic}
	return engine.All(ctx, db.Conn, query+engine.Limit(limit), args, scanSession)
}

// ListSessions implements [ledger.Browser].
func (db sessionTable) ListSessions(ctx context.Context, q ledger.SessionQuery) ([]sessions.Record, error) {
	if !q.MaxLevel.Valid() {
		return nil, nil
	}
	f := engine.Filter{}
	f.AddIf(!q.Archived, `ended = 0`)
	f.AddIf(q.Archived, `archived = 1`)
	f.Add(`level <= ?`, q.MaxLevel.Rank())
	f.AddIf(q.Level.Valid(), `level = ?`, q.Level.Rank())
	f.AddIf(q.Parent != "", `spawned_by = ? AND spawned_by <> ''`, string(q.Parent))
	f.AddIf(q.Busy, `EXISTS (SELECT 1 FROM runs r WHERE r.session_id = sessions.id AND r.`+openRuns+`)`)
	views.SessionFilter(&f, &q)
	f.AddIf(q.Agent != "", `agent = ?`, q.Agent)
	f.AddIf(!q.ActiveSince.IsZero(), `last_activity >= ?`, engine.Micros(q.ActiveSince))
	f.AddIf(!q.IdleSince.IsZero(), `last_activity < ?`, engine.Micros(q.IdleSince))
	f.AddIf(q.After != "", `(last_activity, id) < (SELECT last_activity, id FROM sessions WHERE id = ? AND level <= ?)`, string(q.After), q.MaxLevel.Rank())
	limit := q.Limit
	if limit <= 0 {
		limit = 200
	}
	return engine.Listed(ctx, db.Conn, q.Bound, min(limit, 1000), `SELECT `+sessionColumns+` FROM sessions`+f.Where()+` ORDER BY last_activity DESC, id DESC`, f.Args, scanSession)
}

// busyMax is how many sessions one statement covers. It is fixed, so that the statement stays prepared.
const busyMax = 50

var busySessions = `SELECT DISTINCT session_id FROM runs WHERE session_id IN (?` + strings.Repeat(`, ?`, busyMax-1) + `) AND ` + openRuns

// Busy implements [ledger.Browser].
func (db sessionTable) Busy(ctx context.Context, ids []sessions.ID) (map[sessions.ID]bool, error) {
	busy := map[sessions.ID]bool{}
	for chunk := range slices.Chunk(ids, busyMax) {
		args := make([]any, busyMax)
		for i := range args {
			args[i] = ""
			if i < len(chunk) {
				args[i] = string(chunk[i])
			}
		}
		err := db.Query(ctx, busySessions, args, func(row engine.Row) error {
			var id string
			err := row.Scan(&id)
			busy[sessions.ID(id)] = true
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return busy, nil
}
