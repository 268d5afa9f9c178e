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

// dispatch takes one event of the gateway. What only teaches something is
// done at once; what goes to the acceptor is put into its channel's lane.
func (s *shard) dispatch(ctx context.Context, c *connection, f frame) error {
	s.state.event()
	switch f.Type {
	case "READY":
		return s.onReady(ctx, c, f)
	case "RESUMED":
		s.position().take(f.Seq)()
	}
	if !s.ready { // what was missed comes before RESUMED
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

// queue puts work into a lane. While it waits for room, the connection isn't read.
func (s *shard) queue(c *connection, key string, do func(context.Context)) error {
	c.stalled.Store(true)
	defer c.stalled.Store(false)
	defer c.acked.Store(true) // an answer may have waited behind what was not read
	return s.lanes.push(key, do)
}

// work is what a lane does for an event; it reports whether the event is done with.
type work func(ctx context.Context) bool

// prepare reads an event: what to do in which channel's lane, or nil for nothing more.
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

// usable is the error of an event about which nothing can be done because of what could not be read of it.
func usable(do work, unread string, err error) error {
	if err == nil && do == nil && unread != "" {
		return fmt.Errorf("the event cannot be used without %s", unread)
	}
	return err
}

// readMessage reads a message as far as it can be read. One without its ids is an error: nothing could tell it from others.
func (ms *messages) readMessage(kind string, raw []byte) (m message, err error) {
	m.unread, err = ms.decode(kind, raw, &m)
	if err == nil && (m.ID == "" || m.ChannelID == "") {
		err = errNameless
	}
	return m, err
}

// errNameless: a message that can't be told from others.
var errNameless = errors.New("the message has no id or no channel id")

// decode reads what Discord sent as far as it can be read, and records what is left out.
func (ms *messages) decode(kind string, raw []byte, v any) (unread string, err error) {
	unread, err = adapters.Decode(raw, v)
	if unread != "" {
		ms.metrics.event(ms.cfg.Account, outcomePartial)
		ms.cfg.Log.Warn("discord event read in part: a field has an unexpected type", "kind", valid(kind), "field", unread, "event", excerpt(raw), "bytes", len(raw))
	}
	return unread, err
}

// onMessage is nil for what says nothing to the agent: the bot's own words, and
// updates that only show a link's preview.
func (s *shard) onMessage(m *message, edited bool) work {
	self := s.bot.self.Load()
	if m.Author != nil && self != nil && m.Author.ID == self.ID {
		s.posted.note(m.ID, m.nonce())
		return nil
	}
	if _, _, changed := m.edited(); edited && (!changed || m.Content == nil && m.unread == "") {
		return nil
	}
	return func(ctx context.Context) bool { return s.inbox.take(ctx, m, edited) }
}

// take brings a message to the acceptor, and then moves the channel's place.
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

// understand normalises, trying again where a question to Discord fails. done is false when ctx ends. A message on
// which it panics is stepped over: it would do so again.
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

// offer gives an event to the acceptor once. A panic there is its failure.
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

// interactionToken finds the tokens that let anyone answer in the bot's place.
var interactionToken = pattern.New(`("token"\s*:\s*")[^"]*`)

// malformed records what can't be read, before it is stepped over.
func (ms *messages) malformed(raw []byte, why error) {
	ms.metrics.event(ms.cfg.Account, outcomeMalformed)
	ms.cfg.Log.Error("malformed discord event skipped", "error", why, "event", excerpt(raw), "bytes", len(raw))
}

// excerpt is the beginning of an event for the log, without what answers an interaction.
func excerpt(raw []byte) string {
	const most = 2000
	text := interactionToken.Regexp().ReplaceAll(raw, []byte("${1}<secret>"))
	return valid(string(text[:min(len(text), most)]))
}
