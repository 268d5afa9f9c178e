// Package access has the SQL of who may call the API: tokens made at run time, sign-ins, and when they were used.
package access

import (
	"context"
	"strconv"

	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
	"sluice/store/engine"
)

const (
	tokenColumns  = `id, name, sum, role, level, made_by, created, expires`
	signInColumns = `id, token, print, link, cookie, page_key, address, agent, created, expires`

	insertToken  = `INSERT INTO api_tokens (` + tokenColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
	removeToken  = `DELETE FROM api_tokens WHERE name = ?`
	insertSignIn = `INSERT INTO sign_ins (` + signInColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`
	removeSignIn = `DELETE FROM sign_ins WHERE id = ?`
	useLink      = `UPDATE sign_ins SET link = '', cookie = ?, page_key = ?, address = ?, agent = ?, created = ?, expires = ?
		WHERE link = ? AND link <> '' AND expires > ?`
	expireSignIns = `DELETE FROM sign_ins WHERE expires <= ?`
	removeSignIns = `DELETE FROM sign_ins WHERE token = ?`
	removeUse     = `DELETE FROM api_uses WHERE subject = ?`
	noteUse       = `INSERT INTO api_uses (subject, used) VALUES (?, ?) ON CONFLICT (subject) DO UPDATE SET used = excluded.used`
	// staleUses are those of sign-ins that are gone.
	staleUses = `DELETE FROM api_uses WHERE substr(subject, 1, 8) = 'sign-in:' AND NOT EXISTS (SELECT 1 FROM sign_ins s WHERE 'sign-in:' || s.id = api_uses.subject)`
)

var oldSignIns = `DELETE FROM sign_ins WHERE token = ? AND id NOT IN (SELECT id FROM sign_ins WHERE token = ? ORDER BY created DESC, id LIMIT ` + strconv.Itoa(ledger.SignInsMax) + `)`

// Table reads tokens and sign-ins.
type Table struct{ *engine.Conn }

// Write returns the statements of a change.
func Write(c *ledger.AccessChange) engine.Write {
	var w engine.Write
	for _, t := range c.Tokens {
		w = append(w, engine.Statement{SQL: insertToken, Duplicate: sessions.ErrDuplicate, Args: []any{
			t.ID, engine.Indexed(t.Name), t.Sum, t.Role, t.Level.Rank(), t.By, engine.Micros(t.Created), engine.Micros(t.Expires),
		}})
	}
	for _, name := range c.RevokeTokens {
		w = append(w, engine.Statement{SQL: removeToken, Args: []any{engine.Indexed(name)}, Else: sessions.ErrNotFound},
			engine.Statement{SQL: removeSignIns, Args: []any{engine.Indexed(name)}},
			engine.Statement{SQL: removeUse, Args: []any{engine.Indexed("token:" + name)}}, engine.Statement{SQL: staleUses})
	}
	for _, s := range c.SignIns {
		w = append(w, engine.Statement{SQL: expireSignIns, Args: []any{engine.Micros(s.Created)}},
			engine.Statement{SQL: insertSignIn, Duplicate: sessions.ErrDuplicate, Args: []any{
				s.ID, engine.Indexed(s.Token), s.Print, s.Link, s.Cookie, s.Key, s.Address, s.Agent, engine.Micros(s.Created), engine.Micros(s.Expires),
			}},
			engine.Statement{SQL: oldSignIns, Args: []any{engine.Indexed(s.Token), engine.Indexed(s.Token)}}, engine.Statement{SQL: staleUses})
	}
	for _, s := range c.UseLinks {
		w = append(w, engine.Statement{SQL: useLink, Else: sessions.ErrNotFound, Args: []any{
			s.Cookie, s.Key, s.Address, s.Agent, engine.Micros(s.Created), engine.Micros(s.Expires), s.Link, engine.Micros(s.Created),
		}})
	}
	for _, id := range c.EndSignIns {
		w = append(w, engine.Statement{SQL: removeSignIn, Args: []any{id}, Else: sessions.ErrNotFound},
			engine.Statement{SQL: removeUse, Args: []any{"sign-in:" + id}})
	}
	return w
}

func scanToken(row engine.Row) (ledger.APIToken, error) {
	var t ledger.APIToken
	var level int
	var created, expires int64
	if err := row.Scan(&t.ID, &t.Name, &t.Sum, &t.Role, &level, &t.By, &created, &expires); err != nil {
		return t, err
	}
	t.Level, _ = flow.LevelFromRank(level) // an invalid one sees nothing
	t.Created, t.Expires = engine.FromMicros(created), engine.FromMicros(expires)
	return t, nil
}

// TokenBySum reads the token with a hash, or returns ErrNotFound.
func (db Table) TokenBySum(ctx context.Context, sum string) (ledger.APIToken, error) {
	return engine.Single(ctx, db.Conn, engine.Brief+`SELECT `+tokenColumns+` FROM api_tokens WHERE sum = ?`, []any{sum}, scanToken)
}

// TokenNamed reads the token with a name, or returns ErrNotFound.
func (db Table) TokenNamed(ctx context.Context, name string) (ledger.APIToken, error) {
	return engine.Single(ctx, db.Conn, engine.Brief+`SELECT `+tokenColumns+` FROM api_tokens WHERE name = ?`, []any{engine.Indexed(name)}, scanToken)
}

// ListTokens reads all tokens, the oldest first.
func (db Table) ListTokens(ctx context.Context) ([]ledger.APIToken, error) {
	return engine.All(ctx, db.Conn, `SELECT `+tokenColumns+` FROM api_tokens ORDER BY created, id`+engine.Limit(ledger.APITokensMax), nil, scanToken)
}

func scanSignIn(row engine.Row) (ledger.SignIn, error) {
	var s ledger.SignIn
	var created, expires int64
	err := row.Scan(&s.ID, &s.Token, &s.Print, &s.Link, &s.Cookie, &s.Key, &s.Address, &s.Agent, &created, &expires)
	s.Created, s.Expires = engine.FromMicros(created), engine.FromMicros(expires)
	return s, err
}

// SignInByCookie reads the sign-in with a cookie's hash, or returns ErrNotFound.
func (db Table) SignInByCookie(ctx context.Context, sum string) (ledger.SignIn, error) {
	return engine.Single(ctx, db.Conn, engine.Brief+`SELECT `+signInColumns+` FROM sign_ins WHERE cookie = ? AND cookie <> ''`, []any{sum}, scanSignIn)
}

// SignInByLink reads the link with a code's hash, or returns ErrNotFound.
func (db Table) SignInByLink(ctx context.Context, sum string) (ledger.SignIn, error) {
	return engine.Single(ctx, db.Conn, engine.Brief+`SELECT `+signInColumns+` FROM sign_ins WHERE link = ? AND link <> ''`, []any{sum}, scanSignIn)
}

// SignIn reads a sign-in, or returns ErrNotFound.
func (db Table) SignIn(ctx context.Context, id string) (ledger.SignIn, error) {
	return engine.Single(ctx, db.Conn, `SELECT `+signInColumns+` FROM sign_ins WHERE id = ?`, []any{id}, scanSignIn)
}

// ListSignIns reads the newest sign-ins, without links that nobody has used.
func (db Table) ListSignIns(ctx context.Context, limit int) ([]ledger.SignIn, error) {
	return engine.All(ctx, db.Conn, `SELECT `+signInColumns+` FROM sign_ins WHERE cookie <> '' ORDER BY created DESC, id`+engine.Limit(limit), nil, scanSignIn)
}

// NoteUses stores when tokens and sign-ins were last used.
func (db Table) NoteUses(ctx context.Context, uses []ledger.Use) error {
	var w engine.Write
	for _, u := range uses {
		w = append(w, engine.Statement{SQL: noteUse, Args: []any{engine.Indexed(u.Subject), engine.Micros(u.At)}})
	}
	return db.Change(ctx, w)
}

// Uses reads when tokens and sign-ins were last used.
func (db Table) Uses(ctx context.Context) ([]ledger.Use, error) {
	return engine.All(ctx, db.Conn, `SELECT subject, used FROM api_uses`, nil, func(row engine.Row) (ledger.Use, error) {
		var u ledger.Use
		var at int64
		err := row.Scan(&u.Subject, &at)
		u.At = engine.FromMicros(at)
		return u, err
	})
}
