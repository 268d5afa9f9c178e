// Package people has the handler that says who speaks where: the owners, where people have spoken and by what right they may
// speak there now, and what the configuration says about who is heard on each channel.
package people

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/view"
	"sluice/internal/httpapi/wire"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/nodes"
	"sluice/router/place"
	"sluice/sessions"
)

const (
	// messagesMax is how many of the newest messages are read.
	messagesMax = 2000
	// bytesMax is how many bytes of them are read. Messages may be long.
	bytesMax = 16 << 20
	// peopleMax is how many people are listed.
	peopleMax = 200
	// placesMax is how many places are listed for each of them.
	placesMax = 10
)

// rightToken is the right of who speaks over the API or on the page.
const rightToken place.Right = "token"

// Rights says who may speak where, see [place.Places].
type Rights interface {
	RightOf(ctx context.Context, route sessions.Route, who sessions.Peer) (place.Right, error)
}

// Rows reads who has spoken and who may.
type Rows interface {
	Speakers(ctx context.Context, most flow.Level, limit int, b *ledger.Bound) ([]ledger.Spoken, error)
	ListPairings(ctx context.Context, channel, account string, status ledger.PairingStatus) ([]ledger.Pairing, error)
}

// API serves who speaks where.
type API struct {
	Visible  *view.Visibility
	Rights   Rights
	Settings func() *place.Settings
	Rows     Rows
	Page     string // the channel of the page and the API, where tokens decide who speaks
}

// spokenIn is a place where a person has spoken.
type spokenIn struct {
	Session  sessions.ID             `json:"session"`
	Account  string                  `json:"account,omitempty"`
	ChatType sessions.ChatType       `json:"chat_type"`
	Chat     sessions.ConversationID `json:"conversation"`
	Title    string                  `json:"title,omitempty"`
	Right    place.Right             `json:"right" enum:"owner,open,listed,role,paired,ask,none,token" doc:"by what the person may speak there now; role: with a role of the configuration; ask: not yet, but the person may ask; none: no longer"`
	Messages int                     `json:"messages" doc:"of the newest messages"`
	Last     time.Time               `json:"last"`
}

// speaker is a person who may speak, or has.
type speaker struct {
	Person  string        `json:"person" doc:"as rules name the person: <channel>:<user id>"`
	Channel string        `json:"channel"`
	User    sessions.Peer `json:"user"`
	Owner   bool          `json:"owner"`
	Account string        `json:"account,omitempty" doc:"of the approved request; absent without one"`
	Direct  place.Right   `json:"direct" enum:"owner,open,listed,role,paired,ask,none,token" doc:"by what the person may speak in a direct chat now"`
	Spoke   []spokenIn    `json:"spoke" doc:"where the person has spoken, the latest place first, at most 10"`

	met string // an account where the person is known, and which the caller may know of
}

// listedGroup is a group of the configuration, or the groups of a space.
type listedGroup struct {
	Kind    string   `json:"kind" enum:"group,space"`
	ID      string   `json:"id" doc:"*: every other group"`
	Mention bool     `json:"require_mention"`
	People  []string `json:"allow_from" doc:"empty, with no roles: everybody there"`
	Roles   []string `json:"allow_roles"`
}

// channelAccess says who may speak on a channel.
type channelAccess struct {
	Channel string             `json:"channel"`
	Direct  place.AccessPolicy `json:"direct" doc:"who may write in private: pairing, allowlist, open or disabled"`
	People  []string           `json:"allow_from"`
	Groups  place.AccessPolicy `json:"groups" doc:"in which groups: allowlist, open or disabled"`
	Bots    place.BotPolicy    `json:"bots,omitempty"`
	Listed  []listedGroup      `json:"listed" doc:"the groups and spaces of the configuration"`
}

// Speakers is who speaks where.
type Speakers struct {
	Owners   []string        `json:"owners"`
	People   []speaker       `json:"people" doc:"who has spoken last comes first, at most 200"`
	Channels []channelAccess `json:"channels"`
	More     bool            `json:"more,omitempty" doc:"there are more people, or older messages, than were looked at: the newest 2,000 messages, or 16 MiB of them"`
}

// Get answers who speaks where.
func (a *API) Get(ctx context.Context, _ *struct{}) (*wire.Body[Speakers], error) {
	if err := view.NeedOperator(ctx); err != nil {
		return nil, err
	}
	out := Speakers{Owners: []string{}, People: []speaker{}, Channels: []channelAccess{}}
	s := a.Settings()
	for _, name := range slices.Sorted(maps.Keys(s.Channels)) {
		if name != a.Page && name != nodes.Channel && a.Visible.ChannelSeen(ctx, name, "default") { // on these two, tokens decide
			out.Channels = append(out.Channels, channelOf(name, s.Channels[name]))
		}
	}
	found := &people{at: map[string]int{}}
	if err := a.spoken(ctx, found, &out.More); err != nil {
		return nil, err
	}
	approved, err := a.Rows.ListPairings(ctx, "", "", ledger.PairingApproved)
	if err != nil {
		return nil, err
	}
	for _, p := range approved {
		if !a.Visible.ChannelSeen(ctx, p.Channel, p.Account) {
			continue
		}
		if r := found.of(p.Channel, p.Account, p.User); r != nil {
			r.Account = cmp.Or(r.Account, p.Account)
		}
	}
	for _, owner := range s.Owners {
		channel, id, isPrincipal := sessions.ParsePrincipal(owner)
		if !isPrincipal || !a.Visible.ChannelSeen(ctx, channel, "default") {
			continue
		}
		out.Owners = append(out.Owners, owner)
		if r := found.of(channel, "default", sessions.Peer{ID: id}); r != nil {
			r.Owner = true
		}
	}
	out.More = out.More || found.more
	for i := range found.all {
		r := &found.all[i]
		if r.Direct, err = a.right(ctx, sessions.Route{Channel: r.Channel, Account: cmp.Or(r.Account, r.met), ChatType: sessions.Direct}, r.User); err != nil {
			return nil, err
		}
	}
	out.People = append(out.People, found.all...)
	return wire.NewBody(out), nil
}

// spoken adds who has spoken, as far as the caller may know of it.
func (a *API) spoken(ctx context.Context, found *people, more *bool) error {
	b := ledger.Bound{Bytes: bytesMax}
	spoken, err := a.Rows.Speakers(ctx, auth.CallerOf(ctx).Level, messagesMax, &b)
	*more = b.More
	for i := range spoken {
		one := &spoken[i]
		if one.Route.Channel == "" || !a.Visible.ChannelSeen(ctx, one.Route.Channel, one.Route.Account) {
			continue
		}
		r := found.of(one.Route.Channel, one.Route.Account, one.Who)
		switch {
		case r == nil:
		case len(r.Spoke) == placesMax:
			found.more = true
		default:
			right, err := a.right(ctx, one.Route, one.Who)
			if err != nil {
				return err
			}
			r.Spoke = append(r.Spoke, spokenIn{
				Session: one.Session, Account: one.Route.Account, ChatType: one.Route.ChatType, Chat: one.Route.Conversation, Title: one.Route.Title, Right: right, Messages: one.Count, Last: one.Last,
			})
		}
	}
	return err
}

// right returns the right by which a person may speak in a place.
func (a *API) right(ctx context.Context, route sessions.Route, who sessions.Peer) (place.Right, error) {
	if route.Channel == a.Page {
		return rightToken, nil
	}
	return a.Rights.RightOf(ctx, route, who)
}

// people are the people found, each once.
type people struct {
	all  []speaker
	at   map[string]int // by principal
	more bool           // some were left out
}

// of is the record of a person; nil if there are too many.
func (p *people) of(channel, account string, who sessions.Peer) *speaker {
	name := sessions.Principal(channel, who.ID)
	i, known := p.at[name]
	if !known {
		if len(p.all) == peopleMax {
			p.more = true
			return nil
		}
		i = len(p.all)
		p.at[name] = i
		p.all = append(p.all, speaker{Person: name, Channel: channel, User: who, Spoke: []spokenIn{}, met: account})
	}
	p.all[i].User.Name = cmp.Or(p.all[i].User.Name, who.Name)
	return &p.all[i]
}

func channelOf(name string, ch place.ChannelSettings) channelAccess {
	out := channelAccess{Channel: name, Direct: ch.DMPolicy, People: view.NotNil(ch.AllowFrom), Groups: ch.GroupPolicy, Bots: ch.AllowBots, Listed: []listedGroup{}}
	add := func(kind string, all map[string]place.GroupSettings) {
		for _, id := range slices.Sorted(maps.Keys(all)) {
			g := all[id]
			out.Listed = append(out.Listed, listedGroup{kind, id, g.RequireMention, view.NotNil(g.AllowFrom), view.NotNil(g.AllowRoles)})
		}
	}
	add("group", ch.Groups)
	add("space", ch.Spaces)
	return out
}
