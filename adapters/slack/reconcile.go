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
	// settling is how long a request whose answer was lost may still take effect.
	settling = 2 * time.Second
	// historyPage and historyPages bound how far back one look goes: 20,000 messages.
	historyPage  = 200
	historyPages = 100
)

// Reconcile looks for the message in the conversation: each carries its delivery and part in
// its metadata. One that is not there a moment after it was sent was not taken.
func (a *Adapter) Reconcile(ctx context.Context, out adapters.Outbound, sentAt time.Time) (adapters.Receipt, bool, error) {
	if out.Route.Handle != "" {
		return adapters.Receipt{}, false, &adapters.Failure{
			Kind: adapters.Unsupported, Certain: true, Err: fmt.Errorf("look up delivery %s: an answer that only one person sees can't be looked up", out.DeliveryID),
		}
	}
	found, ok, err := a.find(ctx, out, sentAt)
	if ok || err != nil {
		return found, ok, err
	}
	early := sentAt.Add(settling).Sub(a.cfg.Now())
	if early <= 0 {
		return found, false, nil
	}
	if !sleep(ctx, early) {
		return found, false, &adapters.Failure{Kind: adapters.Transient, Err: fmt.Errorf("look up delivery %s: %w", out.DeliveryID, context.Cause(ctx))}
	}
	return a.find(ctx, out, sentAt)
}

// find goes through what was said since, newest first in a conversation and oldest first in a thread.
func (a *Adapter) find(ctx context.Context, out adapters.Outbound, sentAt time.Time) (adapters.Receipt, bool, error) {
	since := timestamp(sentAt.Add(-clockSlack))
	var cursor string
	for range historyPages {
		page, next, err := a.page(ctx, out, since, cursor)
		if err != nil {
			return adapters.Receipt{}, false, err
		}
		for _, m := range page {
			if carries(m.Metadata, out) {
				return receipt(m.Timestamp), true, nil
			}
		}
		if next == "" {
			return adapters.Receipt{}, false, nil
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
		err = a.call(ctx, paceKey{method: "conversations.history"}, func(ctx context.Context) error {
			answer, err := a.api.GetConversationHistoryContext(ctx, &history)
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
	err = a.call(ctx, paceKey{method: "conversations.replies"}, func(ctx context.Context) (err error) {
		page, _, next, err = a.api.GetConversationRepliesContext(ctx, &replies)
		return err
	})
	return page, next, err
}

// carries reports whether a message is the part of the delivery. Slack gives a number back as it likes.
func carries(m slackapi.SlackMetadata, out adapters.Outbound) bool {
	return m.EventType == metadataType && fmt.Sprint(m.EventPayload["delivery"]) == out.DeliveryID &&
		fmt.Sprint(m.EventPayload["part"]) == strconv.Itoa(out.Part)
}
