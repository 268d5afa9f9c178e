package discord

import (
	"errors"
	"fmt"
	"net/http"

	"sluice/adapters"
)

// Discord's error codes with another meaning than their HTTP status.
const (
	codeUnknownChannel     = 10003
	codeUnknownMessage     = 10008
	codeUnknownEmoji       = 10014
	codeUnknownWebhook     = 10015
	codeFileTooLarge       = 40005
	codeAlreadyAcked       = 40060
	codeMissingAccess      = 50001
	codeNoDirect           = 50007
	codeMissingPermissions = 50013
)

// asFailure maps a call's error to a failure of the port:
//
//   - no connection: Transient and certain; a lost response: Transient, not certain
//   - 429: RateLimited with Discord's own pause
//   - 5xx: Transient, not certain: Discord's proxies also send it after the message was accepted
//   - 401 for the token: Auth; for the credential of an interaction: Permanent, because it has expired
//   - 413: TooLarge
//   - any other refusal (channel gone, no rights, person takes no direct messages): Permanent
func asFailure(req request, err error) *adapters.Failure {
	if f, ok := errors.AsType[*adapters.Failure](err); ok {
		return f
	}
	f := &adapters.Failure{Kind: adapters.Transient, Err: fmt.Errorf("call %s %s: %w", req.method, req.path.route, err)}
	if lost, ok := errors.AsType[*lostError](err); ok {
		f.Certain = !lost.Sent
		return f
	}
	if refused, ok := errors.AsType[*apiError](err); ok {
		classify(f, refused, req)
	}
	return f
}

func classify(f *adapters.Failure, e *apiError, req request) {
	f.Certain = e.Status < 500 && !e.Foreign
	switch {
	case e.Status == http.StatusTooManyRequests:
		f.Kind, f.RetryAfter, f.Certain = adapters.RateLimited, e.RetryAfter, true
	case e.Status >= 500:
	case e.Code == codeFileTooLarge, e.Status == http.StatusRequestEntityTooLarge:
		f.Kind = adapters.TooLarge
	case e.Foreign && e.Status != http.StatusUnauthorized:
		// Not Discord: a proxy, a captive portal, a wrong apiBase. It may be temporary.
	case e.Status == http.StatusUnauthorized && !req.open:
		f.Kind = adapters.Auth
		f.Err = fmt.Errorf("the bot token is not valid (reset or mistyped): copy the current one from the developer portal (Bot → Reset Token) into the configuration: %w", f.Err)
	default:
		f.Kind = adapters.Permanent
		if what := advice(e.Code); what != "" {
			f.Err = fmt.Errorf("%w: %s", f.Err, what)
		}
	}
}

// advice says what to do about a refusal; empty if Discord's own text is enough.
func advice(code int) string {
	switch code {
	case codeUnknownChannel:
		return "the channel was deleted, or its id is wrong"
	case codeMissingAccess:
		return "the bot can't see the channel: let the bot's role view it"
	case codeNoDirect:
		return "the person does not accept direct messages from the bot: they must share a server with it and allow direct messages there"
	case codeMissingPermissions:
		return "give the bot's role the permission in this channel: send messages, in threads too, and attach files"
	}
	return ""
}

// refusedWith reports whether Discord refused a call with one of these codes.
func refusedWith(err error, codes ...int) bool {
	refused, ok := errors.AsType[*apiError](err)
	if !ok {
		return false
	}
	for _, c := range codes {
		if refused.Code == c {
			return true
		}
	}
	return false
}

func permanent(err error) *adapters.Failure {
	return &adapters.Failure{Kind: adapters.Permanent, Certain: true, Err: err}
}
