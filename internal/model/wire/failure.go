package wire

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/sessions"
	"sluice/sessions/port"
)

const (
	errorMax = 4 << 10        // bytes read from an error's body
	retryMax = 24 * time.Hour // a longer Retry-After is ignored
)

// Fail creates an error of the client's model. It removes the secret from the text.
func (c *Client) Fail(kind sessions.ModelErrorKind, err error) *sessions.ModelError {
	if c.cfg.Secret != "" && strings.Contains(err.Error(), c.cfg.Secret) {
		err = errors.New(strings.ReplaceAll(err.Error(), c.cfg.Secret, "<secret>"))
	}
	return &sessions.ModelError{Kind: kind, Model: c.cfg.Model, Err: err}
}

// refused explains a response that is not a stream.
func (c *Client) refused(resp *http.Response) error {
	raw, err := io.ReadAll(io.LimitReader(resp.Body, errorMax))
	if err != nil && len(raw) == 0 {
		raw = []byte("(the error's text could not be read)") // the status is enough
	}
	text := strings.ToValidUTF8(strings.TrimSpace(string(raw)), "\uFFFD")
	if resp.StatusCode == http.StatusOK {
		return c.Fail(sessions.ModelRefused, errors.New("asked for a stream, got one document: "+message(text)))
	}
	e := c.Fail(KindOf(resp.StatusCode, text), fmt.Errorf("HTTP %d: %s", resp.StatusCode, message(text)))
	e.RetryAfter = retryAfter(resp.Header, time.Now())
	return e
}

// message extracts the message from the providers' usual error format.
func message(body string) string {
	var form struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal([]byte(body), &form) != nil || form.Error == nil {
		return body
	}
	var plain string
	if json.Unmarshal(form.Error, &plain) == nil && plain != "" {
		return plain
	}
	var e struct {
		Message string `json:"message"`
		Type    string `json:"type"`
		Code    any    `json:"code"`
	}
	if json.Unmarshal(form.Error, &e) != nil || e.Message == "" {
		return body
	}
	code, _ := e.Code.(string) // some servers repeat the status as a number
	if name := cmp.Or(code, e.Type); name != "" {
		return name + ": " + e.Message
	}
	return e.Message
}

// KindOf classifies a status and the text of its error.
func KindOf(status int, text string) sessions.ModelErrorKind {
	switch {
	case status == http.StatusPaymentRequired, unpaid(status, text):
		return port.ModelBilling
	case status == http.StatusTooManyRequests:
		return sessions.ModelRateLimited
	case status == http.StatusServiceUnavailable && says(text, "loading model", "model is loading", "is currently loading"):
		return port.ModelLoading
	case status >= 500:
		return sessions.ModelOverloaded
	case status == http.StatusUnauthorized:
		return sessions.ModelAuth
	case status == http.StatusForbidden && says(text, "moderation", "flagged"):
		return sessions.ModelRefused
	case status == http.StatusForbidden:
		return port.ModelForbidden
	case status == http.StatusNotFound:
		return port.ModelMissing
	case status == http.StatusRequestEntityTooLarge, tooLong(text):
		return sessions.ModelOverflow
	case status == http.StatusRequestTimeout:
		return sessions.ModelUnavailable
	}
	return sessions.ModelRefused
}

// unpaid recognises an account without money. A key that has none is not used again, so nothing counts that a prompt could
// make a provider say: of an error about the request, only the beginning does.
func unpaid(status int, text string) bool {
	switch status {
	case http.StatusTooManyRequests:
		return says(text, "insufficient_quota", "billing_hard_limit", "billing_not_active")
	case http.StatusBadRequest:
		return strings.HasPrefix(strings.TrimPrefix(message(text), "invalid_request_error: "), "Your credit balance is too low")
	}
	return false
}

// tooLong recognises the providers' messages for a prompt that is too long.
func tooLong(text string) bool {
	return says(text, "context_length_exceeded", "prompt is too long", "maximum context length", "context window",
		"exceed context limit", "input is too long", "too many tokens", "exceeds the available context size")
}

// says reports whether a text has one of the signs, in any case.
func says(text string, signs ...string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc(signs, func(sign string) bool { return strings.Contains(text, sign) })
}

// retryAfter reads Retry-After as seconds or a date, and OpenAI's Retry-After-Ms.
func retryAfter(h http.Header, now time.Time) time.Duration {
	value := h.Get("Retry-After")
	if d := parseWait(h.Get("Retry-After-Ms"), time.Millisecond); d > 0 {
		return d
	}
	if d := parseWait(value, time.Second); d > 0 {
		return d
	}
	if at, err := http.ParseTime(value); err == nil && at.After(now) {
		return min(at.Sub(now), retryMax)
	}
	return 0
}

// parseWait reads a number of units; it returns 0 if the text is not a number.
func parseWait(s string, unit time.Duration) time.Duration {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || !(n > 0) { // also rejects NaN
		return 0
	}
	if n > float64(retryMax/unit) {
		return retryMax
	}
	return time.Duration(n * float64(unit))
}
