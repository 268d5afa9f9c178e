package slack

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"sluice/adapters"

	slackapi "github.com/slack-go/slack"
)

// maxAnswer bounds a response of the Web API; a page of 1,000 users is about 2 MiB.
const maxAnswer = 16 << 20

// client makes all HTTP calls. It bounds their time and size, distinguishes failures, and keeps the tokens out of errors.
// It is safe for concurrent use.
type client struct {
	http    *http.Client
	account string
	secrets []string
	metrics *metrics
}

// newClient makes a client with a time limit for each call.
func newClient(cfg Config, m *metrics, timeout time.Duration) *client {
	return &client{
		http: &http.Client{
			Timeout: timeout,
			Transport: &http.Transport{
				Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: 16, IdleConnTimeout: 90 * time.Second, ForceAttemptHTTP2: true,
				// All calls share one HTTP/2 connection: without pings a dead one would be used again and again.
				HTTP2: &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 10 * time.Second},
			},
			// A redirect would send the token, or a message, to another server.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
		account: cfg.Account, metrics: m,
		secrets: []string{string(cfg.BotToken), string(cfg.AppToken), string(cfg.SigningSecret)},
	}
}

// lostError means that no response came.
type lostError struct {
	Sent bool // the request may have reached Slack
	Err  error
}

// Error implements error.
func (e *lostError) Error() string { return "no answer: " + e.Err.Error() }

// Unwrap returns the cause.
func (e *lostError) Unwrap() error { return e.Err }

// statusError is a response with a status other than 200.
type statusError struct {
	Code       int
	RetryAfter time.Duration
	Text       string // the beginning of a short plain response
}

// Error implements error.
func (e *statusError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("status %d %s %s", e.Code, http.StatusText(e.Code), e.Text))
}

// Do implements the library's HTTP client. It returns the whole response if its status is 200, and otherwise an error of
// this package.
func (c *client) Do(r *http.Request) (*http.Response, error) {
	answer, err := c.do(r, methodOf(r))
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(answer)), Request: r}, nil
}

func methodOf(r *http.Request) string { return r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:] }

func (c *client) do(r *http.Request, method string) (answer []byte, err error) {
	defer func() { c.metrics.called(c.account, method, err) }()
	resp, err := c.open(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // only read from
	answer, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err == nil && len(answer) > maxAnswer {
		err = fmt.Errorf("answer is longer than %d bytes", maxAnswer)
	}
	if err != nil {
		return nil, &lostError{Sent: true, Err: c.redact(err)}
	}
	if resp.StatusCode != http.StatusOK {
		return nil, refusal(resp, answer)
	}
	return answer, nil
}

// open sends a request; the caller closes the body.
func (c *client) open(r *http.Request) (*http.Response, error) {
	resp, sent, err := adapters.Request(c.http, r)
	if err != nil {
		return nil, &lostError{Sent: sent, Err: c.redact(err)}
	}
	return resp, nil
}

func refusal(resp *http.Response, answer []byte) error {
	e := &statusError{Code: resp.StatusCode}
	if seconds, err := strconv.ParseFloat(resp.Header.Get("Retry-After"), 64); err == nil {
		e.RetryAfter = adapters.Wait(seconds, time.Second)
	}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/plain") && len(answer) < 200 {
		e.Text = string(answer)
	}
	return e
}

// redact removes the tokens from an error, and the URL that net/http adds.
func (c *client) redact(err error) error {
	if err == nil {
		return nil
	}
	if u, ok := err.(*url.Error); ok { //nolint:errorlint // only the outermost: what it wraps stays
		err = u.Err
	}
	for _, secret := range c.secrets {
		if secret != "" && strings.Contains(err.Error(), secret) {
			return errors.New("an error whose text is hidden because it contains a token")
		}
	}
	return err
}

// closeIdle closes the connections that no call uses.
func (c *client) closeIdle() { c.http.CloseIdleConnections() }

// newAPI is the library's Web API over the client.
func newAPI(cfg Config, c *client) *slackapi.Client {
	return slackapi.New(string(cfg.BotToken), slackapi.OptionAppLevelToken(string(cfg.AppToken)),
		slackapi.OptionAPIURL(cfg.APIBase), slackapi.OptionHTTPClient(c))
}
