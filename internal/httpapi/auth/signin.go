package auth

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"

	"sluice/router/ledger"
	"sluice/sessions"
)

// KeyHeader is the header with the key that the page keeps in its own storage. Other ports of the same host get the
// cookie, too, so the cookie alone lets nobody in.
const KeyHeader = "Sluice-Key"

// printSize is how much of a token's hash is stored with a sign-in: enough to notice that the token was replaced, too
// little to guess the token.
const printSize = 8

func printOf(sum string) string { return sum[:min(len(sum), printSize)] }

// CookieName is the name of the cookie of a sign-in. It differs between gateways, because all ports of a host share their
// cookies.
func (t *Tokens) CookieName() string {
	secret := t.Secret()
	sum := sha256.Sum256(append([]byte("sluice cookie\x00"), secret[:]...))
	return "sluice-" + hex.EncodeToString(sum[:4])
}

// Print is the print of a token's hash now, to be stored with a sign-in.
func (t *Tokens) Print(ctx context.Context, name string) (string, error) {
	_, sum, err := t.named(ctx, name)
	return sum, err
}

// signedIn finds who has signed in with the browser that makes a request.
func (t *Tokens) signedIn(r *http.Request) (Caller, error) {
	cookie, err := r.Cookie(t.CookieName())
	key := r.Header.Get(KeyHeader)
	if err != nil || key == "" || cookie.Value == "" {
		return Caller{}, ErrUnknown
	}
	row, err := t.cfg.Rows.SignInByCookie(r.Context(), Sum(cookie.Value))
	if err == nil && subtle.ConstantTimeCompare([]byte(row.Key), []byte(Sum(key))) != 1 {
		return Caller{}, ErrUnknown
	}
	return t.bearerOf(r.Context(), row, err)
}

// session finds who has signed in.
func (t *Tokens) session(ctx context.Context, id string) (Caller, error) {
	row, err := t.cfg.Rows.SignIn(ctx, id)
	return t.bearerOf(ctx, row, err)
}

// bearerOf is who has signed in, as the token with which they did so allows now.
func (t *Tokens) bearerOf(ctx context.Context, row ledger.SignIn, err error) (Caller, error) {
	switch {
	case errors.Is(err, sessions.ErrNotFound):
		return Caller{}, ErrUnknown
	case err != nil:
		return Caller{}, fmt.Errorf("read sign-in: %w", err)
	case !row.Expires.After(t.cfg.Now()):
		return Caller{}, ErrUnknown
	}
	who, sum, err := t.named(ctx, row.Token)
	if err != nil {
		return Caller{}, err
	}
	if sum != row.Print { // the token was replaced
		return Caller{}, ErrUnknown
	}
	who.SignIn, who.Page = row.ID, true
	return who, nil
}
