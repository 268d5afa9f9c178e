package slack

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	slackapi "github.com/slack-go/slack"

	"sluice/adapters"
	"sluice/sessions"
)

// errForeignHost means that a URL is not one of Slack.
var errForeignHost = errors.New("not a Slack host")

// response is the body of a request to a response_url.
type response struct {
	Type    string           `json:"response_type"`
	Replace bool             `json:"replace_original"`
	Text    string           `json:"text"`
	Mrkdwn  bool             `json:"mrkdwn"`
	Blocks  []slackapi.Block `json:"blocks,omitempty"`
}

// respond answers a slash command, visible only to its sender. The URL accepts five answers within half an hour.
func (a *Adapter) respond(ctx context.Context, out adapters.Outbound, text string) (adapters.Receipt, error) {
	answer := response{Type: "ephemeral", Text: text, Mrkdwn: !out.Plain}
	if len(out.Buttons) > 0 {
		answer.Blocks = blocks(out)
	}
	body, err := json.Marshal(answer)
	if err != nil {
		return adapters.Receipt{}, permanent(fmt.Errorf("write response: %w", err))
	}
	u, err := a.web.slackURL(out.Route.Handle)
	if err != nil {
		return adapters.Receipt{}, permanent(fmt.Errorf("answer slash command: %w", err))
	}
	err = a.web.call(ctx, paceKey{method: "response_url"}, func(ctx context.Context) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, u, bytes.NewReader(body))
		if err != nil {
			return err
		}
		r.Header.Set("Content-Type", "application/json; charset=utf-8")
		_, err = a.web.client.do(r, "response_url")
		return expired(err)
	})
	if err != nil {
		return adapters.Receipt{}, err
	}
	return adapters.Receipt{MessageID: unseen(out), At: a.cfg.Now()}, nil
}

// unseen stands for the id of an answer that only one person sees, because Slack returns no id for it.
func unseen(out adapters.Outbound) sessions.PlatformMessageID {
	return sessions.PlatformMessageID(fmt.Sprintf("ephemeral-%s-%d", out.DeliveryID, out.Part))
}

// expired converts the refusal of a used-up response_url to an error code of the Web API.
func expired(err error) error {
	status, ok := errors.AsType[*statusError](err)
	if !ok || status.Code != http.StatusNotFound && status.Code != http.StatusGone && status.Code != http.StatusForbidden {
		return err
	}
	return slackapi.SlackErrorResponse{Err: cmp.Or(status.Text, "expired_url")}
}
