package discord

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strconv"

	"sluice/adapters"
	"sluice/internal/faultpoint"
	"sluice/internal/pattern"
)

// dispatch handles one event of the gateway. Events that only update what is known of guilds and channels are handled at
// once. Events for the acceptor go into the lane of their channel.
func (s *shard) dispatch(ctx context.Context, c *connection, f frame) error {
	s.state.Event()
	switch f.Type {
	case "READY":
		return s.onReady(ctx, c, f)
	case "RESUMED":
		s.position().take(f.Seq)()
	}
	if !s.ready { // missed events arrive before RESUMED
		s.established("resumed")
	}
	if f.Type == "RESUMED" {
		return nil
	}
	finish := s.position().take(f.Seq)
	key, do, err := s.prepare(f)
	if err != nil {
		s.messages.malformed(f.Data, fmt.Errorf("%s: %w", valid(f.Type), err))
	}
	if do == nil {
		finish()
		return nil
	}
	return s.queue(c, key, func(ctx context.Context) {
		if do(ctx) {
			finish()
		}
	})
}

// queue puts work into a lane. While the lane is full, the connection is not read.
func (s *shard) queue(c *connection, key string, do func(context.Context)) error {
	c.stalled.Store(true)
	defer c.stalled.Store(false)
	defer c.acked.Store(true) // a heartbeat's answer may have waited unread
	return s.lanes.push(key, do)
}

// work handles an event in a lane, and reports whether the event is done.
type work func(ctx context.Context) bool

// prepare reads an event. It returns a channel and the work for the channel's lane, or nil if the event is done.
func (s *shard) prepare(f frame) (key string, do work, err error) {
	switch f.Type {
	case "MESSAGE_CREATE", "MESSAGE_UPDATE":
		m, err := s.messages.readMessage(f.Type, f.Data)
		if err != nil {
			return "", nil, err
		}
		return m.ChannelID, s.onMessage(&m, f.Type == "MESSAGE_UPDATE"), nil
	case "MESSAGE_DELETE", "MESSAGE_DELETE_BULK":
		var d deletion
		unread, err := s.messages.decode(f.Type, f.Data, &d)
		do = s.onDeletion(d)
		return d.ChannelID, do, usable(do, unread, err)
	case "MESSAGE_REACTION_ADD", "MESSAGE_REACTION_REMOVE":
		var r reaction
		unread, err := s.messages.decode(f.Type, f.Data, &r)
		do = s.onReaction(r, f.Type == "MESSAGE_REACTION_REMOVE", s.position().session+"/"+strconv.FormatInt(f.Seq, 10))
		return r.ChannelID, do, usable(do, unread, err)
	case "INTERACTION_CREATE":
		var i interaction
		unread, err := s.messages.decode(f.Type, f.Data, &i)
		i.unread = unread
		do = s.onInteraction(&i)
		return i.ChannelID, do, usable(do, unread, err)
	}
	return "", nil, s.learn(f)
}

// usable returns an error for an event that can't be handled because of its unreadable parts.
func usable(do work, unread string, err error) error {
	if err == nil && do == nil && unread != "" {
		return fmt.Errorf("the event cannot be used without %s", unread)
	}
	return err
}

// readMessage reads a message as far as possible. A message without its ids is an error, because it can't be identified.
func (ms *messages) readMessage(kind string, raw []byte) (m message, err error) {
	m.unread, err = ms.decode(kind, raw, &m)
	if err == nil && (m.ID == "" || m.ChannelID == "") {
		err = errNameless
	}
	return m, err
}

// errNameless means that a message can't be identified.
var errNameless = errors.New("the message has no id or no channel id")

// decode reads data of Discord as far as possible, and records the parts that it left out.
func (ms *messages) decode(kind string, raw []byte, v any) (unread string, err error) {
	unread, err = adapters.Decode(raw, v)
	if unread != "" {
		ms.metrics.event(ms.cfg.Account, outcomePartial)
		ms.cfg.Log.Warn("discord event read in part: a field has an unexpected type", "kind", valid(kind), "field", unread, "event", excerpt(raw), "bytes", len(raw))
	}
	return unread, err
}

// onMessage returns nil for messages that are not for the agent: those of the bot itself, and updates that only add the
// preview of a link.
func (s *shard) onMessage(m *message, edited bool) work {
	self := s.bot.self.Known()
	if m.Author != nil && self != nil && m.Author.ID == self.ID {
		s.posted.note(m.ID, m.nonce())
		return nil
	}
	if _, _, changed := m.edited(); edited && (!changed || m.Content == nil && m.unread == "") {
		return nil
	}
	return func(ctx context.Context) bool { return s.inbox.take(ctx, m, edited) }
}

// take passes a message to the acceptor, and then moves the channel's position.
func (b *inbox) take(ctx context.Context, m *message, edited bool) bool {
	in, ok, done := b.understand(ctx, m, edited)
	if !done {
		return false
	}
	if !ok {
		b.metrics.event(b.cfg.Account, outcomeIgnored)
		return true
	}
	if edited {
		return b.accept(ctx, in)
	}
	err := b.api.retry(ctx, "store the position in a new channel", func(ctx context.Context) error {
		return b.cursors.addChannel(ctx, m.ChannelID, m.ID)
	})
	if err != nil {
		return false
	}
	faultpoint.Hit(faultpoint.PollBeforeAccept)
	if !b.accept(ctx, in) {
		return false
	}
	b.cursors.move(m.ChannelID, m.ID)
	return true
}

// understand normalises a message and retries failed calls to Discord. done is false if ctx ends. A message that
// causes a panic is skipped, because it would panic again.
func (b *inbox) understand(ctx context.Context, m *message, edited bool) (in adapters.Inbound, ok, done bool) {
	defer func() {
		if p := recover(); p != nil {
			b.messages.malformed([]byte(m.ChannelID+"/"+m.ID), fmt.Errorf("%w: %v\n%s", errPanic, p, debug.Stack()))
			ok, done = false, true
		}
	}()
	err := b.api.retry(ctx, "read message", func(ctx context.Context) (err error) {
		in, ok, err = b.messages.normalise(ctx, m, edited)
		return err
	})
	return in, ok, err == nil
}

// offer passes an event to the acceptor once. A panic of the acceptor counts as a failure.
func (b *inbox) offer(ctx context.Context, in adapters.Inbound) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("accept %s: %w: %v\n%s", in.Event, errPanic, p, debug.Stack())
		}
	}()
	done, err := b.turns.take(ctx, in.Route.Conversation)
	if err != nil {
		return err
	}
	defer done()
	if err := b.in.Accept(ctx, in); err != nil {
		return &adapters.Failure{Kind: adapters.Transient, Err: fmt.Errorf("accept %s: %w", in.Event, err)}
	}
	return nil
}

// interactionToken matches tokens with which anyone can answer as the bot.
var interactionToken = pattern.New(`("token"\s*:\s*")[^"]*`)

// malformed records an unreadable event before it is skipped.
func (ms *messages) malformed(raw []byte, why error) {
	ms.metrics.event(ms.cfg.Account, outcomeMalformed)
	ms.cfg.Log.Error("malformed discord event skipped", "error", why, "event", excerpt(raw), "bytes", len(raw))
}

// excerpt returns the beginning of an event for the log, without the tokens of interactions.
func excerpt(raw []byte) string {
	const most = 2000
	text := interactionToken.Regexp().ReplaceAll(raw, []byte("${1}<secret>"))
	return valid(string(text[:min(len(text), most)]))
}
