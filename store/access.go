package store

import (
	"context"
	"errors"

	"sluice/router/ledger"
	"sluice/sessions"
)

func (b *writer) event(e ledger.Event) {
	b.add(Statement{
		SQL:       `INSERT INTO events (event_key, outcome, session_id, run_id, notice_id, accepted) VALUES (?, ?, ?, ?, ?, ?)`,
		Args:      []any{indexed(e.Key), string(e.Outcome), string(e.Session), string(e.Run), string(e.Notice), micros(e.Accepted)},
		Duplicate: sessions.ErrDuplicate,
	})
}

// Event implements [ledger.Store].
func (db *DB) Event(ctx context.Context, key string) (ledger.Event, error) {
	e := ledger.Event{Key: key}
	var outcome, session, run, notice string
	var accepted int64
	err := db.one(ctx, `SELECT outcome, session_id, run_id, notice_id, accepted FROM events WHERE event_key = ?`, []any{indexed(key)},
		&outcome, &session, &run, &notice, &accepted)
	e.Outcome, e.Session, e.Run = ledger.Outcome(outcome), sessions.ID(session), sessions.RunID(run)
	e.Notice, e.Accepted = ledger.DeliveryID(notice), fromMicros(accepted)
	return e, err
}

func (b *writer) remember(r ledger.Remembered) {
	level, trust := label(r.Line.Label)
	quotations := ""
	if len(r.Line.Quotations) > 0 {
		quotations = b.text(r.Line.Quotations)
	}
	b.add(Statement{
		SQL:  `INSERT INTO history (lane, at, sender, body, level, trust, message_id, quotations) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		Args: []any{indexed(r.Lane), micros(r.Line.At), b.text(r.Line.Sender), r.Line.Text, level, trust, indexed(r.Line.MessageID), quotations},
	})
	b.add(Statement{
		SQL: `DELETE FROM history WHERE lane = ? AND seq <=
			(SELECT seq FROM history WHERE lane = ? ORDER BY seq DESC LIMIT 1 OFFSET ?)`,
		Args: []any{indexed(r.Lane), indexed(r.Lane), r.Keep},
	})
}

// History implements [ledger.Store].
func (db *DB) History(ctx context.Context, lane sessions.Lane) ([]sessions.HistoryLine, error) {
	return all(ctx, db, `SELECT at, sender, body, level, trust, message_id, quotations FROM history WHERE lane = ? ORDER BY seq`, []any{indexed(lane)},
		func(row Row) (sessions.HistoryLine, error) {
			var l sessions.HistoryLine
			var at int64
			var sender, message, quotations string
			var level, trust int
			if err := row.Scan(&at, &sender, &l.Text, &level, &trust, &message, &quotations); err != nil {
				return l, err
			}
			l.At, l.Label, l.MessageID = fromMicros(at), labelFrom(level, trust), sessions.PlatformMessageID(message)
			var dec decoding
			dec.into(sender, &l.Sender)
			dec.into(quotations, &l.Quotations)
			return l, dec.err
		})
}

const pairingColumns = `channel, account, user_id, person, conversation, code, status, created, expires`

// pairing replaces a person's pairing where the condition holds; otherwise is the error if it does not.
func (b *writer) pairing(p ledger.Pairing, condition string, otherwise error) {
	b.add(Statement{
		Else: otherwise,
		SQL: `INSERT INTO pairings (` + pairingColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (channel, account, user_id) DO UPDATE SET person = excluded.person, conversation = excluded.conversation,
			code = excluded.code, status = excluded.status, created = excluded.created, expires = excluded.expires` + condition,
		Args: []any{
			p.Channel, p.Account, indexed(p.User.ID), b.text(p.User), indexed(p.Conversation), p.Code, string(p.Status),
			micros(p.Created), micros(p.Expires),
		},
	})
}

func scanPairing(row Row) (ledger.Pairing, error) {
	var p ledger.Pairing
	var user, person, conversation, status string
	var created, expires int64
	if err := row.Scan(&p.Channel, &p.Account, &user, &person, &conversation, &p.Code, &status, &created, &expires); err != nil {
		return p, err
	}
	p.Conversation, p.Status = sessions.ConversationID(conversation), ledger.PairingStatus(status)
	p.Created, p.Expires = fromMicros(created), fromMicros(expires)
	return p, decode(person, &p.User)
}

// PairingOf implements [ledger.Store].
func (db *DB) PairingOf(ctx context.Context, channel, account string, user sessions.UserID) (ledger.Pairing, error) {
	return single(ctx, db, `SELECT `+pairingColumns+` FROM pairings WHERE channel = ? AND account = ? AND user_id = ?`,
		[]any{channel, account, indexed(user)}, scanPairing)
}

// ListPairings implements [ledger.Store].
func (db *DB) ListPairings(ctx context.Context, channel, account string, status ledger.PairingStatus) ([]ledger.Pairing, error) {
	f := filter{}
	f.add(`status = ?`, string(status))
	f.addIf(channel != "", `channel = ?`, channel)
	f.addIf(account != "", `account = ?`, account)
	return all(ctx, db, `SELECT `+pairingColumns+` FROM pairings`+f.where()+` ORDER BY created DESC LIMIT 1000`, f.args, scanPairing)
}

// aliasesMost bounds how often a conversation's id is followed.
const aliasesMost = 16

// CanonicalConversation implements [ledger.Store].
func (db *DB) CanonicalConversation(ctx context.Context, channel, account string, id sessions.ConversationID) (sessions.ConversationID, error) {
	for range aliasesMost {
		var older string
		err := db.one(ctx, `SELECT older FROM aliases WHERE channel = ? AND account = ? AND known_as = ?`,
			[]any{channel, account, indexed(id)}, &older)
		switch {
		case errors.Is(err, sessions.ErrNotFound):
			return id, nil
		case err != nil:
			return id, err
		}
		id = sessions.ConversationID(older)
	}
	return id, nil
}
