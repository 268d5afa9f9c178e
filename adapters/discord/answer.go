package discord

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"sluice/adapters"
)

// apiError is the refusal of a call, by Discord or by a proxy.
type apiError struct {
	Status     int
	Code       int // Discord's own
	Message    string
	RetryAfter time.Duration
	Global     bool
	// Foreign means that the response is not JSON of Discord: a proxy may have sent it after Discord executed the
	// call.
	Foreign bool
	NotMade bool // the call was not made
}

// Error implements error.
func (e *apiError) Error() string {
	if e.Code != 0 {
		return fmt.Sprintf("discord answered %d (code %d): %s", e.Status, e.Code, e.Message)
	}
	return fmt.Sprintf("discord answered %d: %s", e.Status, e.Message)
}

// lostError is a call without a response.
type lostError struct {
	Sent bool // there was a connection, so Discord may have received the request
	Err  error
}

// Error implements error.
func (e *lostError) Error() string { return "no answer from Discord: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *lostError) Unwrap() error { return e.Err }

// refusal reads the error of a response. It returns nil for a success.
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

// header reads a time in seconds, which may have a fraction; 0 without the header.
func header(h http.Header, name string) time.Duration {
	s, err := strconv.ParseFloat(h.Get(name), 64)
	if err != nil {
		return 0
	}
	return adapters.Wait(s, time.Second)
}
