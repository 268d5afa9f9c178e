package slack

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"time"

	slackapi "github.com/slack-go/slack"

	"sluice/adapters"
)

// defaultRetryAfter is the pause after a rate limit without a Retry-After.
const defaultRetryAfter = 30 * time.Second

// errNoTimestamp means that a successful response lacks the posted message's timestamp. The library takes any JSON object
// without an error for a success.
var errNoTimestamp = errors.New("slack's response does not name the message")

// remedy suggests what a person can do about one of Slack's error codes. It is empty for unknown codes.
func remedy(code string) string {
	switch code {
	case "not_in_channel":
		return "invite the app to the channel: /invite @app"
	case "channel_not_found":
		return "the conversation does not exist, or the app is not in it: invite it"
	case "is_archived":
		return "the channel is archived: unarchive it or use another one"
	case "msg_too_long", "msg_blocks_too_long":
		return "the text is longer than Slack accepts"
	case "missing_scope", "no_permission":
		return "the app lacks a permission: add it to the manifest and install the app again"
	case "restricted_action":
		return "a workspace rule forbids the app to do this here"
	case "user_not_found":
		return "the workspace has no such person"
	case "cannot_dm_bot":
		return "bots cannot write to bots on Slack"
	case "messages_tab_disabled":
		return "people can't write to the app: turn on the Messages tab under App Home"
	}
	return ""
}

// authCode reports whether a code stays until the configuration or the app's installation changes.
func authCode(code string) bool {
	switch code {
	case "invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "not_allowed_token_type":
		return true
	}
	return false
}

// transientCode reports whether a code means that Slack itself failed, and may have done a part of the work.
func transientCode(code string) bool {
	switch code {
	case "internal_error", "fatal_error", "request_timeout", "service_unavailable", "team_added_to_org":
		return true
	}
	return false
}

// asFailure maps a call's error to a failure of the port:
//
//   - no connection: Transient and certain; a lost or unreadable response: Transient, not certain
//   - 429, and the codes ratelimited and rate_limited: RateLimited with Slack's own pause
//   - 5xx: Transient, not certain, because it may come from a proxy or after the message was accepted
//   - codes of an invalid token: Auth
//   - msg_too_long and similar codes: TooLarge
//   - any other code (not_in_channel, is_archived …): Permanent, with a suggestion
func asFailure(method string, err error) *adapters.Failure {
	f := &adapters.Failure{Kind: adapters.Transient, Err: fmt.Errorf("call %s: %w", method, err)}
	if lost, ok := errors.AsType[*lostError](err); ok {
		f.Certain = !lost.Sent
		return f
	}
	if status, ok := errors.AsType[*statusError](err); ok {
		byStatus(f, status)
		return f
	}
	if refused, ok := errors.AsType[slackapi.SlackErrorResponse](err); ok {
		byCode(f, refused.Err)
	}
	return f
}

func byStatus(f *adapters.Failure, e *statusError) {
	switch {
	case e.Code == http.StatusTooManyRequests:
		f.Kind, f.RetryAfter, f.Certain = adapters.RateLimited, cmp.Or(e.RetryAfter, defaultRetryAfter), true
	case e.Code == http.StatusRequestEntityTooLarge:
		f.Kind, f.Certain = adapters.TooLarge, true
	}
	// Any other status may come from a proxy, or after the message was accepted.
}

func byCode(f *adapters.Failure, code string) {
	if text := remedy(code); text != "" {
		f.Err = fmt.Errorf("%w: %s", f.Err, text)
	}
	f.Certain = true
	switch {
	case authCode(code):
		f.Kind = adapters.Auth
		f.Err = fmt.Errorf("slack rejected the token (revoked, mistyped, or the app was removed): get the current one from the app's page and put it into the configuration: %w", f.Err)
	case code == "ratelimited" || code == "rate_limited":
		f.Kind, f.RetryAfter = adapters.RateLimited, defaultRetryAfter
	case transientCode(code):
		f.Certain = false
	case code == "msg_too_long" || code == "msg_blocks_too_long" || code == "file_upload_size_restricted":
		f.Kind = adapters.TooLarge
	default:
		f.Kind = adapters.Permanent
	}
}

// refusedWith reports whether Slack refused a call with one of the codes.
func refusedWith(err error, codes ...string) bool {
	refused, ok := errors.AsType[slackapi.SlackErrorResponse](err)
	if !ok {
		return false
	}
	for _, code := range codes {
		if refused.Err == code {
			return true
		}
	}
	return false
}

func permanent(err error) *adapters.Failure {
	return &adapters.Failure{Kind: adapters.Permanent, Certain: true, Err: err}
}
