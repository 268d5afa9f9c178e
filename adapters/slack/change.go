package slack

import (
	"cmp"
	"context"

	"sluice/adapters"
	"sluice/sessions"
)

// changed normalises an edit. Slack also reports a change, with the same text, when it adds the preview of a link or when
// the thread below a message grows.
func (n *reader) changed(ctx context.Context, me *self, e *event) (in adapters.Inbound, ok bool, err error) {
	now := e.Message
	if now == nil || now.TS == "" {
		return in, false, errMalformed
	}
	if now.Subtype == "tombstone" { // deleted, but its thread remains
		gone := *e
		gone.DeletedTS = now.TS
		return n.deleted(ctx, me, &gone)
	}
	if e.Previous != nil && e.Previous.source() == now.source() {
		return in, false, nil
	}
	edited := *now
	edited.Type, edited.Channel, edited.ChannelType, edited.unread = e.Type, e.Channel, e.ChannelType, e.unread
	in, ok, err = n.said(ctx, me, &edited)
	in.Event += "/edit/" + cmp.Or(now.Edited.TS, e.EventTS)
	if e.EventTS != "" {
		in.Event = e.Channel + "/" + now.TS + "/edit/" + e.EventTS // an edit's own time has whole seconds
	}
	in.Edited = true
	return in, ok, err
}

// deleted normalises the deletion of a message.
func (n *reader) deleted(ctx context.Context, me *self, e *event) (in adapters.Inbound, ok bool, err error) {
	if e.DeletedTS == "" {
		return in, false, errMalformed
	}
	was := &event{TS: e.DeletedTS}
	if e.Previous != nil {
		was = e.Previous
	}
	if was.mine(me) {
		return in, false, nil
	}
	in = adapters.Inbound{
		Event:     e.Channel + "/" + e.DeletedTS + "/delete",
		Route:     n.route(ctx, me, e.Channel, e.ChannelType),
		MessageID: sessions.PlatformMessageID(e.DeletedTS),
		Deleted:   true,
		SentAt:    momentOf(e.EventTS),
	}
	if was.User != "" || was.BotID != "" {
		in.Sender = n.sender(ctx, was)
	}
	in.Route.ReplyTo = in.MessageID
	_, meant := plain(was.Text, string(me.User), n.names.dictionary(ctx))
	in.Mentioned = in.Route.ChatType == sessions.Direct
	in.Route.Thread = n.thread(was, meant && !in.Mentioned)
	return in, true, nil
}

// reacted normalises a reaction. Slack does not name the thread of the message.
func (n *reader) reacted(ctx context.Context, me *self, e *event) (in adapters.Inbound, ok bool, err error) {
	if e.Item.Type != "message" || e.User == string(me.User) {
		return in, false, nil
	}
	if e.Item.Channel == "" || e.Item.TS == "" || e.Reaction == "" || e.User == "" {
		return in, false, errMalformed
	}
	in = adapters.Inbound{
		Event:     e.Item.Channel + "/" + e.Item.TS + "/" + e.Type + "/" + e.User + "/" + e.Reaction + "/" + e.EventTS,
		Route:     n.route(ctx, me, e.Item.Channel, e.ChannelType),
		Sender:    n.names.user(ctx, e.User),
		MessageID: sessions.PlatformMessageID(e.Item.TS),
		Reaction: &adapters.Reaction{
			Emoji: emojiOf(e.Reaction), Removed: e.Type == "reaction_removed", Own: e.ItemUser == string(me.User),
		},
		SentAt: momentOf(e.EventTS),
	}
	in.Route.ReplyTo = in.MessageID
	in.Mentioned = in.Route.ChatType == sessions.Direct || in.Reaction.Own
	return in, true, nil
}
