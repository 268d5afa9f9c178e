package slack

import (
	"context"
	"fmt"
	"strconv"
	"time"

	slackapi "github.com/slack-go/slack"

	"sluice/adapters"
)

const (
	// clockSlack is how far Slack's clock may be behind ours.
	clockSlack = 2 * time.Minute
	// historyPage and historyPages bound one lookup to 20,000 messages.
	historyPage  = 200
	historyPages = 100
)

// Reconcile looks for a message in the conversation. A text has its delivery and part in its metadata. The message of a file
// can't have metadata: it is the bot's first file there since sentAt, because a lane posts one message after the other.
// Before Reconcile the caller waits for a lost call to take effect.
func (a *Adapter) Reconcile(ctx context.Context, out adapters.Outbound, sentAt time.Time) (adapters.Receipt, bool, error) {
	if out.Route.Handle != "" {
		return adapters.Receipt{}, false, &adapters.Failure{
			Kind: adapters.Unsupported, Certain: true, Err: fmt.Errorf("look up delivery %s: a reply that only one person sees cannot be looked up", out.DeliveryID),
		}
	}
	me, err := a.bot.whoami(ctx)
	if err != nil {
		return adapters.Receipt{}, false, err
	}
	since := timestamp(sentAt.Add(-clockSlack))
	var found string
	var cursor string
	for range historyPages {
		page, next, err := a.page(ctx, out, since, cursor)
		if err != nil {
			return adapters.Receipt{}, false, err
		}
		for i := range page {
			if ts := page[i].Timestamp; isPart(&page[i], me, out, sentAt) && (found == "" || ts < found) {
				found = ts
			}
		}
		if next == "" {
			return receipt(found, a.cfg.Now()), found != "", nil
		}
		cursor = next
	}
	return adapters.Receipt{}, false, &adapters.Failure{
		Kind: adapters.Transient, Err: fmt.Errorf("look up delivery %s: more than %d messages since", out.DeliveryID, historyPage*historyPages),
	}
}

func (a *Adapter) page(ctx context.Context, out adapters.Outbound, since, cursor string) (page []slackapi.Message, next string, err error) {
	channel := string(out.Route.Conversation)
	history := slackapi.GetConversationHistoryParameters{
		ChannelID: channel, Cursor: cursor, Oldest: since, Inclusive: true, Limit: historyPage, IncludeAllMetadata: true,
	}
	if out.Route.Thread == "" {
		err = a.web.call(ctx, paceKey{method: "conversations.history"}, func(ctx context.Context) error {
			answer, err := a.web.api.GetConversationHistoryContext(ctx, &history)
			if err == nil {
				page, next = answer.Messages, answer.ResponseMetaData.NextCursor
			}
			return err
		})
		return page, next, err
	}
	replies := slackapi.GetConversationRepliesParameters{
		ChannelID: channel, Timestamp: string(out.Route.Thread), Cursor: cursor, Oldest: since,
		Inclusive: true, Limit: historyPage, IncludeAllMetadata: true,
	}
	err = a.web.call(ctx, paceKey{method: "conversations.replies"}, func(ctx context.Context) (err error) {
		page, _, next, err = a.web.api.GetConversationRepliesContext(ctx, &replies)
		return err
	})
	return page, next, err
}

// isPart reports whether a message is the part in question, by its metadata, or for a file by its time.
func isPart(m *slackapi.Message, me *self, out adapters.Outbound, sentAt time.Time) bool {
	if out.Text == "" {
		mine := m.BotID == me.Bot || m.User == string(me.User)
		return mine && len(m.Files) > 0 && m.Timestamp >= timestamp(sentAt)
	}
	payload := m.Metadata.EventPayload
	return m.Metadata.EventType == metadataType && fmt.Sprint(payload["delivery"]) == out.DeliveryID &&
		fmt.Sprint(payload["part"]) == strconv.Itoa(out.Part)
}
