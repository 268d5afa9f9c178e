package store

import (
	"context"
	"errors"

	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store/engine"
)

const pairingColumns = `channel, account, user_id, person, conversation, code, status, created, expires`

// pairing replaces a person's pairing if the condition holds. Otherwise the write fails with the given error.
func (b *writer) pairing(p ledger.Pairing, condition string, otherwise error) {
	b.add(engine.Statement{
		Else: otherwise,
		SQL: `INSERT INTO pairings (` + pairingColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (channel, account, user_id) DO UPDATE SET person = excluded.person, conversation = excluded.conversation,
			code = excluded.code, status = excluded.status, created = excluded.created, expires = excluded.expires` + condition,
		Args: []any{
			p.Channel, p.Account, engine.Indexed(p.User.ID), b.Text(p.User), engine.Indexed(p.Conversation), p.Code, string(p.Status),
			engine.Micros(p.Created), engine.Micros(p.Expires),
		},
	})
}

func scanPairing(row engine.Row) (ledger.Pairing, error) {
	var p ledger.Pairing
	var user, person, conversation, status string
	var created, expires int64
	if err := row.Scan(&p.Channel, &p.Account, &user, &person, &conversation, &p.Code, &status, &created, &expires); err != nil {
		return p, err
	}
	p.Conversation, p.Status = sessions.ConversationID(conversation), ledger.PairingStatus(status)
	p.Created, p.Expires = engine.FromMicros(created), engine.FromMicros(expires)
	return p, engine.Decode(person, &p.User)
}

// PairingOf implements [ledger.Store].
func (db peopleTable) PairingOf(ctx context.Context, channel, account string, user sessions.UserID) (ledger.Pairing, error) {
	return engine.Single(ctx, db.Conn, engine.Brief+`SELECT `+pairingColumns+` FROM pairings WHERE channel = ? AND account = ? AND user_id = ?`,
		[]any{channel, account, engine.Indexed(user)}, scanPairing)
}

// ListPairings implements [ledger.Store].
func (db peopleTable) ListPairings(ctx context.Context, channel, account string, status ledger.PairingStatus) ([]ledger.Pairing, error) {
	f := engine.Filter{}
	f.Add(`status = ?`, string(status))
	f.AddIf(channel != "", `channel = ?`, channel)
	f.AddIf(account != "", `account = ?`, account)
	return engine.All(ctx, db.Conn, `SELECT `+pairingColumns+` FROM pairings`+f.Where()+` ORDER BY created DESC LIMIT 1000`, f.Args, scanPairing)
}

// aliasesMax bounds how many aliases of a conversation are followed.
const aliasesMax = 16

// anyAlias is the presence key for "some conversation has an alias".
const anyAlias = ""

// CanonicalConversation implements [ledger.Store].
func (db peopleTable) CanonicalConversation(ctx context.Context, channel, account string, id sessions.ConversationID) (sessions.ConversationID, error) {
	if db.aliased.KeepsAbsence() {
		if some, err := db.aliased.Ask(ctx, db.Conn, anyAlias, `SELECT 1 FROM aliases LIMIT 1`); err != nil || !some {
			return id, err
		}
	}
	for range aliasesMax {
		var older string
		err := db.One(ctx, engine.Brief+`SELECT older FROM aliases WHERE channel = ? AND account = ? AND known_as = ?`,
			[]any{channel, account, engine.Indexed(id)}, &older)
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
