package slack

import (
	"cmp"
	"context"
	"strings"

	"sluice/adapters"
	"sluice/sessions"
)

// commanded normalises a slash command. Only its sender sees the answer: the route's handle is Slack's response_url, which
// is valid for half an hour.
func (n *reader) commanded(ctx context.Context, me *self, c *command) (in adapters.Inbound, ok bool, err error) {
	if n.foreign(me, c.Team) {
		return in, false, nil
	}
	text, _ := plain(n.commandLine(c), string(me.User), n.names.dictionary(ctx))
	in = adapters.Inbound{
		Event:     c.Channel + "/command/" + c.Trigger,
		Route:     n.route(ctx, me, c.Channel, ""),
		Sender:    n.names.user(ctx, c.User),
		Text:      text,
		Mentioned: true,
		SentAt:    n.cfg.Now(),
	}
	in.Route.Handle = c.ResponseURL
	return in, true, nil
}

// commandLine returns the gateway's command: the text of the app's main slash command, or the name and text of another one.
func (n *reader) commandLine(c *command) string {
	name, text := strings.TrimPrefix(c.Command, "/"), strings.TrimSpace(c.Text)
	switch {
	case name != n.cfg.Command:
		return strings.TrimSpace("/" + name + " " + text)
	case text == "":
		return "/help"
	}
	return "/" + strings.TrimPrefix(text, "/")
}

// pressed normalises a press of a button below a message.
func (n *reader) pressed(ctx context.Context, me *self, p *press) (in adapters.Inbound, ok bool, err error) {
	if n.foreign(me, p.Team.ID) {
		return in, false, nil
	}
	at, action := p.Container, p.Actions[0]
	in = adapters.Inbound{
		Event:     at.Channel + "/" + at.TS + "/press/" + p.User.ID + "/" + action.TS,
		Route:     n.route(ctx, me, at.Channel, ""),
		Sender:    n.names.user(ctx, p.User.ID),
		Press:     valid(action.Value),
		Mentioned: true,
		MessageID: sessions.PlatformMessageID(at.TS),
		SentAt:    momentOf(action.TS),
	}
	in.Route.ReplyTo = in.MessageID
	if thread := cmp.Or(at.ThreadTS, p.Message.ThreadTS); thread != at.TS {
		in.Route.Thread = sessions.ThreadID(thread)
	}
	return in, true, nil
}
