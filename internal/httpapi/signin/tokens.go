package signin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"time"

	"github.com/google/uuid"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/view"
	"sluice/internal/httpapi/wire"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

// tokenName is what a token may be called: its name is part of principals, keys and the audit trail.
var tokenName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]{0,63}$`)

// TokenRecord is a token as owners see it. It is exported because the API library only sees exported embedded types.
type TokenRecord struct {
	ID       string     `json:"id,omitempty" doc:"absent: the configuration has it"`
	Name     string     `json:"name" doc:"empty: the gateway's own"`
	Role     auth.Role  `json:"role" enum:"owner,operator,viewer,sender"`
	Level    string     `json:"level" doc:"the highest level that its bearer sees"`
	Source   string     `json:"source" enum:"config,made" doc:"where it comes from: gateway.token and gateway.tokens, or made at run time"`
	By       string     `json:"by,omitempty" doc:"who made it"`
	Created  *time.Time `json:"created,omitempty"`
	Expires  *time.Time `json:"expires,omitempty"`
	Expired  bool       `json:"expired,omitempty"`
	LastUsed *time.Time `json:"last_used,omitempty" doc:"to the minute; absent: never, as far as recorded"`
}

type tokenList struct {
	Tokens []TokenRecord `json:"tokens"`
}

// ListTokens lists all tokens, but never what they are.
func (a *API) ListTokens(ctx context.Context, _ *struct{}) (*wire.Body[tokenList], error) {
	if err := needOwner(ctx); err != nil {
		return nil, err
	}
	rows, err := a.cfg.Store.ListTokens(ctx)
	if err != nil {
		return nil, err
	}
	used, err := a.uses(ctx)
	if err != nil {
		return nil, err
	}
	out := tokenList{}
	for _, c := range a.cfg.Tokens.Configured() {
		out.Tokens = append(out.Tokens, TokenRecord{Name: c.Name, Role: c.Role, Level: c.Level.String(), Source: "config", LastUsed: used[auth.UseOfToken(c.Name)]})
	}
	for _, t := range rows {
		r := a.record(t)
		r.LastUsed = used[auth.UseOfToken(t.Name)]
		out.Tokens = append(out.Tokens, r)
	}
	return wire.NewBody(out), nil
}

func (a *API) record(t ledger.APIToken) TokenRecord {
	return TokenRecord{
		ID: t.ID, Name: t.Name, Role: auth.Role(t.Role), Level: t.Level.String(), Source: "made", By: t.By, Created: view.Optional(t.Created), Expires: view.Optional(t.Expires),
		Expired: !t.Expires.IsZero() && !t.Expires.After(a.cfg.Now()),
	}
}

type madeToken struct {
	Token string `json:"token" doc:"the text of the token; it is shown only here"`
	TokenRecord
}

// TokenInput describes a new token.
type TokenInput struct {
	Body struct {
		Name    string `json:"name" doc:"letters, digits, '.', '_' and '-', at most 64; the audit trail calls its bearer token:<name>"`
		Role    string `json:"role" enum:"owner,operator,viewer,sender"`
		Level   string `json:"level" enum:"PUBLIC,INTERNAL,CONFIDENTIAL,RESTRICTED" doc:"the highest level that its bearer sees"`
		Expires string `json:"expires_in,omitempty" maxLength:"32" doc:"how long it works, for example 720h; absent: until it is revoked"`
	}
}

// MakeToken makes a token.
func (a *API) MakeToken(ctx context.Context, in *TokenInput) (*wire.Body[madeToken], error) {
	if err := needOwner(ctx); err != nil {
		return nil, err
	}
	who, b := auth.CallerOf(ctx), in.Body
	level, err := flow.ParseLevel(b.Level)
	if err != nil {
		return nil, wire.Invalid("level: " + err.Error())
	}
	own, err := a.cfg.Tokens.Named(ctx, who.Name)
	if err != nil && !who.Proxied() {
		return nil, err
	}
	if err == nil && !flow.CanFlow(level, own.Level) || who.Proxied() && !flow.CanFlow(level, who.Level) {
		return nil, wire.Forbidden("level: a token can't see more than the token that creates it")
	}
	row := ledger.APIToken{ID: "tok_" + uuid.NewString()[:13], Name: b.Name, Role: b.Role, Level: level, By: who.Actor(), Created: a.cfg.Now()}
	switch {
	case !tokenName.MatchString(b.Name):
		return nil, wire.Invalid("name: want letters, digits, '.', '_' and '-', at most 64, beginning with a letter or digit")
	case slices.ContainsFunc(a.cfg.Tokens.Configured(), func(c auth.Caller) bool { return c.Name == b.Name }):
		return nil, taken(b.Name)
	}
	if b.Expires != "" {
		life, err := time.ParseDuration(b.Expires)
		if err != nil || life <= 0 {
			return nil, wire.Invalid("expires_in: want a duration such as 720h")
		}
		row.Expires = row.Created.Add(life)
	}
	known, err := a.cfg.Store.ListTokens(ctx)
	if err != nil {
		return nil, err
	}
	if len(known) >= ledger.APITokensMax {
		return nil, wire.Conflict(fmt.Sprintf("there are %d tokens already; revoke those that are no longer used", len(known)))
	}
	token := auth.MadePrefix + secret()
	row.Sum = auth.Sum(token)
	err = a.cfg.Store.Commit(ctx, ledger.Change{
		AccessChange: ledger.AccessChange{Tokens: []ledger.APIToken{row}},
		Change: sessions.Change{Audit: []sessions.AuditEntry{entry(row.Created, who.Actor(), "access.token_made", row.Name, map[string]any{
			"role": row.Role, "level": row.Level.String(), "expires": view.Optional(row.Expires),
		})}},
	})
	if errors.Is(err, sessions.ErrDuplicate) {
		return nil, taken(b.Name)
	}
	if err != nil {
		return nil, err
	}
	return wire.NewBody(madeToken{token, a.record(row)}), nil
}

func taken(name string) error {
	return wire.Conflict("name: there is a token with the name " + name + "; choose another one")
}

// RevokeToken takes a token's access, with that of the browsers that were signed in with it. Their streams end.
func (a *API) RevokeToken(ctx context.Context, in *struct {
	Token string `path:"token" maxLength:"64" doc:"name of the token"`
},
) (*struct{}, error) {
	if err := needOwner(ctx); err != nil {
		return nil, err
	}
	err := a.cfg.Store.Commit(ctx, ledger.Change{
		AccessChange: ledger.AccessChange{RevokeTokens: []string{in.Token}},
		Change:       sessions.Change{Audit: []sessions.AuditEntry{entry(a.cfg.Now(), auth.CallerOf(ctx).Actor(), "access.token_revoked", in.Token, nil)}},
	})
	switch configured := slices.ContainsFunc(a.cfg.Tokens.Configured(), func(c auth.Caller) bool { return c.Name == in.Token }); {
	case errors.Is(err, sessions.ErrNotFound) && configured:
		return nil, wire.NewError(http.StatusConflict, "conflict", "this token is in the configuration: remove it from gateway.tokens")
	case errors.Is(err, sessions.ErrNotFound):
		return nil, wire.ErrNotFound
	case err != nil:
		return nil, err
	}
	a.cfg.Tokens.Live().End(func(c auth.Caller) bool { return c.Name == in.Token })
	return nil, nil
}
