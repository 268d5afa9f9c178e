package slack

import (
	"context"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	slackapi "github.com/slack-go/slack"

	"sluice/adapters"
	"sluice/sessions"
)

// previewEvery keeps edits below Slack's limit of 50 a minute, for some conversations at a time.
const previewEvery = 3 * time.Second

// PreviewEvery returns the minimum time between two edits of a message that is still being written.
func (a *Adapter) PreviewEvery() time.Duration { return previewEvery }

// Edit replaces the text and the buttons of a message.
func (a *Adapter) Edit(ctx context.Context, id sessions.PlatformMessageID, out adapters.Outbound) error {
	text := render(out)
	if n := utf8.RuneCountInString(text); n > maxText {
		return tooLarge(n)
	}
	options := []slackapi.MsgOption{slackapi.MsgOptionText(text, false)}
	if len(out.Buttons) > 0 {
		options = append(options, slackapi.MsgOptionBlocks(blocks(out)...))
	} else {
		options = append(options, slackapi.MsgOptionBlocks()) // an empty list, or Slack keeps the old ones
	}
	return a.web.call(ctx, paceKey{method: "chat.update"}, func(ctx context.Context) error {
		_, _, _, err := a.web.api.UpdateMessageContext(ctx, string(out.Route.Conversation), string(id), options...)
		return err
	})
}

// Delete deletes a message.
func (a *Adapter) Delete(ctx context.Context, route sessions.Route, id sessions.PlatformMessageID) error {
	err := a.web.call(ctx, paceKey{method: "chat.delete"}, func(ctx context.Context) error {
		_, _, err := a.web.api.DeleteMessageContext(ctx, string(route.Conversation), string(id))
		return err
	})
	if refusedWith(err, "message_not_found") {
		return nil
	}
	return err
}

// errNoEmoji means that the name of an emoji is unknown here. Slack has no call that finds it.
var errNoEmoji = errors.New("slack has no name for this emoji")

// React adds the bot's reaction to a message, or removes it.
func (a *Adapter) React(ctx context.Context, route sessions.Route, id sessions.PlatformMessageID, r adapters.Reaction) error {
	name := emojiName(r.Emoji)
	if name == "" {
		return &adapters.Failure{Kind: adapters.Unsupported, Certain: true, Err: fmt.Errorf("react with %q: %w", r.Emoji, errNoEmoji)}
	}
	item := slackapi.NewRefToMessage(string(route.Conversation), string(id))
	method, done, do := "reactions.add", "already_reacted", a.web.api.AddReactionContext
	if r.Removed {
		method, done, do = "reactions.remove", "no_reaction", a.web.api.RemoveReactionContext
	}
	err := a.web.call(ctx, paceKey{method: method}, func(ctx context.Context) error { return do(ctx, name, item) })
	switch {
	case refusedWith(err, done):
		return nil
	case refusedWith(err, "invalid_name"):
		return &adapters.Failure{Kind: adapters.Unsupported, Certain: true, Err: err}
	}
	return err
}
