package telegram

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"sluice/adapters"
	"sluice/sessions"
)

// conflictPause is the pause when another process polls with the token.
const conflictPause = 30 * time.Second

// asFailure maps a call's error for the port:
//
//   - no connection: Transient and certain; a lost answer: Transient, not certain
//   - 429: RateLimited with Telegram's own pause, however long
//   - 5xx in Telegram's own JSON: Transient and certain; any other 5xx may come
//     from a proxy after the message was taken: not certain
//   - 401, and 404 for a method that exists: the token is wrong: Auth
//   - 409: somebody else polls with the token: Transient, in half a minute
//   - a text that is too long: TooLarge; a migrated group: Moved
//   - any other refusal (chat gone, bot blocked, no rights): Permanent
func asFailure(method string, err error) *adapters.Failure {
	f := &adapters.Failure{Kind: adapters.Transient, Err: fmt.Errorf("call %s: %w", method, err)}
	if lost, ok := errors.AsType[*lostError](err); ok {
		f.Certain, f.Err = !lost.Sent, fmt.Errorf("call %s: %w", method, lost) // without the words of the library
		return f
	}
	refused, ok := errors.AsType[*apiError](err)
	if !ok {
		return f
	}
	f.Certain = !refused.Foreign
	classify(f, refused)
	return f
}

func classify(f *adapters.Failure, e *apiError) {
	switch {
	case e.Code == http.StatusTooManyRequests:
		f.Kind, f.RetryAfter, f.Certain = adapters.RateLimited, e.RetryAfter, true
	case e.Code >= 500:
	case e.Foreign:
		// Not the Bot API: a proxy, a captive portal, a wrong apiBase. It may be temporary.
	case e.Code == http.StatusUnauthorized, e.Code == http.StatusNotFound:
		f.Kind = adapters.Auth
		f.Err = fmt.Errorf("the bot token is not valid (revoked or mistyped): get the current one from BotFather and put it into the configuration: %w", f.Err)
	case e.Code == http.StatusConflict:
		f.RetryAfter = conflictPause
		f.Err = fmt.Errorf("another poller or a webhook uses this token: stop the other program, or use a separate bot for it: %w", f.Err)
	case e.Code == http.StatusRequestEntityTooLarge, tooLong(e.Description):
		f.Kind = adapters.TooLarge
	case strings.Contains(e.Description, "REACTION_INVALID"):
		f.Kind = adapters.Unsupported // not one of the emoji that Telegram accepts
	case e.MigrateTo != 0:
		f.Kind = adapters.Permanent
		f.Moved = &adapters.Migration{To: sessions.ConversationID(strconv.FormatInt(e.MigrateTo, 10))}
	default:
		f.Kind = adapters.Permanent
	}
}

func tooLong(description string) bool {
	d := strings.ToLower(description)
	for _, what := range []string{"message is too long", "message_too_long", "caption is too long", "file is too big"} {
		if strings.Contains(d, what) {
			return true
		}
	}
	return false
}

// refusedWith reports whether Telegram refused a call with a text that contains any of parts.
func refusedWith(err error, parts ...string) bool {
	refused, ok := errors.AsType[*apiError](err)
	if !ok || refused.Foreign || refused.Code != http.StatusBadRequest {
		return false
	}
	d := strings.ToLower(refused.Description)
	for _, p := range parts {
		if strings.Contains(d, p) {
			return true
		}
	}
	return false
}

// notModified reports that the message already has this text.
func notModified(err error) bool { return refusedWith(err, "message is not modified") }

// badMarkup reports that Telegram can't parse the text's markup.
func badMarkup(err error) bool {
	return refusedWith(err, "can't parse entities", "entity_bounds_invalid", "entities_too_long", "entity_")
}

// unknownMethod reports that the server is older than the method.
func unknownMethod(err error) bool {
	refused, ok := errors.AsType[*apiError](err)
	if !ok || refused.Foreign {
		return false
	}
	return refused.Code == http.StatusNotFound ||
		refused.Code == http.StatusBadRequest && strings.Contains(strings.ToLower(refused.Description), "method not found")
}
