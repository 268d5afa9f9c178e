package discord

import (
	"context"
	"time"

	"sluice/adapters"
	"sluice/sessions"
)

// onDeletion reports deleted messages. Discord does not say who deleted them.
func (s *shard) onDeletion(d deletion) work {
	ids := d.IDs
	if d.ID != "" {
		ids = append(ids, d.ID)
	}
	if len(ids) == 0 || d.ChannelID == "" {
		return nil
	}
	now := s.cfg.Now()
	return func(ctx context.Context) bool {
		route, err := s.inbox.place(ctx, d.ChannelID, d.GuildID)
		if err != nil {
			return false
		}
		for _, id := range ids {
			route.ReplyTo = sessions.PlatformMessageID(id)
			in := adapters.Inbound{
				Event: d.ChannelID + "/" + id + "/delete", Route: route, MessageID: route.ReplyTo,
				Deleted: true, SentAt: now,
			}
			if !s.inbox.accept(ctx, in) {
				return false
			}
		}
		return true
	}
}

// onReaction reports a reaction that was added or removed. seq is part of the event's name, because the event itself has no
// id.
func (s *shard) onReaction(r reaction, removed bool, seq string) work {
	self := s.bot.self.Known()
	if r.UserID == "" || r.MessageID == "" || self != nil && r.UserID == self.ID {
		return nil
	}
	now := s.cfg.Now()
	return func(ctx context.Context) bool {
		route, err := s.inbox.place(ctx, r.ChannelID, r.GuildID)
		if err != nil {
			return false
		}
		route.ReplyTo = sessions.PlatformMessageID(r.MessageID)
		who := s.lookup.reactor(ctx, &r, route.Space)
		return s.inbox.accept(ctx, adapters.Inbound{
			Event:  r.ChannelID + "/" + r.MessageID + "/reaction/" + seq,
			Route:  route,
			Sender: who.peer, Roles: who.roles, MessageID: route.ReplyTo, SentAt: now,
			Reaction: &adapters.Reaction{Emoji: r.emoji(), Removed: removed, Own: r.own(s)},
		})
	}
}

func (r *reaction) own(s *shard) bool {
	self := s.bot.self.Known()
	return self != nil && r.AuthorID == self.ID || s.posted.is(r.MessageID)
}

// person is a member of a guild, or a person in a direct chat, who has no roles.
type person struct {
	peer  sessions.Peer
	roles []string
}

// reactor returns the person who added or removed a reaction. Only the event of a reaction that is added in a guild has the
// member. Others are looked up each time, because their roles decide what they may do. If the lookup fails, the person
// has only the id, and no roles.
func (l *lookup) reactor(ctx context.Context, r *reaction, guildID string) person {
	if r.Member != nil && r.Member.User != nil {
		return person{peer(r.Member.User, r.Member), r.Member.roles()}
	}
	who, err := l.askPerson(ctx, r, guildID)
	if err != nil {
		l.cfg.Log.Warn("discord did not return who reacted; using the id", "user", r.UserID, "error", err)
	}
	if who.peer.ID == "" {
		return person{peer: sessions.Peer{ID: sessions.UserID(r.UserID)}}
	}
	return who
}

// askPerson asks Discord for the member of a guild, or for the other person of a direct chat, whom its channel names.
func (l *lookup) askPerson(ctx context.Context, r *reaction, guildID string) (person, error) {
	if guildID != "" {
		m := member{}
		err := l.api.optional(ctx, at("/guilds/{}/members/{}", guildID, r.UserID), &m)
		if m.User == nil {
			return person{}, err
		}
		return person{peer(m.User, &m), m.roles()}, err
	}
	if c, ok := l.places.channel(r.ChannelID); ok {
		for i := range c.Recipients {
			if c.Recipients[i].ID == r.UserID {
				return person{peer: peer(&c.Recipients[i], nil)}, nil
			}
		}
	}
	u := user{}
	err := l.api.optional(ctx, at("/users/{}", r.UserID), &u)
	return person{peer: peer(&u, nil)}, err
}

// emoji is the character, or "name:id" for one of a guild's own.
func (r *reaction) emoji() string {
	if r.Emoji.ID == "" {
		return valid(r.Emoji.Name)
	}
	return valid(r.Emoji.Name) + ":" + r.Emoji.ID
}

// idTime returns the time at which an id was made.
func idTime(id string, otherwise time.Time) time.Time {
	n, ok := number(id)
	if !ok {
		return otherwise
	}
	return time.UnixMilli(int64(n>>22) + discordEpoch)
}
