package store

import (
	"context"
	"errors"
	"slices"

	"sluice/adapters"
	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store/engine"
)

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

// postedMax is how many of the newest deliveries are searched for a message. Messages have no index: reactions are
// rare, and every delivery would pay for it.
const postedMax = 500

// Posted implements [ledger.Store].
func (db deliveryTable) Posted(ctx context.Context, lane sessions.Lane, message sessions.PlatformMessageID) (ledger.Delivery, error) {
	found, err := engine.All(ctx, db.Conn, `SELECT `+deliveryColumns+` FROM deliveries WHERE seq > (SELECT max(seq) FROM deliveries) - ? AND lane = ?
		AND receipts <> '' ORDER BY seq DESC`, []any{postedMax, engine.Indexed(lane)}, scanDelivery)
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
