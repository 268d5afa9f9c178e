package discord

import (
	"context"
	"time"

	"sluice/adapters"
	"sluice/sessions"
)

// onDeletion tells that messages were taken back. Discord doesn't say by whom.
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
		route, err := s.place(ctx, d.ChannelID, d.GuildID)
		if err != nil {
			return false
		}
		for _, id := range ids {
			route.ReplyTo = sessions.PlatformMessageID(id)
			in := adapters.Inbound{
				Event: d.ChannelID + "/" + id + "/delete", Route: route, MessageID: route.ReplyTo,
				Deleted: true, SentAt: now,
			}
			if !s.accept(ctx, in) {
				return false
			}
		}
		return true
	}
}

// onReaction tells that somebody put an emoji on a message, or took it off. seq names the
// event: nothing in it tells two of them apart.
func (s *shard) onReaction(r reaction, removed bool, seq string) work {
	self := s.self.Load()
	if r.UserID == "" || r.MessageID == "" || self != nil && r.UserID == self.ID {
		return nil
	}
	now := s.cfg.Now()
	return func(ctx context.Context) bool {
		route, err := s.place(ctx, r.ChannelID, r.GuildID)
		if err != nil {
			return false
		}
		route.ReplyTo = sessions.PlatformMessageID(r.MessageID)
		return s.accept(ctx, adapters.Inbound{
			Event:  r.ChannelID + "/" + r.MessageID + "/reaction/" + seq,
			Route:  route,
			Sender: r.sender(), Roles: r.Member.roles(), MessageID: route.ReplyTo, SentAt: now,
			Reaction: &adapters.Reaction{Emoji: r.emoji(), Removed: removed, Own: r.own(s)},
		})
	}
}

func (r *reaction) own(s *shard) bool {
	self := s.self.Load()
	return self != nil && r.AuthorID == self.ID || s.posted.is(r.MessageID)
}

func (r *reaction) sender() sessions.Peer {
	if r.Member == nil || r.Member.User == nil {
		return sessions.Peer{ID: sessions.UserID(r.UserID)}
	}
	return peer(r.Member.User, r.Member)
}

// emoji is the character, or "name:id" for one of a guild's own.
func (r *reaction) emoji() string {
	if r.Emoji.ID == "" {
		return valid(r.Emoji.Name)
	}
	return valid(r.Emoji.Name) + ":" + r.Emoji.ID
}

// idTime is when something with this id was made.
func idTime(id string, otherwise time.Time) time.Time {
	n, ok := number(id)
	if !ok {
		return otherwise
	}
	return time.UnixMilli(int64(n>>22) + discordEpoch)
}
