package discord

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"sluice/adapters"
)

// apiError is a call that Discord, or something on the way, refused.
type apiError struct {
	Status     int
	Code       int // Discord's own
	Message    string
	RetryAfter time.Duration
	Global     bool
	// Foreign: the answer was not Discord's own JSON, so a proxy may have sent
	// it after Discord had done what was asked.
	Foreign bool
	Held    bool // the call was not made
}

// Error implements error.
func (e *apiError) Error() string {
	if e.Code != 0 {
		return fmt.Sprintf("discord answered %d (code %d): %s", e.Status, e.Code, e.Message)
	}
	return fmt.Sprintf("discord answered %d: %s", e.Status, e.Message)
}

// lostError is a call without an answer.
type lostError struct {
	Sent bool // a connection was had, so Discord may have got the request
	Err  error
}

// Error implements error.
func (e *lostError) Error() string { return "no answer from Discord: " + e.Err.Error() }

// Unwrap gives the cause.
func (e *lostError) Unwrap() error { return e.Err }

// refusal reads Discord's own error, or says that it was not Discord's; nil for a success.
func refusal(resp *http.Response, answer []byte) *apiError {
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return nil
	}
	var body struct {
		Code       int     `json:"code"`
		Message    string  `json:"message"`
		RetryAfter float64 `json:"retry_after"` // seconds
		Global     bool    `json:"global"`
	}
	e := &apiError{Status: resp.StatusCode, Message: http.StatusText(resp.StatusCode)}
	if _, err := adapters.Decode(answer, &body); err != nil || body.Message == "" {
		e.Foreign = true
	} else {
		e.Code, e.Message = body.Code, valid(body.Message)
	}
	if e.Status == http.StatusTooManyRequests {
		e.RetryAfter = max(adapters.Wait(body.RetryAfter, time.Second), header(resp.Header, "Retry-After"))
		e.Global = body.Global || resp.Header.Get("X-RateLimit-Global") == "true" || e.Foreign
	}
	return e
}

// header reads a time in seconds, which may have a fraction; 0 if it is not there.
func header(h http.Header, name string) time.Duration {
	s, err := strconv.ParseFloat(h.Get(name), 64)
	if err != nil {
		return 0
	}
	return adapters.Wait(s, time.Second)
}
