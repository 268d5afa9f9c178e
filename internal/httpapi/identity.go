package httpapi

import (
	"sluice/internal/httpapi/auth"
	"sluice/router"
	"sluice/sessions"
)

// identity says who a caller is for the router: the owner, or the person behind a named token. All of them speak on the
// page's channel.
type identity struct {
	route  sessions.Route
	person sessions.Peer // the owner
}

// principal names the bearer of a named token as rules do; empty for the gateway's own token.
func (i identity) principal(who auth.Caller) string {
	if who.Owner() {
		return ""
	}
	return sessions.Principal(i.route.Channel, router.TokenUser(who.Name))
}

// token is a caller's named token; nil for the gateway's own.
func (i identity) token(who auth.Caller) *router.Token {
	if who.Owner() {
		return nil
	}
	return &router.Token{Principal: i.principal(who), Level: who.Level, Operator: who.Role == auth.RoleOperator}
}

// verdict is the caller as one who decides: the gateway's own token stands for an owner, a named one for itself alone.
func (i identity) verdict(who auth.Caller) router.Verdict {
	return router.Verdict{Actor: who.Actor(), Owner: who.Owner(), Token: i.token(who)}
}
