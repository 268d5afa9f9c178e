package slack

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"sluice/adapters"
)

const (
	maxCallback = 1 << 20         // bytes of a request from Slack
	maxAge      = 5 * time.Minute // of a signature
	// takeWithin is the time limit of one request. Slack closes the connection after three seconds and repeats the event at
	// most three times. A request that has begun goes on, so that the next repetition finds the event stored.
	takeWithin = 10 * time.Second
)

const (
	signatureHeader = "X-Slack-Signature"
	timestampHeader = "X-Slack-Request-Timestamp"
	retryHeader     = "X-Slack-Retry-Num"
)

// ServeCallback handles one request from Slack: an event, a slash command or an interaction, all at the same path. It
// answers 200 if the request was accepted or can never be, 401 for a signature that is wrong or older than five minutes,
// 413 for a body over 1 MiB, 405 for another method than POST, 404 in mode socket, and 503 if Slack should try again.
// The acceptor recognises a repeated event by its name.
func (a *Adapter) ServeCallback(w http.ResponseWriter, r *http.Request, in adapters.Acceptor) {
	body, status := a.intake.readCallback(w, r)
	if status != http.StatusOK {
		http.Error(w, http.StatusText(status), status)
		return
	}
	a.state.Heard()
	if challenge, ok := challenged(body); ok {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, challenge) // the caller may have disconnected
		return
	}
	// The response has no body, because Slack would show it to the user of a slash command.
	ctx, cancel := a.life.within(r.Context(), takeWithin)
	defer cancel()
	w.WriteHeader(a.intake.takePosted(ctx, r.Header, body, in))
}

// readCallback returns the body of a request that Slack has signed.
func (i *intake) readCallback(w http.ResponseWriter, r *http.Request) ([]byte, int) {
	switch {
	case r.Method != http.MethodPost:
		return nil, http.StatusMethodNotAllowed
	case i.cfg.Mode != HTTP:
		return nil, http.StatusNotFound
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxCallback))
	if _, tooBig := errors.AsType[*http.MaxBytesError](err); tooBig {
		return nil, http.StatusRequestEntityTooLarge
	}
	if err != nil {
		return nil, http.StatusBadRequest
	}
	if !signed(i.cfg.SigningSecret, r.Header, body, i.cfg.Now()) {
		return nil, http.StatusUnauthorized
	}
	return body, http.StatusOK
}

// signed reports whether a request has Slack's signature, not older than maxAge. The comparison takes constant time.
func signed(secret adapters.Secret, h http.Header, body []byte, now time.Time) bool {
	stamp := h.Get(timestampHeader)
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil || secret == "" {
		return false
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > maxAge || age < -maxAge {
		return false
	}
	given, ok := strings.CutPrefix(h.Get(signatureHeader), "v0=")
	mac, err := hex.DecodeString(given)
	if !ok || err != nil {
		return false
	}
	want := hmac.New(sha256.New, []byte(secret))
	want.Write([]byte("v0:" + stamp + ":"))
	want.Write(body)
	return hmac.Equal(mac, want.Sum(nil))
}

// challenged reports whether Slack only verifies the URL, and returns the response to that.
func challenged(body []byte) (string, bool) {
	var outer callback
	if _, err := adapters.Decode(body, &outer); err != nil || outer.Type != "url_verification" {
		return "", false
	}
	return outer.Challenge, true
}

// takePosted handles a request and returns the status of the response.
func (i *intake) takePosted(ctx context.Context, h http.Header, body []byte, in adapters.Acceptor) int {
	retry := h.Get(retryHeader)
	it, err := readPosted(h.Get("Content-Type"), body)
	switch {
	case err != nil:
		i.malformed(body, err)
		return http.StatusOK // it can never be read, so Slack must not repeat it
	case it.gone != "":
		i.web.removed(it.gone)
		return http.StatusOK
	case it.empty():
		i.metrics.event(i.cfg.Account, outcomeIgnored)
		return http.StatusOK
	}
	place, ok := i.lanes.take(it)
	if !ok {
		i.metrics.event(i.cfg.Account, outcomeDropped)
		i.cfg.Log.Warn("too many slack events are waiting; Slack will deliver this one again", "most", maxPending, "retry", retry)
		return http.StatusServiceUnavailable
	}
	if err := place.pass(ctx, func() error { return i.acceptOne(ctx, in, it) }); err != nil {
		i.cfg.Log.Warn("slack event not accepted; Slack will deliver it again", "retry", retry, "error", err)
		return http.StatusServiceUnavailable
	}
	return http.StatusOK
}

// readPosted decodes a body: JSON for events, a form for commands and interactions.
func readPosted(contentType string, body []byte) (item, error) {
	kind, _, _ := strings.Cut(contentType, ";")
	if strings.TrimSpace(kind) != "application/x-www-form-urlencoded" {
		return readEvent(body)
	}
	form, err := url.ParseQuery(string(body))
	switch {
	case err != nil:
		return item{}, fmt.Errorf("read form: %w", err)
	case form.Has("payload"):
		return readPress([]byte(form.Get("payload")))
	case form.Has("ssl_check"):
		return item{}, nil // Slack checks the certificate
	}
	return readCommandForm(form)
}
