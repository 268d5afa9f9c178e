package discord

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/bwmarrin/discordgo"

	"sluice/adapters"
	"sluice/internal/pause"
	"sluice/sessions"
)

// maxText is the maximum number of characters of a message with its markup. Discord counts code points.
const maxText = 2000

// newMessage is the body of a message to post. The library's type has no nonce.
type newMessage struct {
	Content         string                       `json:"content,omitempty"`
	Flags           discordgo.MessageFlags       `json:"flags,omitempty"`
	AllowedMentions mentions                     `json:"allowed_mentions"`
	Components      []discordgo.MessageComponent `json:"components,omitempty"`
	Attachments     []attachmentName             `json:"attachments,omitempty"`
	Reference       *reference                   `json:"message_reference,omitempty"`
	Nonce           string                       `json:"nonce,omitempty"`
	EnforceNonce    bool                         `json:"enforce_nonce,omitempty"`
}

// changedMessage is the body of an edit, and of the answer to a command. An empty field removes the old value.
type changedMessage struct {
	Content         string                       `json:"content"`
	Flags           discordgo.MessageFlags       `json:"flags"`
	AllowedMentions mentions                     `json:"allowed_mentions"`
	Components      []discordgo.MessageComponent `json:"components"`
}

// mentions limits who a message notifies. The list is always empty, because models control the text.
type mentions struct {
	Parse []string `json:"parse"`
}

func noMentions() mentions { return mentions{Parse: []string{}} }

type reference struct {
	MessageID string `json:"message_id"`
	Must      bool   `json:"fail_if_not_exists"`
}

var (
	errNoConversation = errors.New("no conversation to write to")
	errTooLong        = fmt.Errorf("text is longer than %d characters", maxText)
)

// sender posts messages and keeps their nonces. It is safe for concurrent use.
type sender struct {
	cfg    Config
	api    *api
	posted *posted
	acks   *acks
}

// Send posts one message. A retry with the same delivery and part is, for some minutes, the same message to Discord.
// The answer to a command of Discord's menu replaces its "thinking…".
func (a *Adapter) Send(ctx context.Context, out adapters.Outbound) (adapters.Receipt, error) {
	body, err := compose(out)
	if err != nil {
		return adapters.Receipt{}, err
	}
	if out.Route.Handle != "" {
		return a.sender.answer(ctx, out, body)
	}
	return a.sender.post(ctx, out, request{body: body})
}

// post sends a message to the channel or thread of its route.
func (s *sender) post(ctx context.Context, out adapters.Outbound, req request) (adapters.Receipt, error) {
	channelID, err := target(out.Route)
	if err != nil {
		return adapters.Receipt{}, err
	}
	req.method, req.path = http.MethodPost, at("/channels/{}/messages", channelID)
	var m message
	if err := s.api.call(ctx, req, &m); err != nil {
		return adapters.Receipt{}, err
	}
	return s.receipt(req, &m, nonceOf(out))
}

func (s *sender) receipt(req request, m *message, nonce string) (adapters.Receipt, error) {
	if m.ID == "" {
		return adapters.Receipt{}, asFailure(req, &lostError{Sent: true, Err: errors.New("no message in the answer")})
	}
	s.posted.note(m.ID, nonce)
	return s.receiptOf(m), nil
}

func (s *sender) receiptOf(m *message) adapters.Receipt {
	return adapters.NewReceipt(m.ID, m.at(), s.cfg.Now())
}

// target returns the channel, thread or direct chat of a route.
func target(r sessions.Route) (string, error) {
	id := cmp.Or(string(r.Thread), string(r.Conversation))
	if id == "" {
		return "", permanent(errNoConversation)
	}
	if !isID(id) {
		return "", permanent(fmt.Errorf("conversation id %q is not one of Discord's", id))
	}
	return id, nil
}

// compose makes the body of a message.
func compose(out adapters.Outbound) (newMessage, error) {
	text := render(out)
	if utf8.RuneCountInString(text) > maxText {
		return newMessage{}, &adapters.Failure{Kind: adapters.TooLarge, Certain: true, Err: errTooLong}
	}
	m := newMessage{
		Content: text, Flags: discordgo.MessageFlagsSuppressEmbeds, AllowedMentions: noMentions(),
		Components: components(out.Buttons), Nonce: nonceOf(out), EnforceNonce: true,
	}
	if out.Silent {
		m.Flags |= discordgo.MessageFlagsSuppressNotifications
	}
	if r := out.Route; out.Part == 0 && r.ChatType != sessions.Direct && isID(string(r.ReplyTo)) {
		m.Reference = &reference{MessageID: string(r.ReplyTo)}
	}
	return m, nil
}

// answer replaces the "thinking…" of a command, and posts the rest below it. Only the sender of the command sees both.
func (s *sender) answer(ctx context.Context, out adapters.Outbound, body newMessage) (adapters.Receipt, error) {
	app, token, ok := strings.Cut(out.Route.Handle, "/")
	if !ok {
		return adapters.Receipt{}, permanent(errors.New("the reply handle does not belong to this adapter"))
	}
	ctx, cancel := context.WithTimeout(ctx, s.cfg.CallTimeout)
	defer cancel()
	s.acks.wait(ctx, out.Route.Handle)
	req := request{method: http.MethodPatch, path: at("/webhooks/{}/{}/messages/@original", app, token), open: true, body: changed(body)}
	if out.Part > 0 {
		body.Nonce, body.EnforceNonce, body.Reference = "", false, nil // webhooks support neither
		body.Flags |= discordgo.MessageFlagsEphemeral
		req = request{method: http.MethodPost, path: at("/webhooks/{}/{}", app, token), query: "wait=true", open: true, body: body}
	}
	m, err := s.answerSoon(ctx, req)
	if err != nil {
		return adapters.Receipt{}, err
	}
	return s.receipt(req, m, nonceOf(out))
}

// answerSoon repeats a call for at most three seconds if Discord does not know the response to change, because another
// replica may be about to create it.
func (s *sender) answerSoon(ctx context.Context, req request) (*message, error) {
	for tries := 0; ; tries++ {
		var m message
		err := s.api.call(ctx, req, &m)
		if tries == 3 || !refusedWith(err, codeUnknownWebhook, codeUnknownMessage) || pause.Wait(ctx, 2*s.cfg.pace.firstPause) != nil {
			return &m, err
		}
	}
}

func changed(m newMessage) changedMessage {
	c := changedMessage{
		Content: m.Content, Flags: m.Flags & discordgo.MessageFlagsSuppressEmbeds,
		AllowedMentions: m.AllowedMentions, Components: m.Components,
	}
	if c.Components == nil {
		c.Components = []discordgo.MessageComponent{}
	}
	return c
}
