package store

import (
	"context"
	"errors"

	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store/engine"
)

func (b *writer) event(e ledger.Event) {
	b.add(engine.Statement{
		SQL:       `INSERT INTO events (event_key, outcome, session_id, run_id, notice_id, accepted) VALUES (?, ?, ?, ?, ?, ?)`,
		Args:      []any{engine.Indexed(e.Key), string(e.Outcome), string(e.Session), string(e.Run), string(e.Notice), engine.Micros(e.Accepted)},
		Duplicate: sessions.ErrDuplicate,
	})
}

// Event implements [ledger.Store].
func (db inboxTable) Event(ctx context.Context, key string) (ledger.Event, error) {
	e := ledger.Event{Key: key}
	var outcome, session, run, notice string
	var accepted int64
	err := db.One(ctx, engine.Brief+`SELECT outcome, session_id, run_id, notice_id, accepted FROM events WHERE event_key = ?`, []any{engine.Indexed(key)},
		&outcome, &session, &run, &notice, &accepted)
	e.Outcome, e.Session, e.Run = ledger.Outcome(outcome), sessions.ID(session), sessions.RunID(run)
	e.Notice, e.Accepted = ledger.DeliveryID(notice), engine.FromMicros(accepted)
	return e, err
}

func (b *writer) remember(r ledger.HistoryAppend) {
	level, trust := engine.Label(r.Line.Label)
	quotations := ""
	if len(r.Line.Quotations) > 0 {
		quotations = b.Text(r.Line.Quotations)
	}
	b.add(engine.Statement{
		SQL:  `INSERT INTO history (lane, at, sender, body, level, trust, message_id, quotations) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		Args: []any{engine.Indexed(r.Lane), engine.Micros(r.Line.At), b.Text(r.Line.Sender), r.Line.Text, level, trust, engine.Indexed(r.Line.MessageID), quotations},
	})
	b.add(engine.Statement{
		SQL: `DELETE FROM history WHERE lane = ? AND seq <=
			(SELECT seq FROM history WHERE lane = ? ORDER BY seq DESC LIMIT 1 OFFSET ?)`,
		Args: []any{engine.Indexed(r.Lane), engine.Indexed(r.Lane), r.Keep},
	})
}

// History implements [ledger.Store].
func (db inboxTable) History(ctx context.Context, lane sessions.Lane) ([]sessions.HistoryLine, error) {
	absent, learn := db.talk.Absent(engine.Indexed(lane))
	if absent {
		return nil, nil
	}
	lines, err := engine.All(ctx, db.Conn, engine.Brief+`SELECT at, sender, body, level, trust, message_id, quotations FROM history WHERE lane = ? ORDER BY seq`, []any{engine.Indexed(lane)},
		func(row engine.Row) (sessions.HistoryLine, error) {
			var l sessions.HistoryLine
			var at int64
			var sender, message, quotations string
			var level, trust int
			if err := row.Scan(&at, &sender, &l.Text, &level, &trust, &message, &quotations); err != nil {
				return l, err
			}
			l.At, l.Label, l.MessageID = engine.FromMicros(at), engine.LabelFrom(level, trust), sessions.PlatformMessageID(message)
			var dec engine.Decoding
			dec.Into(sender, &l.Sender)
			dec.Into(quotations, &l.Quotations)
			return l, dec.Err
		})
	if err == nil {
		learn(len(lines) > 0)
	}
	return lines, err
}

func (b *writer) peer(p ledger.DirectPeer) {
	b.add(engine.Statement{
		SQL: `INSERT INTO direct_peers (channel, account, conversation, user_id) VALUES (?, ?, ?, ?)
			ON CONFLICT (channel, account, conversation) DO UPDATE SET user_id = excluded.user_id
			WHERE direct_peers.user_id <> excluded.user_id`,
		Args: []any{p.Channel, p.Account, engine.Indexed(p.Conversation), string(p.User)},
	})
}

// PeerOf implements [ledger.Store].
func (db inboxTable) PeerOf(ctx context.Context, channel, account string, conversation sessions.ConversationID) (sessions.UserID, error) {
	var user string
	err := db.One(ctx, `SELECT user_id FROM direct_peers WHERE channel = ? AND account = ? AND conversation = ?`,
		[]any{channel, account, engine.Indexed(conversation)}, &user)
	return sessions.UserID(user), err
}

func (b *writer) revised(r ledger.Revision) {
	b.add(engine.Statement{
		SQL: `INSERT INTO revisions (lane, message_id, run_id) VALUES (?, ?, ?)
			ON CONFLICT (lane, message_id) DO UPDATE SET run_id = excluded.run_id`,
		Args: []any{engine.Indexed(r.Lane), engine.Indexed(r.Message), string(r.Run)},
	})
}

// Revision implements [ledger.Store].
func (db inboxTable) Revision(ctx context.Context, lane sessions.Lane, message sessions.PlatformMessageID) (ledger.Revision, error) {
	r := ledger.Revision{Lane: lane, Message: message}
	var run string
	err := db.One(ctx, `SELECT run_id FROM revisions WHERE lane = ? AND message_id = ?`, []any{engine.Indexed(lane), engine.Indexed(message)}, &run)
	r.Run = sessions.RunID(run)
	return r, err
}

func (b *writer) botTurns(t ledger.BotTurns) {
	if len(t.Turns) == 0 {
		b.add(engine.Statement{SQL: `DELETE FROM bot_turns WHERE place = ?`, Args: []any{engine.Indexed(t.Place)}})
		return
	}
	b.add(engine.Statement{
		SQL: `INSERT INTO bot_turns (place, turns, stopped) VALUES (?, ?, ?)
			ON CONFLICT (place) DO UPDATE SET turns = excluded.turns, stopped = excluded.stopped`,
		Args: []any{engine.Indexed(t.Place), b.Text(t.Turns), engine.Flag(t.Stopped)},
	})
}

// BotTurns implements [ledger.Store].
func (db inboxTable) BotTurns(ctx context.Context, place sessions.Lane) (ledger.BotTurns, error) {
	t := ledger.BotTurns{Place: place}
	var turns string
	var stopped int
	err := db.One(ctx, `SELECT turns, stopped FROM bot_turns WHERE place = ?`, []any{engine.Indexed(place)}, &turns, &stopped)
	if errors.Is(err, sessions.ErrNotFound) {
		return t, nil
	}
	if err != nil {
		return t, err
	}
	t.Stopped = stopped == 1
	return t, engine.Decode(turns, &t.Turns)
}
