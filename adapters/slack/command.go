package slack

import (
	"context"
	"strings"

	"sluice/adapters"
	"sluice/sessions"
)

// commanded normalises a slash command. Its answer goes to the one who gave it: the
// route's handle is Slack's response_url, good for half an hour.
func (a *Adapter) commanded(ctx context.Context, me *self, c *command) (in adapters.Inbound, ok bool, err error) {
	if a.foreign(me, c.Team) {
		return in, false, nil
	}
	text, _ := plain(a.commandLine(c), string(me.User), a.names.dictionary(ctx))
	in = adapters.Inbound{
		Event:     c.Channel + "/command/" + c.Trigger,
		Route:     a.route(ctx, me, c.Channel, ""),
		Sender:    a.names.user(ctx, c.User),
		Text:      text,
		Mentioned: true,
		SentAt:    a.cfg.Now(),
	}
	in.Route.Handle = c.ResponseURL
	return in, true, nil
}

// commandLine is what was meant: the text of the gateway's own slash command, and any other by its name.
func (a *Adapter) commandLine(c *command) string {
	name, text := strings.TrimPrefix(c.Command, "/"), strings.TrimSpace(c.Text)
	switch {
	case name != a.cfg.Command:
		return strings.TrimSpace("/" + name + " " + text)
	case text == "":
		return "/help"
	}
	return "/" + strings.TrimPrefix(text, "/")
}

// pressed normalises the press of a button below a message.
func (a *Adapter) pressed(ctx context.Context, me *self, p *press) (in adapters.Inbound, ok bool, err error) {
	if a.foreign(me, p.Team.ID) {
		return in, false, nil
	}
	at, action := p.Container, p.Actions[0]
	in = adapters.Inbound{
		Event:     at.Channel + "/" + at.TS + "/press/" + p.User.ID + "/" + action.TS,
		Route:     a.route(ctx, me, at.Channel, ""),
		Sender:    a.names.user(ctx, p.User.ID),
		Press:     valid(action.Value),
		Mentioned: true,
		MessageID: sessions.PlatformMessageID(at.TS),
		SentAt:    momentOf(action.TS),
	}
	in.Route.ReplyTo = in.MessageID
	if thread := or(at.ThreadTS, p.Message.ThreadTS); thread != at.TS {
		in.Route.Thread = sessions.ThreadID(thread)
	}
	return in, true, nil
}
