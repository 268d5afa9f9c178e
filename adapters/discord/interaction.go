package discord

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/bwmarrin/discordgo"

	"sluice/adapters"
	"sluice/sessions"
)

// onInteraction handles a command of Discord's menu or a press of a button. Discord waits three seconds for a response, so it
// gets one as soon as the event is durable. For a command this is "thinking…", which only its sender sees and which the
// answer of the run replaces. For a button it is invisible.
func (s *shard) onInteraction(i *interaction) work {
	by := i.by()
	if by == nil || i.ID == "" || i.ChannelID == "" {
		return nil
	}
	var reply interactionReply
	switch i.Type {
	case discordgo.InteractionApplicationCommand:
		reply.Type = discordgo.InteractionResponseDeferredChannelMessageWithSource
		reply.Data = &interactionData{Flags: discordgo.MessageFlagsEphemeral}
	case discordgo.InteractionMessageComponent:
		reply.Type = discordgo.InteractionResponseDeferredMessageUpdate
	default:
		return nil
	}
	return func(ctx context.Context) bool {
		defer s.acks.begin(i.handle())()
		route, err := s.inbox.place(ctx, i.ChannelID, i.GuildID)
		if err != nil || !s.inbox.accept(ctx, i.inbound(route, peer(by, i.Member), s)) {
			return false
		}
		s.inbox.acknowledge(ctx, i, reply)
		return true
	}
}

func (i *interaction) by() *user {
	if i.Member != nil && i.Member.User != nil {
		return i.Member.User
	}
	return i.User
}

func (i *interaction) inbound(route sessions.Route, sender sessions.Peer, s *shard) adapters.Inbound {
	in := adapters.Inbound{
		Event: i.ChannelID + "/interaction/" + i.ID, Route: route, Sender: sender, Roles: i.Member.roles(),
		Mentioned: true, SentAt: idTime(i.ID, s.cfg.Now()), Unread: i.unread,
	}
	if i.Type == discordgo.InteractionApplicationCommand {
		in.Text = i.command()
		in.Route.Handle = i.handle()
		return in
	}
	in.Press = valid(i.Data.CustomID)
	if i.Message != nil {
		in.MessageID = sessions.PlatformMessageID(i.Message.ID)
		in.Route.ReplyTo = in.MessageID
	}
	return in
}

// handle is the address of a command's answer.
func (i *interaction) handle() string { return i.AppID + "/" + i.Token }

// command returns a command as "/name arguments".
func (i *interaction) command() string {
	words := []string{"/" + valid(i.Data.Name)}
	for _, o := range i.Data.Options {
		var text string
		if json.Unmarshal(o.Value, &text) != nil {
			text = string(o.Value) // a number or a boolean
		}
		if text = strings.TrimSpace(valid(text)); text != "" {
			words = append(words, text)
		}
	}
	return strings.Join(words, " ")
}

type interactionReply struct {
	Type discordgo.InteractionResponseType `json:"type"`
	Data *interactionData                  `json:"data,omitempty"`
}

type interactionData struct {
	Flags discordgo.MessageFlags `json:"flags"`
}

// acknowledge responds within Discord's three seconds. If it fails, Discord shows that to the person, although the event is
// durable.
func (b *inbox) acknowledge(ctx context.Context, i *interaction, reply interactionReply) {
	err := b.api.call(ctx, request{
		method: http.MethodPost, path: at("/interactions/{}/{}/callback", i.ID, i.Token), body: reply, open: true,
	}, nil)
	if err != nil && !refusedWith(err, codeAlreadyAcked) {
		b.cfg.Log.Warn("discord interaction not acknowledged", "conversation", i.ChannelID, "error", err)
	}
}
