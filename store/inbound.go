package store

import (
	"context"
	"errors"
	"slices"
	"time"

	"sluice/adapters"
	"sluice/router/ledger"
	"sluice/sessions"
)

func (b *writer) peer(p ledger.DirectPeer) {
	b.add(Statement{
		SQL: `INSERT INTO direct_peers (channel, account, conversation, user_id) VALUES (?, ?, ?, ?)
			ON CONFLICT (channel, account, conversation) DO UPDATE SET user_id = excluded.user_id
			WHERE direct_peers.user_id <> excluded.user_id`,
		Args: []any{p.Channel, p.Account, indexed(p.Conversation), string(p.User)},
	})
}

// PeerOf implements [ledger.Store].
func (db *DB) PeerOf(ctx context.Context, channel, account string, conversation sessions.ConversationID) (sessions.UserID, error) {
	var user string
	err := db.one(ctx, `SELECT user_id FROM direct_peers WHERE channel = ? AND account = ? AND conversation = ?`,
		[]any{channel, account, indexed(conversation)}, &user)
	return sessions.UserID(user), err
}

func (b *writer) revised(r ledger.Revision) {
	b.add(Statement{
		SQL: `INSERT INTO revisions (lane, message_id, run_id) VALUES (?, ?, ?)
			ON CONFLICT (lane, message_id) DO UPDATE SET run_id = excluded.run_id`,
		Args: []any{indexed(r.Lane), indexed(r.Message), string(r.Run)},
	})
}

// Revision implements [ledger.Store].
func (db *DB) Revision(ctx context.Context, lane sessions.Lane, message sessions.PlatformMessageID) (ledger.Revision, error) {
	r := ledger.Revision{Lane: lane, Message: message}
	var run string
	err := db.one(ctx, `SELECT run_id FROM revisions WHERE lane = ? AND message_id = ?`, []any{indexed(lane), indexed(message)}, &run)
	r.Run = sessions.RunID(run)
	return r, err
}

func (b *writer) botTurns(t ledger.BotTurns) {
	if len(t.Turns) == 0 {
		b.add(Statement{SQL: `DELETE FROM bot_turns WHERE place = ?`, Args: []any{indexed(t.Place)}})
		return
	}
	b.add(Statement{
		SQL: `INSERT INTO bot_turns (place, turns, stopped) VALUES (?, ?, ?)
			ON CONFLICT (place) DO UPDATE SET turns = excluded.turns, stopped = excluded.stopped`,
		Args: []any{indexed(t.Place), b.text(t.Turns), flag(t.Stopped)},
	})
}

// BotTurns implements [ledger.Store].
func (db *DB) BotTurns(ctx context.Context, place sessions.Lane) (ledger.BotTurns, error) {
	t := ledger.BotTurns{Place: place}
	var turns string
	var stopped int
	err := db.one(ctx, `SELECT turns, stopped FROM bot_turns WHERE place = ?`, []any{indexed(place)}, &turns, &stopped)
	if errors.Is(err, sessions.ErrNotFound) {
		return t, nil
	}
	if err != nil {
		return t, err
	}
	t.Stopped = stopped == 1
	return t, decode(turns, &t.Turns)
}

// CountAudit implements [ledger.Store].
func (db *DB) CountAudit(ctx context.Context, action string, since time.Time, limit int) (int, error) {
	var n int
	err := db.one(ctx, `SELECT count(*) FROM (SELECT at FROM audit WHERE action = ? AND at >= ? LIMIT ?) newest`,
		[]any{action, micros(since), limit}, &n)
	return n, err
}

// postedMost is how many of the newest deliveries are looked through for a message. There
// is no index of messages: a reaction to one is rare, and each delivery would pay for it.
const postedMost = 500

// Posted implements [ledger.Store].
func (db *DB) Posted(ctx context.Context, lane sessions.Lane, message sessions.PlatformMessageID) (ledger.Delivery, error) {
	found, err := all(ctx, db, `SELECT `+deliveryColumns+` FROM deliveries WHERE seq > (SELECT max(seq) FROM deliveries) - ? AND lane = ?
		AND receipts <> '' ORDER BY seq DESC`, []any{postedMost, indexed(lane)}, scanDelivery)
	if err != nil {
		return ledger.Delivery{}, err
	}
	shows := func(r adapters.Receipt) bool { return r.MessageID == message }
	i := slices.IndexFunc(found, func(d ledger.Delivery) bool { return slices.ContainsFunc(d.Receipts, shows) })
	if i < 0 {
		return ledger.Delivery{}, sessions.ErrNotFound
	}
	return found[i], nil
}
