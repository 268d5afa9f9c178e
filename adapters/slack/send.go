package slack

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	slackapi "github.com/slack-go/slack"

	"sluice/adapters"
	"sluice/sessions"
)

// maxText is the maximum number of characters in one message. Slack's apps cut messages at 4,000, so answers are split there.
const maxText = 40_000

// metadataType marks the gateway's messages, so that they can be found again.
const metadataType = "sluice_delivery"

// badThread is the error for a thread that Slack can't have: it names a thread by the timestamp of its first message.
func badThread(r sessions.Route) error {
	if r.Thread == "" || !momentOf(string(r.Thread)).IsZero() {
		return nil
	}
	return permanent(fmt.Errorf("the thread %q is not the timestamp of a Slack message, such as 1700000000.000100", string(r.Thread)))
}

// Send posts one message. If the route has a handle, only the sender of the command sees it.
func (a *Adapter) Send(ctx context.Context, out adapters.Outbound) (adapters.Receipt, error) {
	text := render(out)
	if n := utf8.RuneCountInString(text); n > maxText {
		return adapters.Receipt{}, tooLarge(n)
	}
	if out.Route.Handle != "" {
		return a.respond(ctx, out, text)
	}
	if err := badThread(out.Route); err != nil {
		return adapters.Receipt{}, err
	}
	options := append(message(out, text), slackapi.MsgOptionMetadata(deliveryMetadata(out)),
		slackapi.MsgOptionDisableLinkUnfurl(), slackapi.MsgOptionDisableMediaUnfurl())
	if out.Route.Thread != "" {
		options = append(options, slackapi.MsgOptionTS(string(out.Route.Thread)))
	}
	channel := string(out.Route.Conversation)
	var ts string
	err := a.web.call(ctx, paceKey{methodPost, channel}, func(ctx context.Context) (err error) {
		_, ts, err = a.web.api.PostMessageContext(ctx, channel, options...)
		if err == nil && ts == "" {
			err = errNoTimestamp
		}
		return err
	})
	if err != nil {
		return adapters.Receipt{}, err
	}
	return receipt(ts, a.cfg.Now()), nil
}

func receipt(ts string, now time.Time) adapters.Receipt {
	return adapters.NewReceipt(ts, momentOf(ts), now)
}

func tooLarge(n int) *adapters.Failure {
	return &adapters.Failure{
		Kind: adapters.TooLarge, Certain: true,
		Err: fmt.Errorf("the text has %d characters; Slack accepts at most %d", n, maxText),
	}
}

// message returns the content of a message, for posting and for editing.
func message(out adapters.Outbound, text string) []slackapi.MsgOption {
	options := []slackapi.MsgOption{slackapi.MsgOptionText(text, false)}
	if out.Plain {
		options = append(options, slackapi.MsgOptionDisableMarkdown())
	}
	if len(out.Buttons) > 0 {
		options = append(options, slackapi.MsgOptionBlocks(blocks(out)...))
	}
	return options
}

func deliveryMetadata(out adapters.Outbound) slackapi.SlackMetadata {
	return slackapi.SlackMetadata{
		EventType:    metadataType,
		EventPayload: map[string]any{"delivery": out.DeliveryID, "part": out.Part},
	}
}
