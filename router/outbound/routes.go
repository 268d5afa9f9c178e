package outbound

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/adapters"
	"sluice/router/place"
	"sluice/router/request"
	"sluice/sessions"
)

// RouteStore is the part of the store that finding a route needs.
type RouteStore interface {
	Session(ctx context.Context, id sessions.ID) (sessions.Record, error)
}

// Routes finds where proactive messages go. All fields are required.
type Routes struct {
	Store    RouteStore
	Adapter  adapters.Finder
	Settings func() *place.Settings // for LookUp
	Failures *prometheus.CounterVec // by channel and kind
}

// DirectoryTimeout bounds lookups of direct chats while an event waits for them: Slack expects an acknowledgement
// within three seconds.
const DirectoryTimeout = 2 * time.Second

// findTimeout bounds a lookup by name on a platform.
const findTimeout = 10 * time.Second

// errNoOwner is the failure of the target "owner" without an owner.
var errNoOwner = errors.New("no owner is configured (owners)")

// Target finds the route of a configured target. Without a channel it is the direct chat with an owner.
func (r *Routes) Target(ctx context.Context, s *place.Settings, p Proactive) (sessions.Route, error) {
	if p.Channel == "" {
		channel, _, ok := place.FirstOwner(s.Owners)
		if !ok {
			return sessions.Route{}, errNoOwner
		}
		p.Channel = channel
	}
	return r.Find(ctx, s, p)
}

// Find finds the route of a proactive message. Only the words "owner" and "last", and names such as "#ops" and
// "@ada", are resolved; nothing else is guessed.
func (r *Routes) Find(ctx context.Context, s *place.Settings, p Proactive) (sessions.Route, error) {
	if p.To == ToLast {
		return r.lastRoute(ctx, p)
	}
	if _, ok := s.Channels[p.Channel]; !ok {
		return sessions.Route{}, NoChannel(p.Channel)
	}
	account := cmp.Or(p.Account, "default")
	a, ok := r.Adapter(p.Channel, account)
	if !ok {
		return sessions.Route{}, &request.Error{Field: "account", Text: fmt.Sprintf("no account %q on channel %q", account, p.Channel)}
	}
	route := sessions.Route{
		Channel: p.Channel, Account: account, ChatType: p.ChatType,
		Conversation: sessions.ConversationID(p.To), Thread: sessions.ThreadID(p.Thread),
	}
	directory, known := a.(adapters.Directory)
	switch {
	case p.To == "":
		return route, &request.Error{Field: "to", Text: "is empty: want a conversation id, or \"owner\""}
	case p.To == ToOwner:
		id, err := ownerOn(s, p.Channel)
		if err != nil || known {
			return r.lookedUp(ctx, directory, string(id), route, err)
		}
		route.Conversation, route.ChatType = sessions.ConversationID(id), sessions.Direct
	case isName(p.To) && !known:
		return route, &request.Error{Field: "to", Text: fmt.Sprintf("%q is a name, and channel %q can't look up names: want a conversation id", p.To, p.Channel)}
	case isName(p.To):
		return r.lookedUp(ctx, directory, p.To, route, nil)
	}
	if route.ChatType != "" {
		return route, nil
	}
	return r.typed(ctx, a, route)
}

// typed adds the chat type to a route: the session's key depends on it, and so does the send policy. If the id does
// not show the type, the platform is asked; if it can't tell, the type is direct.
func (r *Routes) typed(ctx context.Context, a adapters.Adapter, route sessions.Route) (sessions.Route, error) {
	if typer, ok := a.(adapters.ConversationTyper); ok {
		route.ChatType = typer.ConversationType(route.Conversation)
	}
	directory, known := a.(adapters.Directory)
	switch {
	case route.ChatType != "":
		return route, nil
	case known:
		return r.lookedUp(ctx, directory, string(route.Conversation), route, nil)
	}
	route.ChatType = sessions.Direct
	return route, nil
}

// isName reports whether a recipient is a name instead of an id.
func isName(to string) bool {
	return len(to) > 1 && (strings.HasPrefix(to, "#") || strings.HasPrefix(to, "@"))
}

// lookedUp is the route of a name or user id in the platform's directory; err is the previous failure.
func (r *Routes) lookedUp(ctx context.Context, directory adapters.Directory, name string, at sessions.Route, err error) (sessions.Route, error) {
	if err != nil {
		return at, err
	}
	ctx, cancel := context.WithTimeout(ctx, findTimeout)
	defer cancel()
	route, err := directory.Find(ctx, name)
	if err != nil {
		f := adapters.AsFailure(err)
		r.Failures.WithLabelValues(at.Channel, string(f.Kind)).Inc()
		if f.Kind == adapters.Permanent || f.Kind == adapters.Unsupported {
			return at, &request.Error{Field: "to", Text: fmt.Sprintf("no conversation or person that can receive messages is called %q on channel %q", name, at.Channel)}
		}
		return at, &request.Error{Field: "to", Text: fmt.Sprintf("%q could not be looked up on channel %q (%s): try again, or give a conversation's id with its chat_type", name, at.Channel, f.Kind)}
	}
	route.Channel, route.Account, route.ReplyTo, route.Handle = at.Channel, at.Account, "", ""
	route.Thread = cmp.Or(at.Thread, route.Thread)
	route.ChatType = cmp.Or(route.ChatType, cmp.Or(at.ChatType, sessions.Direct))
	return route, nil
}

func (r *Routes) lastRoute(ctx context.Context, p Proactive) (sessions.Route, error) {
	none := &request.Error{Field: "to", Text: "\"last\" needs a session that has received a message"}
	if p.Session == "" {
		return sessions.Route{}, none
	}
	record, err := r.Store.Session(ctx, p.Session)
	if err != nil {
		return sessions.Route{}, fmt.Errorf("read session: %w", err)
	}
	if record.Route.IsZero() {
		return sessions.Route{}, none
	}
	return record.Route, nil
}

// ownerOn is the first owner on a channel.
func ownerOn(s *place.Settings, channel string) (sessions.UserID, error) {
	if owners := s.OwnersOn(channel); len(owners) > 0 {
		return owners[0], nil
	}
	return "", &request.Error{Field: "to", Text: fmt.Sprintf("no owner on channel %q: add %q to owners in the configuration", channel, channel+":<user id>")}
}

// membersMax is how many members a lookup lists.
const membersMax = 200

// LookUp finds a conversation by id or name, and its members, at most 200. members is nil if the platform does not
// list them. It returns a *[request.Error] if the caller can correct the request.
func (r *Routes) LookUp(ctx context.Context, channel, account, to string) (route sessions.Route, members []sessions.Peer, err error) {
	route, err = r.Find(ctx, r.Settings(), Proactive{Channel: channel, Account: account, To: to})
	if err != nil {
		return route, nil, err
	}
	a, _ := r.Adapter(route.Channel, route.Account) // checked with the route
	directory, ok := a.(adapters.Directory)
	if !ok {
		return route, nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, findTimeout)
	defer cancel()
	members, err = directory.Members(ctx, route, membersMax)
	switch f := adapters.AsFailure(err); {
	case err == nil:
		return route, members, nil
	case f.Kind == adapters.Unsupported:
		return route, nil, nil
	case f.Kind == adapters.Permanent:
		return route, nil, &request.Error{Field: "to", Text: fmt.Sprintf("%q on channel %q has no members that can receive messages: %v", to, channel, f.Err)}
	}
	return route, nil, &request.Error{Field: "to", Text: fmt.Sprintf("the members of %q could not be looked up on channel %q: try again", to, channel)}
}

// Direct is the direct chat with a person. It asks the platform if direct chats have their own ids there.
func (r *Routes) Direct(ctx context.Context, a adapters.Adapter, id sessions.UserID) sessions.Route {
	route := sessions.Route{Channel: a.Channel(), Account: a.Account(), ChatType: sessions.Direct, Conversation: sessions.ConversationID(id)}
	directory, ok := a.(adapters.Directory)
	if !ok {
		return route
	}
	found, err := r.lookedUp(ctx, directory, string(id), route, nil)
	if err != nil {
		return route // the user's id may also be the chat's id; if not, the delivery fails visibly
	}
	return found
}
