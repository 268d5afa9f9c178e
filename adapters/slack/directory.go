package slack

import (
	"context"
	"fmt"
	"strings"

	slackapi "github.com/slack-go/slack"

	"sluice/adapters"
	"sluice/sessions"
)

const (
	directoryPage  = 200 // what Slack recommends
	directoryPages = 100 // 20,000 people or channels; further ones are found only by their ids
)

// directory finds people and channels by name.
type directory struct {
	web    *web
	reader *reader
}

// Find resolves "#name", "@name", a person's id or a conversation's id to the conversation to write to.
func (a *Adapter) Find(ctx context.Context, name string) (sessions.Route, error) {
	me, err := a.bot.whoami(ctx)
	if err != nil {
		return sessions.Route{}, err
	}
	switch {
	case strings.HasPrefix(name, "#"):
		return a.directory.findChannel(ctx, me, name[1:])
	case strings.HasPrefix(name, "@"):
		return a.directory.findPerson(ctx, me, name[1:])
	case isID(name, "UW"):
		return a.directory.openDirect(ctx, me, name)
	case isID(name, "CGD"):
		return a.reader.route(ctx, me, name, ""), nil
	}
	return sessions.Route{}, notFound(name)
}

func notFound(name string) *adapters.Failure {
	return permanent(fmt.Errorf("slack has no %q that the app can see: use #channel, @person or an id", name))
}

// isID reports whether a text looks like an id that begins with one of the letters.
func isID(text, letters string) bool {
	if len(text) < 2 || !strings.Contains(letters, text[:1]) {
		return false
	}
	return !strings.ContainsFunc(text, func(r rune) bool { return (r < 'A' || r > 'Z') && (r < '0' || r > '9') })
}

func (d *directory) findChannel(ctx context.Context, me *self, name string) (sessions.Route, error) {
	params := slackapi.GetConversationsParameters{
		Types: []string{"public_channel", "private_channel"}, ExcludeArchived: true, Limit: directoryPage,
	}
	for range directoryPages {
		var page []slackapi.Channel
		err := d.web.call(ctx, paceKey{method: "conversations.list"}, func(ctx context.Context) (err error) {
			page, params.Cursor, err = d.web.api.GetConversationsContext(ctx, &params)
			return err
		})
		if err != nil {
			return sessions.Route{}, err
		}
		for i := range page {
			if strings.EqualFold(page[i].Name, name) {
				return d.reader.route(ctx, me, page[i].ID, ""), nil
			}
		}
		if params.Cursor == "" {
			break
		}
	}
	return sessions.Route{}, notFound("#" + name)
}

// findPerson looks for a display name or a user name.
func (d *directory) findPerson(ctx context.Context, me *self, name string) (sessions.Route, error) {
	people := d.web.api.GetUsersPaginated(slackapi.GetUsersOptionLimit(directoryPage))
	for range directoryPages {
		err := d.web.call(ctx, paceKey{method: "users.list"}, func(ctx context.Context) (err error) {
			people, err = people.Next(ctx)
			if people.Done(err) {
				return nil
			}
			return err
		})
		if err != nil {
			return sessions.Route{}, err
		}
		for i := range people.Users {
			if called(&people.Users[i], name) {
				return d.openDirect(ctx, me, people.Users[i].ID)
			}
		}
		if people.Cursor == "" {
			break
		}
	}
	return sessions.Route{}, notFound("@" + name)
}

func called(u *slackapi.User, name string) bool {
	if u.Deleted {
		return false
	}
	for _, known := range []string{u.Name, u.Profile.DisplayName, u.RealName} {
		if known != "" && strings.EqualFold(known, name) {
			return true
		}
	}
	return false
}

func (d *directory) openDirect(ctx context.Context, me *self, user string) (sessions.Route, error) {
	var channel *slackapi.Channel
	err := d.web.call(ctx, paceKey{method: "conversations.open"}, func(ctx context.Context) (err error) {
		channel, _, _, err = d.web.api.OpenConversationContext(ctx, &slackapi.OpenConversationParameters{Users: []string{user}, ReturnIM: true})
		return err
	})
	if err != nil {
		return sessions.Route{}, err
	}
	route := d.reader.route(ctx, me, channel.ID, "im")
	route.Peer = sessions.UserID(user)
	route.Title = d.reader.names.user(ctx, user).Name
	return route, nil
}

// Members lists the members of a conversation, including bots, at most limit.
func (a *Adapter) Members(ctx context.Context, route sessions.Route, limit int) ([]sessions.Peer, error) {
	params := slackapi.GetUsersInConversationParameters{ChannelID: string(route.Conversation)}
	var members []sessions.Peer
	for len(members) < limit {
		params.Limit = min(limit-len(members), directoryPage)
		var page []string
		err := a.web.call(ctx, paceKey{method: "conversations.members"}, func(ctx context.Context) (err error) {
			page, params.Cursor, err = a.web.api.GetUsersInConversationContext(ctx, &params)
			return err
		})
		if err != nil {
			return nil, err
		}
		for _, id := range page[:min(len(page), limit-len(members))] {
			members = append(members, a.reader.names.user(ctx, id))
		}
		if params.Cursor == "" {
			break
		}
	}
	return members, nil
}
