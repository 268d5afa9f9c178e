package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"sluice/adapters"
)

// Limits of a response: an API answer has one message, a batch up to a hundred.
const (
	maxAnswer = 1 << 20
	maxBatch  = 64 << 20
)

// client calls the Bot API. It is also the library's HTTP client, so that each call has the same limits and errors.
type client struct {
	base    string // <api base>/bot<token>/
	files   string // <api base>/file/bot<token>/
	token   string
	http    *http.Client // no Timeout: each call's context has the deadline
	metrics *metrics
	account string
}

func newClient(cfg Config, m *metrics) *client {
	return &client{
		base:  cfg.APIBase + "/bot" + string(cfg.Token) + "/",
		files: cfg.APIBase + "/file/bot" + string(cfg.Token) + "/",
		token: string(cfg.Token),
		http: &http.Client{
			Transport: adapters.NewTransport(256),
			// Following a redirect would carry the token to another host.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		metrics: m, account: cfg.Account,
	}
}

// apiError is a call that Telegram, or something in between, refused.
type apiError struct {
	Code        int
	Description string
	RetryAfter  time.Duration
	MigrateTo   int64
	// Foreign means that the answer was not Telegram's JSON, so a proxy may have sent it after Telegram had executed
	// the call.
	Foreign bool
}

// Error implements error.
func (e *apiError) Error() string {
	return fmt.Sprintf("telegram answered %d: %s", e.Code, e.Description)
}

// lostError is a call without an answer.
type lostError struct {
	Sent bool // a connection existed, so Telegram may have received the request
	Err  error
}

// Error implements error.
func (e *lostError) Error() string { return errNoAnswer.Error() + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *lostError) Unwrap() error { return e.Err }

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// call posts params as JSON and reads the result.
func (c *client) call(ctx context.Context, method string, params, result any) error {
	body := buffers.Get().(*bytes.Buffer)
	defer buffers.Put(body)
	body.Reset()
	enc := json.NewEncoder(body)
	enc.SetEscapeHTML(false) // the text has many < and &
	if err := enc.Encode(params); err != nil {
		return fmt.Errorf("encode %s: %w", method, err)
	}
	// A copy, because the transport may still read the body after an early answer.
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+method, bytes.NewReader(bytes.Clone(body.Bytes())))
	if err != nil {
		return c.redact(err)
	}
	r.Header["Content-Type"] = jsonType
	limit := int64(maxAnswer)
	if method == methodGetUpdates {
		limit = maxBatch
	}
	return c.read(r, limit, result)
}

// read sends a request and reads the result.
func (c *client) read(r *http.Request, limit int64, result any) error {
	answer, err := c.do(r, limit)
	if err != nil {
		return err
	}
	unread, err := adapters.Decode(answer, &envelope{Result: result})
	if err == nil && unread != "" && limit == maxBatch {
		err = fmt.Errorf("%s has an unexpected type", unread) // the updates are then read one by one
	}
	if err != nil {
		return &unreadableError{Answer: answer, Err: err}
	}
	return nil
}

var jsonType = []string{"application/json"}

const methodGetUpdates = "getUpdates"

// envelope is the frame of each answer.
type envelope struct {
	OK          bool   `json:"ok"`
	Result      any    `json:"result"`
	Code        int    `json:"error_code"`
	Description string `json:"description"`
	Parameters  struct {
		RetryAfter int   `json:"retry_after"`
		MigrateTo  int64 `json:"migrate_to_chat_id"`
	} `json:"parameters"`
}

// unreadableError is a success whose result could not be read.
type unreadableError struct {
	Answer []byte
	Err    error
}

// Error implements error.
func (e *unreadableError) Error() string { return "read telegram's answer: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *unreadableError) Unwrap() error { return e.Err }

// Do is for the library: a refusal is returned as an error of this package, not as a response.
func (c *client) Do(r *http.Request) (*http.Response, error) {
	answer, err := c.do(r, maxAnswer)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(answer)), Request: r}, nil
}

// do returns the body of an answer with status 200, and an error for anything else.
func (c *client) do(r *http.Request, limit int64) (answer []byte, err error) {
	method := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
	defer func() { c.metrics.called(c.account, method, err) }()
	resp, err := c.send(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // it was only read
	answer, err = readBounded(resp, limit)
	if err != nil {
		return nil, &lostError{Sent: true, Err: c.redact(err)}
	}
	if resp.StatusCode == http.StatusOK {
		return answer, nil
	}
	return nil, refusal(resp, answer)
}

// send returns the response when it begins. Its errors do not contain the token.
func (c *client) send(r *http.Request) (*http.Response, error) {
	resp, sent, err := adapters.Request(c.http, r)
	if err != nil {
		return nil, &lostError{Sent: sent, Err: c.redact(err)}
	}
	return resp, nil
}

func readBounded(resp *http.Response, limit int64) ([]byte, error) {
	if n := resp.ContentLength; n > 0 && n <= limit {
		answer := make([]byte, n)
		_, err := io.ReadFull(resp.Body, answer)
		return answer, err
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if err == nil && int64(len(answer)) > limit {
		return nil, fmt.Errorf("answer is longer than %d bytes", limit)
	}
	return answer, err
}

// refusal parses Telegram's error, or reports that the answer was not Telegram's.
func refusal(resp *http.Response, answer []byte) error {
	var e envelope
	if json.Unmarshal(answer, &e) != nil || e.OK || e.Code == 0 {
		return &apiError{Code: resp.StatusCode, Description: http.StatusText(resp.StatusCode), Foreign: true}
	}
	return &apiError{
		Code: e.Code, Description: e.Description, MigrateTo: e.Parameters.MigrateTo,
		RetryAfter: adapters.Wait(float64(e.Parameters.RetryAfter), time.Second),
	}
}

// redact removes the token from an error: net/http puts the URL into its errors.
func (c *client) redact(err error) error {
	if err == nil {
		return nil
	}
	if u, ok := err.(*url.Error); ok { //nolint:errorlint // only the outermost: what it wraps stays
		err = u.Err
	}
	if strings.Contains(err.Error(), c.token) {
		return &redactedError{text: strings.ReplaceAll(err.Error(), c.token, "<secret>"), err: err}
	}
	return err
}

// redactedError keeps the chain for errors.As, but none of its texts.
type redactedError struct {
	text string
	err  error
}

// Error implements error.
func (e *redactedError) Error() string { return e.text }

// As searches the chain without exposing its texts.
func (e *redactedError) As(target any) bool {
	switch t := target.(type) {
	case **apiError:
		return errors.As(e.err, t)
	case **lostError:
		return errors.As(e.err, t)
	}
	return false
}

// Is searches the chain without exposing its texts.
func (e *redactedError) Is(target error) bool { return errors.Is(e.err, target) }

// closeIdle makes the next call use a new connection, after one that went deaf.
func (c *client) closeIdle() { c.http.CloseIdleConnections() }
