package telegram

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-telegram/bot"

	"sluice/adapters"
	"sluice/internal/markdown"
	"sluice/sessions"
)

// maxText is the maximum length of a message in UTF-16 code units, without its markup.
const maxText = 4096

const (
	methodSend = "sendMessage"
	methodEdit = "editMessageText"
)

// sent has the fields of a sent message that the receipt needs.
type sent struct {
	ID   int64 `json:"message_id"`
	Date int64 `json:"date"`
}

// sender posts and edits messages. It is safe for concurrent use.
type sender struct {
	cfg    Config
	api    *api
	own    *ownMessages // for reactions: Telegram does not send the writer of the message
	noRich atomic.Bool  // the server does not support sendRichMessage
}

// Send posts one message. If a group has become a supergroup, it is followed once: the receipt then has the new id.
func (a *Adapter) Send(ctx context.Context, out adapters.Outbound) (adapters.Receipt, error) {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.CallTimeout)
	defer cancel()
	return a.sender.follow(out.Route, func(to address) (adapters.Receipt, error) { return a.sender.post(ctx, out, to) })
}

// follow posts to a route, and once more to the new id if the group has moved.
func (s *sender) follow(route sessions.Route, post func(address) (adapters.Receipt, error)) (adapters.Receipt, error) {
	to, err := target(route)
	if err != nil {
		return adapters.Receipt{}, err
	}
	thread := route.Thread
	receipt, err := post(to)
	if f := asMoved(err); f != nil {
		moved := *f.Moved
		moved.From = route.Conversation
		if to.chat, err = strconv.ParseInt(string(moved.To), 10, 64); err != nil {
			return adapters.Receipt{}, f
		}
		to.thread, thread = 0, "" // topics came with the new id; the old group had none
		receipt, err = post(to)
		receipt.Moved = &moved
	}
	if err == nil {
		s.own.add(to.chat, thread, receipt.MessageID)
	}
	return receipt, err
}

func asMoved(err error) *adapters.Failure {
	if err == nil {
		return nil
	}
	if f := adapters.AsFailure(err); f.Moved != nil {
		return f
	}
	return nil
}

// address is a route as Telegram's ids.
type address struct {
	chat    int64
	thread  int // 0: none
	replyTo int // 0: none
}

func target(r sessions.Route) (address, error) {
	var to address
	var err error
	if to.chat, err = strconv.ParseInt(string(r.Conversation), 10, 64); err != nil {
		return to, permanent(fmt.Errorf("chat id %q is not a number", r.Conversation))
	}
	if r.Thread != "" {
		if to.thread, err = strconv.Atoi(string(r.Thread)); err != nil {
			return to, permanent(fmt.Errorf("topic id %q is not a number", r.Thread))
		}
	}
	if r.ReplyTo != "" && r.ChatType != sessions.Direct {
		to.replyTo, _ = strconv.Atoi(string(r.ReplyTo)) // a reply to an id of another form is not possible
	}
	return to, nil
}

func messageNumber(id sessions.PlatformMessageID) (int, error) {
	number, err := strconv.Atoi(string(id))
	if err != nil {
		return 0, permanent(fmt.Errorf("message id %q is not a number", id))
	}
	return number, nil
}

func permanent(err error) *adapters.Failure {
	return &adapters.Failure{Kind: adapters.Permanent, Certain: true, Err: err}
}

// post sends to one address: as a rich message if wanted and possible, otherwise as HTML, or as plain text if
// Telegram rejects the HTML.
func (s *sender) post(ctx context.Context, out adapters.Outbound, to address) (adapters.Receipt, error) {
	shown := parsed(out)
	if s.wantsRich(out, shown) {
		receipt, done, err := s.postRich(ctx, out, to)
		if done {
			return receipt, err
		}
	}
	params := s.sendParams(out, to, shown)
	var m sent
	err := s.api.client.call(ctx, methodSend, params, &m)
	if badMarkup(err) && params.ParseMode != "" {
		s.cfg.Log.Warn("telegram refused the markup, sending plain text", "delivery", out.DeliveryID, "part", out.Part, "error", err)
		params.Text, params.ParseMode = plain(out), ""
		err = s.api.client.call(ctx, methodSend, params, &m)
	}
	if err != nil {
		return adapters.Receipt{}, s.api.failure(methodSend, err)
	}
	return s.receiptOf(m), nil
}

func (s *sender) receiptOf(m sent) adapters.Receipt {
	return adapters.NewReceipt(messageID(m.ID), time.Unix(m.Date, 0), s.cfg.Now())
}

func (s *sender) sendParams(out adapters.Outbound, to address, shown func() markdown.Text) *bot.SendMessageParams {
	text, mode := render(out, shown)
	p := &bot.SendMessageParams{
		ChatID: to.chat, Text: text, ParseMode: mode,
		DisableNotification: out.Silent, LinkPreviewOptions: s.linkPreviews(),
	}
	if to.thread != generalTopic {
		p.MessageThreadID = to.thread
	}
	p.ReplyParameters = replyParameters(out, to)
	if k := keyboardOf(out.Buttons); k != nil { // a nil *keyboard in an interface would not be omitted
		p.ReplyMarkup = k
	}
	return p
}

// Edit replaces a message's text.
func (a *Adapter) Edit(ctx context.Context, id sessions.PlatformMessageID, out adapters.Outbound) error {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.CallTimeout)
	defer cancel()
	to, err := target(out.Route)
	if err != nil {
		return err
	}
	number, err := messageNumber(id)
	if err != nil {
		return err
	}
	err = a.sender.edit(ctx, number, out, to)
	if err == nil || notModified(err) {
		return nil
	}
	return a.api.failure(methodEdit, err)
}

// edit tries the forms of a text in the same order as [Adapter.post].
func (s *sender) edit(ctx context.Context, id int, out adapters.Outbound, to address) error {
	var m sent
	shown := parsed(out)
	if s.wantsRich(out, shown) {
		p := richEdit{ChatID: to.chat, MessageID: id, RichMessage: richMessage{Markdown: valid(out.Text)}, ReplyMarkup: keyboardOf(out.Buttons)}
		if err := s.api.client.call(ctx, methodEdit, p, &m); !refusedWith(err, "") || notModified(err) {
			return err
		}
	}
	text, mode := render(out, shown)
	params := &bot.EditMessageTextParams{
		ChatID: to.chat, MessageID: id, Text: text, ParseMode: mode, LinkPreviewOptions: s.linkPreviews(),
	}
	if k := keyboardOf(out.Buttons); k != nil {
		params.ReplyMarkup = k
	}
	err := s.api.client.call(ctx, methodEdit, params, &m)
	if badMarkup(err) && mode != "" {
		params.Text, params.ParseMode = plain(out), ""
		err = s.api.client.call(ctx, methodEdit, params, &m)
	}
	return err
}

// ConversationType returns direct for a person's id, which is positive, and group for all others: channels and
// supergroups can't be distinguished by id, and group is the stricter choice.
func (a *Adapter) ConversationType(id sessions.ConversationID) sessions.ChatType {
	if strings.HasPrefix(string(id), "-") {
		return sessions.Group
	}
	return sessions.Direct
}

// PreviewEvery is a second. Telegram allows about one edit a second in a chat.
func (a *Adapter) PreviewEvery() time.Duration { return time.Second }
