package discord

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/bwmarrin/discordgo"

	"sluice/adapters"
	"sluice/sessions"
)

// Bounds of a search by name.
const (
	maxSearched = 20   // guilds
	maxMembers  = 1000 // Discord's own, of one page
)

var (
	errNobodyThere = errors.New("no channel or person of this name is in the bot's servers")
	errAmbiguous   = errors.New("several channels or people have this name: use the id")
	errNoMembers   = errors.New("discord shows the members of a server only to bots with the Server Members intent")
)

// directory finds channels and people by name.
type directory struct {
	api    *api
	lookup *lookup
}

// Find resolves "#channel", "@user name", a channel's or a user's id. For a person it opens the direct chat.
// A name that several channels or people have is refused.
func (a *Adapter) Find(ctx context.Context, name string) (sessions.Route, error) {
	switch {
	case isID(name):
		return a.directory.byID(ctx, name)
	case strings.HasPrefix(name, "#") && len(name) > 1:
		return a.directory.search(ctx, func(guildID string) ([]string, error) { return a.directory.channelsNamed(ctx, guildID, name[1:]) }, a.directory.placeOf)
	case strings.HasPrefix(name, "@") && len(name) > 1:
		return a.directory.search(ctx, func(guildID string) ([]string, error) { return a.directory.peopleNamed(ctx, guildID, name[1:]) }, a.directory.openDirect)
	}
	return sessions.Route{}, permanent(fmt.Errorf("find %q: %w", valid(name), errNobodyThere))
}

// byID opens the channel with an id or, if no channel has it, the person's direct chat: an id does not show its kind.
func (d *directory) byID(ctx context.Context, id string) (sessions.Route, error) {
	if _, ok := d.lookup.places.channel(id); ok {
		return d.lookup.route(ctx, id, "")
	}
	var c channel
	switch err := d.api.call(ctx, request{method: http.MethodGet, path: at("/channels/{}", id)}, &c); {
	case err == nil:
		c.ID = id
		d.lookup.places.putChannel(c)
		return d.lookup.route(ctx, id, "")
	case adapters.AsFailure(err).Kind == adapters.Permanent:
		return d.openDirect(ctx, id)
	default:
		return sessions.Route{}, err
	}
}

// search looks in the bot's guilds for the only id that in returns, and opens it with open.
func (d *directory) search(ctx context.Context, in func(guildID string) ([]string, error), open func(context.Context, string) (sessions.Route, error)) (sessions.Route, error) {
	guilds, err := d.guilds(ctx)
	if err != nil {
		return sessions.Route{}, err
	}
	found := map[string]bool{}
	for _, g := range guilds {
		ids, err := in(g.ID)
		if err != nil {
			return sessions.Route{}, err
		}
		for _, id := range ids {
			found[id] = true
		}
	}
	if len(found) > 1 {
		return sessions.Route{}, permanent(errAmbiguous)
	}
	for id := range found {
		return open(ctx, id)
	}
	return sessions.Route{}, permanent(errNobodyThere)
}

func (d *directory) guilds(ctx context.Context) ([]guild, error) {
	var all []guild
	err := d.api.call(ctx, request{method: http.MethodGet, path: at("/users/@me/guilds"), query: "limit=" + strconv.Itoa(maxSearched)}, &all)
	return all, err
}

func (d *directory) channelsNamed(ctx context.Context, guildID, name string) ([]string, error) {
	var all []channel
	if err := d.api.optional(ctx, at("/guilds/{}/channels", guildID), &all); err != nil {
		return nil, err
	}
	var ids []string
	for _, c := range all {
		if strings.EqualFold(c.Name, name) && c.Type != discordgo.ChannelTypeGuildCategory {
			c.GuildID = guildID
			d.lookup.places.putChannel(c)
			ids = append(ids, c.ID)
		}
	}
	return ids, nil
}

func (d *directory) placeOf(ctx context.Context, channelID string) (sessions.Route, error) {
	return d.lookup.route(ctx, channelID, "")
}

func (d *directory) peopleNamed(ctx context.Context, guildID, name string) ([]string, error) {
	var all []member
	req := request{
		method: http.MethodGet, path: at("/guilds/{}/members/search", guildID),
		query: url.Values{"query": {name}, "limit": {"10"}}.Encode(),
	}
	if err := d.api.call(ctx, req, &all); err != nil && adapters.AsFailure(err).Kind != adapters.Permanent {
		return nil, err
	}
	var ids []string
	for _, m := range all {
		if m.User != nil && (strings.EqualFold(m.User.Username, name) || strings.EqualFold(m.Nick, name) || strings.EqualFold(m.User.GlobalName, name)) {
			ids = append(ids, m.User.ID)
		}
	}
	return ids, nil
}

// openDirect returns the direct chat with a person, and creates it if necessary.
func (d *directory) openDirect(ctx context.Context, userID string) (sessions.Route, error) {
	var c channel
	req := request{method: http.MethodPost, path: at("/users/@me/channels"), body: map[string]string{"recipient_id": userID}}
	if err := d.api.call(ctx, req, &c); err != nil {
		return sessions.Route{}, err
	}
	if !isID(c.ID) {
		return sessions.Route{}, asFailure(req, &lostError{Sent: true, Err: errNoConversation})
	}
	d.lookup.places.putChannel(c)
	route, err := d.lookup.route(ctx, c.ID, "")
	route.Peer = sessions.UserID(userID)
	return route, err
}

// Members lists the members of a conversation: the people of a direct chat, the members of a thread, or the members of the
// server. The last two need the Server Members intent.
func (a *Adapter) Members(ctx context.Context, route sessions.Route, limit int) ([]sessions.Peer, error) {
	id, err := target(route)
	if err != nil {
		return nil, err
	}
	c, err := a.lookup.channel(ctx, id, route.Space)
	if err != nil {
		return nil, err
	}
	limit = min(max(1, limit), maxMembers)
	switch {
	case c.GuildID == "":
		return peers(c.Recipients, limit), nil
	case isThread(c):
		return a.directory.threadMembers(ctx, id, limit)
	}
	var all []member
	err = a.api.call(ctx, request{method: http.MethodGet, path: at("/guilds/{}/members", c.GuildID), query: "limit=" + strconv.Itoa(limit)}, &all)
	return memberPeers(all), membersFailure(err)
}

func (d *directory) threadMembers(ctx context.Context, id string, limit int) ([]sessions.Peer, error) {
	var joined []struct {
		Member member `json:"member"`
	}
	query := url.Values{"with_member": {"true"}, "limit": {strconv.Itoa(min(limit, 100))}}.Encode()
	err := d.api.call(ctx, request{method: http.MethodGet, path: at("/channels/{}/thread-members", id), query: query}, &joined)
	all := make([]member, 0, len(joined))
	for _, j := range joined {
		all = append(all, j.Member)
	}
	return memberPeers(all), membersFailure(err)
}

// membersFailure suggests what to do if Discord does not list the members.
func membersFailure(err error) error {
	refused, ok := errors.AsType[*apiError](err)
	if ok && refused.Status == http.StatusForbidden {
		return permanent(fmt.Errorf("%w: %w", errNoMembers, err))
	}
	return err
}

func peers(users []user, limit int) []sessions.Peer {
	out := make([]sessions.Peer, 0, len(users))
	for i := range users[:min(limit, len(users))] {
		out = append(out, peer(&users[i], nil))
	}
	return out
}

func memberPeers(all []member) []sessions.Peer {
	out := make([]sessions.Peer, 0, len(all))
	for i := range all {
		if all[i].User != nil {
			out = append(out, peer(all[i].User, &all[i]))
		}
	}
	return out
}
