package router

import (
	"context"
	"fmt"

	"sluice/adapters"
	"sluice/router/request"
	"sluice/sessions"
)

// membersMost is how many members a look-up lists.
const membersMost = 200

// LookUp finds a conversation by its id or a name, and who is in it, at most
// 200. members is nil where the platform does not tell. Errors: a *[request.Error] for what can be mended.
func (r *Router) LookUp(ctx context.Context, channel, account, to string) (route sessions.Route, members []sessions.Peer, err error) {
	route, err = r.proactiveRoute(ctx, r.settings.Load(), Proactive{Channel: channel, Account: account, To: to})
	if err != nil {
		return route, nil, err
	}
	a, _ := r.adapter(route.Channel, route.Account) // the route has one
	directory, ok := a.(adapters.Directory)
	if !ok {
		return route, nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, findTimeout)
	defer cancel()
	members, err = directory.Members(ctx, route, membersMost)
	switch f := adapters.AsFailure(err); {
	case err == nil:
		return route, members, nil
	case f.Kind == adapters.Unsupported:
		return route, nil, nil
	case f.Kind == adapters.Permanent:
		return route, nil, &request.Error{Field: "to", Text: fmt.Sprintf("%q on channel %q has no members to be told: %v", to, channel, f.Err)}
	}
	return route, nil, &request.Error{Field: "to", Text: fmt.Sprintf("the members of %q could not be looked up on channel %q: try again", to, channel)}
}
