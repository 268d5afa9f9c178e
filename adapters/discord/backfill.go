package discord

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"sluice/sessions"
)

// Bounds of what is fetched after an outage.
const (
	maxMissed  = 100             // messages of a channel in one call
	maxCalls   = 10              // for one channel; later messages are not answered
	missedAge  = 24 * time.Hour  // older messages are not answered
	maxFetches = 4               // channels at a time
	fetchTime  = 2 * time.Minute // for one channel, with all retries: new messages wait behind it
)

// catchUp fetches the messages of a channel that are newer than the last stored one and passes them to the acceptor,
// oldest first. Events that waited in the channel's lane since before the outage are stored by then. A deleted channel has no
// messages. It reports whether the channel is done: all messages are stored, or can't be fetched.
func (s *shard) catchUp(ctx context.Context, channelID string) bool {
	select {
	case s.fetches <- struct{}{}:
		defer func() { <-s.fetches }()
	case <-ctx.Done():
		return false
	}
	missed, err := s.missed(ctx, channelID, s.inbox.cursors.place(channelID))
	if err != nil {
		s.cfg.Log.Error("could not fetch the discord messages sent during an outage", "conversation", channelID, "error", err)
		return ctx.Err() == nil
	}
	self := s.bot.self.Known()
	for i := range missed {
		m := &missed[i]
		if m.Author != nil && m.Author.ID == self.ID {
			s.posted.note(m.ID, m.nonce())
			continue
		}
		if !s.inbox.take(ctx, m, false) {
			return false
		}
	}
	return true
}

// missed returns the messages in a channel of this shard after a given one, oldest first.
func (s *shard) missed(ctx context.Context, channelID, last string) (missed []message, err error) {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	err = s.api.retry(ctx, "fetch what was missed", func(ctx context.Context) error {
		route, err := s.lookup.route(ctx, channelID, "")
		if err != nil || !s.owns(route) {
			return err
		}
		if missed, err = s.after(ctx, channelID, last); err != nil {
			return err
		}
		return s.complete(ctx, missed, route.Space)
	})
	return missed, err
}

// owns reports whether this shard receives the events of a place: those of a guild's shard, and direct chats on the first.
func (s *shard) owns(r sessions.Route) bool {
	if r.Space == "" {
		return s.id == 0
	}
	guildID, err := strconv.ParseUint(r.Space, 10, 64)
	return err == nil && guildID>>22%uint64(s.of) == uint64(s.id)
}

// after returns the recent messages of a channel after a given one.
func (s *shard) after(ctx context.Context, channelID, last string) (all []message, err error) {
	if oldest := snowflake(s.cfg.Now().Add(-missedAge)); later(oldest, last) {
		last = oldest
	}
	for range maxCalls {
		page, end, err := s.messages.history(ctx, channelID, last)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if end || len(page) == 0 {
			return all, nil
		}
		last = page[len(page)-1].ID
	}
	s.cfg.Log.Warn("a discord channel received more messages during an outage than can be fetched", "conversation", channelID, "fetched", len(all))
	return all, nil
}

// history returns a page of a channel's messages after an id, oldest first, without unreadable ones. last: it is the last page.
func (ms *messages) history(ctx context.Context, channelID, after string) (page []message, last bool, err error) {
	req := request{
		method: http.MethodGet, path: at("/channels/{}/messages", channelID),
		query: url.Values{"after": {after}, "limit": {strconv.Itoa(maxMissed)}}.Encode(),
	}
	var raw []json.RawMessage
	if err := ms.api.call(ctx, req, &raw); err != nil {
		return nil, false, err
	}
	page = make([]message, 0, len(raw))
	for _, r := range raw {
		m, err := ms.readMessage("history", r)
		if err != nil {
			ms.malformed(r, err)
			continue
		}
		page = append(page, m)
	}
	slices.SortFunc(page, byID)
	return page, len(raw) < maxMissed, nil
}

// byID orders messages by their age.
func byID(a, b message) int {
	switch {
	case a.ID == b.ID:
		return 0
	case later(a.ID, b.ID):
		return 1
	}
	return -1
}

// complete adds to fetched messages their guild and the roles of their writers.
func (s *shard) complete(ctx context.Context, page []message, guildID string) error {
	if guildID == "" {
		return nil
	}
	members := map[string]*member{}
	for i := range page {
		m := &page[i]
		m.GuildID = guildID
		if m.Author == nil || m.WebhookID != "" || m.Author.ID == s.bot.self.Known().ID {
			continue
		}
		if members[m.Author.ID] == nil {
			found := &member{}
			if err := s.api.optional(ctx, at("/guilds/{}/members/{}", guildID, m.Author.ID), found); err != nil {
				return err
			}
			members[m.Author.ID] = found
		}
		m.Member = members[m.Author.ID]
	}
	return nil
}
