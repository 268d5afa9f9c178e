package slack

import (
	"cmp"
	"context"
	"strings"

	"sluice/adapters"
	"sluice/sessions"
)

// reader converts Slack's events to those of the port. It is safe for concurrent use.
type reader struct {
	cfg   Config
	names *names
}

// normalise converts an item to an Inbound. ok is false for service messages, the bot's own messages, and items of other
// workspaces.
func (n *reader) normalise(ctx context.Context, me *self, it item) (in adapters.Inbound, ok bool, err error) {
	switch {
	case it.command != nil:
		return n.commanded(ctx, me, it.command)
	case it.press != nil:
		return n.pressed(ctx, me, it.press)
	case it.event == nil:
		return in, false, nil
	}
	e := it.event
	if n.foreign(me, e.team) {
		return in, false, nil
	}
	switch {
	case e.Type == "reaction_added" || e.Type == "reaction_removed":
		return n.reacted(ctx, me, e)
	case e.Subtype == "message_changed":
		return n.changed(ctx, me, e)
	case e.Subtype == "message_deleted":
		return n.deleted(ctx, me, e)
	}
	return n.said(ctx, me, e)
}

// foreign reports whether an item belongs to another workspace. An app in several workspaces receives the events of all of
// them on each socket.
func (n *reader) foreign(me *self, team string) bool {
	if team == "" || team == me.Team {
		return false
	}
	n.cfg.Log.Warn("ignored a slack event of another workspace: create a separate app for each workspace", "team", team)
	return true
}

// isMessage reports whether people or bots write messages of this kind. Other kinds report joins, topics and pins.
func isMessage(subtype string) bool {
	switch subtype {
	case "", "file_share", "bot_message", "thread_broadcast", "me_message":
		return true
	}
	return false
}

// mine reports whether the bot itself wrote a message.
func (e *event) mine(me *self) bool {
	return (e.User != "" && e.User == string(me.User)) || (e.BotID != "" && e.BotID == me.Bot)
}

// said normalises a message. Slack sends a mention of the bot as a second event, which gets the same name here.
func (n *reader) said(ctx context.Context, me *self, e *event) (in adapters.Inbound, ok bool, err error) {
	if !isMessage(e.Subtype) || e.mine(me) {
		return in, false, nil
	}
	if e.Channel == "" || e.TS == "" {
		return in, false, errMalformed
	}
	text, mentioned := n.words(ctx, me, e)
	in = adapters.Inbound{
		Event:       e.Channel + "/" + e.TS,
		Route:       n.route(ctx, me, e.Channel, e.ChannelType),
		Sender:      n.sender(ctx, e),
		Text:        text,
		Quotations:  n.quotations(ctx, me, e),
		Attachments: attachments(e.allFiles()),
		MessageID:   sessions.PlatformMessageID(e.TS),
		SentAt:      momentOf(e.TS),
	}
	direct := in.Route.ChatType == sessions.Direct
	in.Mentioned = mentioned || direct || e.Type == "app_mention" || e.ParentUser == string(me.User)
	in.Route.ReplyTo = in.MessageID
	in.Route.Thread = n.thread(e, in.Mentioned && !direct)
	in.OpensThread = in.Route.Thread != "" && string(in.Route.Thread) == e.TS
	if direct {
		in.Route.Title = in.Sender.Name
	}
	empty := in.Text == "" && len(in.Attachments) == 0 && len(in.Quotations) == 0 && !mentioned && e.unread == ""
	return in, !empty, nil
}

// thread returns the thread for the answer: the message's own thread, or a new one below a message that mentions the bot,
// if so configured. The root of a thread belongs to the channel.
func (n *reader) thread(e *event, meant bool) sessions.ThreadID {
	switch {
	case e.ThreadTS != "" && e.ThreadTS != e.TS:
		return sessions.ThreadID(e.ThreadTS)
	case meant && n.cfg.ReplyInThread:
		return sessions.ThreadID(e.TS)
	}
	return ""
}

// words returns the plain text of a message's sender.
func (n *reader) words(ctx context.Context, me *self, e *event) (text string, mentioned bool) {
	text, mentioned = plain(e.source(), string(me.User), n.names.dictionary(ctx))
	if !mentioned && e.BotID != "" { // people are notified by its text, although Slack shows its blocks
		mentioned = strings.Contains(e.Text, "<@"+string(me.User)+">")
	}
	return text, mentioned
}

func (n *reader) sender(ctx context.Context, e *event) sessions.Peer {
	if e.BotID == "" {
		return n.names.user(ctx, e.User)
	}
	name := cmp.Or(cmp.Or(e.Username, e.BotProfile.Name), e.BotID)
	return sessions.Peer{ID: sessions.UserID(cmp.Or(e.User, e.BotID)), Name: valid(name), Bot: true}
}

func (n *reader) route(ctx context.Context, me *self, channel, kind string) sessions.Route {
	r := sessions.Route{
		Channel: channelName, Account: n.cfg.Account, Space: me.Team,
		ChatType: chatType(channel, kind), Conversation: sessions.ConversationID(channel),
	}
	if r.ChatType != sessions.Direct {
		r.Title = n.names.channel(ctx, channel)
	}
	return r
}

// chatType returns the type of a conversation, from the event or from its id. A channel of Slack is a group: all members
// write there.
func chatType(id, kind string) sessions.ChatType {
	if kind == "im" || (kind == "" && strings.HasPrefix(id, "D")) {
		return sessions.Direct
	}
	return sessions.Group
}

// ConversationType derives the type of a conversation from its id. Ids of direct chats begin with D; ids that begin with U or
// W are people and not conversations.
func (a *Adapter) ConversationType(id sessions.ConversationID) sessions.ChatType {
	if isID(string(id), "UW") {
		return ""
	}
	return chatType(string(id), "")
}

// attachments returns the files of a message. Ref is the private URL, or the file's id if Slack withholds the URL.
func attachments(files []file) []sessions.Attachment {
	var out []sessions.Attachment
	for _, f := range files {
		if f.ID == "" && f.URL == "" {
			continue
		}
		out = append(out, sessions.Attachment{
			Kind: kindOf(f), Name: valid(f.Name), MIME: valid(f.MIME), Size: f.Size,
			Ref: cmp.Or(f.URL, f.ID), Duration: f.Duration / 1000,
		})
	}
	return out
}

func kindOf(f file) string {
	kind, _, _ := strings.Cut(f.MIME, "/")
	switch {
	case f.Subtype == "slack_audio":
		return "voice"
	case kind == "image":
		return "photo"
	case kind == "audio" || kind == "video":
		return kind
	}
	return "document"
}

// valid replaces invalid UTF-8.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
