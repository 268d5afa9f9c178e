package view

import (
	"sluice/internal/httpapi/auth"
	"sluice/router/decider"
	"sluice/sessions"
)

// Identity says who a caller is for the router: the owner, or the person behind a named token. All of them speak on the
// page's channel.
type Identity struct {
	Route  sessions.Route
	Person sessions.Peer // the owner
}

// Principal names the bearer of a named token as rules do; empty for the gateway's own token.
func (i Identity) Principal(who auth.Caller) string {
	if who.Owner() {
		return ""
	}
	return sessions.Principal(i.Route.Channel, decider.TokenUser(who.Name))
}

// Token is a caller's named token; nil for the gateway's own.
func (i Identity) Token(who auth.Caller) *decider.Token {
	if who.Owner() {
		return nil
	}
	return &decider.Token{Principal: i.Principal(who), Level: who.Level, Operator: who.Role == auth.RoleOperator}
}

// Verdict describes the caller as a decider: the gateway's token is an owner's, a named token is only itself.
func (i Identity) Verdict(who auth.Caller) decider.Verdict {
	return decider.Verdict{Actor: who.Actor(), Owner: who.Owner(), Token: i.Token(who)}
}
