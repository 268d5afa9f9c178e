// Package wire is what the clients of model providers share: one streaming
// request with its time-outs, server-sent events, and the meaning of failures.
package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"sluice/sessions"
)

// The default time-outs. A provider that thinks long sends nothing before its
// first byte; after that it sends pings or text at least every few seconds.
const (
	DefaultFirstByte = 5 * time.Minute
	DefaultIdle      = 90 * time.Second
)

const (
	errorBody = 4 << 10 // bytes of an error's body that are read
	lineMost  = 8 << 20 // bytes of one event
)

// Client makes streaming requests to one provider. It never repeats one.
type Client struct {
	http      *http.Client
	model     string // for errors
	firstByte time.Duration
	idle      time.Duration
}

// NewHTTP makes the HTTP client of a provider. Its buffers are small because
// thousands of requests may wait at once.
func NewHTTP() *http.Client {
	t := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // it is one, see net/http
	t.MaxIdleConnsPerHost, t.MaxIdleConns = 256, 0
	t.ReadBufferSize, t.WriteBufferSize = 2<<10, 2<<10
	return &http.Client{Transport: t}
}

// NewClient makes a client for a model; zero time-outs are the defaults.
func NewClient(h *http.Client, model string, firstByte, idle time.Duration) *Client {
	c := &Client{http: h, model: model, firstByte: DefaultFirstByte, idle: DefaultIdle}
	if firstByte > 0 {
		c.firstByte = firstByte
	}
	if idle > 0 {
		c.idle = idle
	}
	return c
}

// Handler takes one server-sent event. done says that it was the stream's end marker.
type Handler func(event string, data []byte) (done bool, err error)

// errStalled is the cause of a request's end when its provider was silent too long.
var errStalled = errors.New("the provider sent nothing for too long")

// Stream posts a JSON body and hands on the events of the answer. It returns
// nil only after the end marker. An error is a *[sessions.ModelError].
func (c *Client) Stream(ctx context.Context, url string, header http.Header, body any, handle Handler) error {
	text, err := json.Marshal(body)
	if err != nil {
		return c.fail(sessions.ModelRefused, fmt.Errorf("encode request: %w", err))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(c.firstByte, func() { cancel(errStalled) })
	defer watch.Stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(text))
	if err != nil {
		return c.fail(sessions.ModelRefused, fmt.Errorf("make request: %w", err))
	}
	req.Header = header.Clone()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	resp, err := c.http.Do(req)
	if err != nil {
		return c.fail(sessions.ModelUnavailable, c.cause(ctx, err))
	}
	defer resp.Body.Close() //nolint:errcheck // nothing follows from it
	if resp.StatusCode != http.StatusOK {
		return c.refused(resp)
	}
	return c.read(ctx, resp.Body, watch, handle)
}

// read hands on events until the end marker.
func (c *Client) read(ctx context.Context, body io.Reader, watch *time.Timer, handle Handler) error {
	lines := bufio.NewReaderSize(body, 4<<10)
	var event string
	var data []byte
	for {
		line, err := readLine(lines)
		if err != nil {
			if ctx.Err() != nil {
				return c.fail(sessions.ModelUnavailable, c.cause(ctx, err))
			}
			return c.fail(sessions.ModelCut, fmt.Errorf("the stream ended before its end marker: %w", err))
		}
		watch.Reset(c.idle)
		switch field, value := parseLine(line); field {
		case "event":
			event = value
		case "data":
			if data != nil {
				data = append(data, '\n')
			}
			data = append(data, value...)
		case "": // an empty line ends an event; a comment has no name either
			if len(line) > 0 || data == nil {
				continue
			}
			done, err := handle(event, data)
			if err != nil {
				return err
			}
			if done {
				return nil
			}
			event, data = "", nil
		}
	}
}

func parseLine(line []byte) (field, value string) {
	f, v, _ := strings.Cut(string(line), ":")
	return f, strings.TrimPrefix(v, " ")
}

// readLine reads one line without its end, up to lineMost bytes.
func readLine(r *bufio.Reader) ([]byte, error) {
	var whole []byte
	for {
		part, err := r.ReadSlice('\n')
		whole = append(whole, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull) && len(whole) < lineMost:
			continue
		case errors.Is(err, io.EOF):
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		}
		return bytes.TrimRight(whole, "\r\n"), nil
	}
}

// cause names the silence or the caller's own end instead of the broken read.
func (c *Client) cause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func (c *Client) fail(kind sessions.ModelErrorKind, err error) *sessions.ModelError {
	return &sessions.ModelError{Kind: kind, Model: c.model, Err: err}
}

// Fail makes an error of the client's model.
func (c *Client) Fail(kind sessions.ModelErrorKind, err error) error { return c.fail(kind, err) }

// refused reads what a status other than 200 means.
func (c *Client) refused(resp *http.Response) error {
	raw, err := io.ReadAll(io.LimitReader(resp.Body, errorBody))
	if err != nil {
		raw = nil // the status says enough
	}
	message := strings.ToValidUTF8(strings.TrimSpace(string(raw)), "\uFFFD")
	e := c.fail(KindOf(resp.StatusCode, message), fmt.Errorf("HTTP %d: %s", resp.StatusCode, message))
	e.RetryAfter = retryAfter(resp.Header, time.Now())
	return e
}

// KindOf classifies a status and its message.
func KindOf(status int, message string) sessions.ModelErrorKind {
	switch {
	case status == http.StatusTooManyRequests:
		return sessions.ModelRateLimited
	case status >= 500:
		return sessions.ModelOverloaded
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return sessions.ModelAuth
	case status == http.StatusRequestEntityTooLarge, tooLong(message):
		return sessions.ModelOverflow
	case status == http.StatusRequestTimeout:
		return sessions.ModelUnavailable
	}
	return sessions.ModelRefused
}

// tooLong recognizes the providers' ways to say that a prompt is too long.
func tooLong(message string) bool {
	message = strings.ToLower(message)
	for _, sign := range []string{
		"context_length_exceeded", "prompt is too long", "maximum context length", "context window",
		"exceed context limit", "input is too long", "too many tokens", "exceeds the available context size",
	} {
		if strings.Contains(message, sign) {
			return true
		}
	}
	return false
}

// retryAfter reads Retry-After as seconds or a date, and OpenAI's Retry-After-Ms.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	value := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(value, 64); err == nil && s > 0 {
		return time.Duration(s * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}

// Args makes a tool's arguments valid JSON: what a model has spoilt is kept in
// a string under a name that no tool knows, so that the tool's check tells the model.
func Args(text string) json.RawMessage {
	switch {
	case strings.TrimSpace(text) == "":
		return json.RawMessage("{}")
	case json.Valid([]byte(text)):
		return json.RawMessage(text)
	}
	quoted, err := json.Marshal(strings.ToValidUTF8(text, "\uFFFD"))
	if err != nil {
		return json.RawMessage(`{"malformed":""}`)
	}
	return json.RawMessage(`{"malformed":` + string(quoted) + `}`)
}

// Describe tells a model of an attachment that it is not shown.
func Describe(a *sessions.Attachment) string {
	var b strings.Builder
	b.WriteString("[attached " + a.Kind)
	for _, s := range []string{a.Name, a.MIME} {
		if s != "" {
			b.WriteString(", " + s)
		}
	}
	if a.Size > 0 {
		fmt.Fprintf(&b, ", %d bytes", a.Size)
	}
	b.WriteString("; its content is not available]")
	return b.String()
}
