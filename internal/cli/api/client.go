// Package api is a client of the gateway's HTTP API: how a command finds the
// gateway and its access token, sends requests and reads answers and events.
// The types hold the fields that commands show.
package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"sluice/internal/cli/terminal"
)

const (
	// CallTimeout bounds a request that the gateway answers at once.
	CallTimeout = 30 * time.Second

	dialTimeout    = 5 * time.Second
	maxAnswerBytes = 64 << 20
)

// NewTransport makes connections to the gateway. It ignores proxy settings: requests carry the access token.
func NewTransport() *http.Transport {
	return &http.Transport{DialContext: (&net.Dialer{Timeout: dialTimeout}).DialContext, Proxy: nil}
}

// Client sends requests to one gateway. Several goroutines may use it.
type Client struct {
	http  *http.Client
	base  string // its address, without a slash at the end
	token string
}

// Address is the gateway's address, without a slash at the end.
func (c *Client) Address() string { return c.base }

// Request is one request to the API.
type Request struct {
	Method  string // empty for GET
	Path    string // escaped
	Query   url.Values
	Body    any    // sent as JSON; nil for no body
	Accept  string // empty for application/json
	Headers map[string]string
}

// Answer is a successful answer of the API.
type Answer struct {
	Body []byte
	Next string // what the next page comes after; empty on the last page
}

// Error is the API's answer to a request that failed.
type Error struct {
	Status  int    `json:"-"`
	Code    string `json:"error"`
	Message string `json:"message"`
	missing string // what was not found; empty where the path does not tell
	foreign string // the address, if another program answers there
}

func (e *Error) Error() string {
	switch {
	case e.Status == http.StatusUnauthorized:
		return "the gateway rejected the access token: set " + EnvToken + ", or run this command as a user who can read the gateway's state folder"
	case e.foreign != "":
		return fmt.Sprintf("%s does not answer like a Sluice gateway (HTTP status %d %s): set %s to the gateway's address", e.foreign, e.Status, http.StatusText(e.Status), EnvURL)
	case e.Status == http.StatusNotFound && e.missing != "":
		return e.missing
	case e.Message != "":
		return e.Message
	}
	return strings.TrimSpace(fmt.Sprintf("the gateway answered with HTTP status %d %s", e.Status, http.StatusText(e.Status)))
}

// Query builds query parameters from names and values, given in turn. Empty values are left out.
func Query(pairs ...string) url.Values {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return q
}

// Path joins segments of a path below /v1 and escapes them.
func Path(segments ...string) string {
	var b strings.Builder
	b.WriteString("/v1")
	for _, s := range segments {
		b.WriteString("/" + url.PathEscape(s))
	}
	return b.String()
}

// Open sends a request and returns the answer as it arrives. The caller closes its body.
func (c *Client) Open(ctx context.Context, r Request) (*http.Response, error) {
	req, err := c.request(ctx, r)
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	page := resp.StatusCode < http.StatusBadRequest && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html")
	if page || resp.StatusCode >= http.StatusBadRequest {
		return nil, readError(resp)
	}
	return resp, nil
}

func (c *Client) request(ctx context.Context, r Request) (*http.Request, error) {
	if strings.Contains(r.Path, "//") || strings.HasSuffix(r.Path, "/") && r.Path != "/" {
		return nil, terminal.Usagef("an argument is empty")
	}
	var body io.Reader = http.NoBody
	if r.Body != nil {
		data, err := json.Marshal(r.Body)
		if err != nil {
			return nil, fmt.Errorf("encode request: %w", err)
		}
		body = bytes.NewReader(data)
	}
	address := c.base + r.Path
	if query := r.Query.Encode(); query != "" {
		address += "?" + query
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, address, body)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	req.Header.Set("Accept", cmp.Or(r.Accept, "application/json"))
	req.Header.Set("Authorization", "Bearer "+c.token)
	if r.Body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for name, value := range r.Headers {
		req.Header.Set(name, value)
	}
	return req, nil
}

func (c *Client) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("ask the gateway: %w", context.Cause(ctx))
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return fmt.Errorf("no gateway is running at %s: start it with `sluice serve`, or set %s to its address", c.base, EnvURL)
	}
	return fmt.Errorf("ask the gateway: %w", err)
}

func readError(resp *http.Response) error {
	e := &Error{Status: resp.StatusCode, missing: missing(resp.Request.URL.EscapedPath())}
	data, err := readAll(resp)
	if err != nil || json.Unmarshal(data, e) != nil {
		e.Message = "" // the status says enough
	}
	if e.Status <= http.StatusNotFound && e.Status != http.StatusUnauthorized && e.Code == "" && e.Message == "" { // a gateway says why
		e.foreign = resp.Request.URL.Scheme + "://" + resp.Request.URL.Host
	}
	return e
}

// missing says what does not exist when the API finds nothing at a path.
func missing(path string) string {
	segments := strings.Split(path, "/") // "", v1, list, name, …
	if len(segments) < 4 {
		return ""
	}
	kind, ok := map[string]string{
		"sessions": "session", "runs": "run", "deliveries": "delivery", "memory": "memory", "approvals": "approval", "cron": "job", "agents": "agent", "alerts": "alert", "alert-groups": "open alert group", "silences": "silence", "checks": "check", "hooks": "hook", "nodes": "node", "skills": "skill",
	}[segments[2]]
	name, err := url.PathUnescape(segments[3])
	switch {
	case err != nil || segments[2] == "nodes" && name == "approve": // the API says what is wrong with a code
		return ""
	case segments[2] == "hooks" && len(segments) > 5:
		id, _ := url.PathUnescape(segments[5])
		return fmt.Sprintf("the hook %s has no request %q, or there is no such hook: `sluice hooks list %s` shows those that are kept", name, id, name)
	case segments[2] == "why":
		return fmt.Sprintf("nothing has the id %q, or your token may not see it: `sluice why --help` lists what has an id", name)
	case !ok:
		return ""
	}
	group := strings.NewReplacer("alert-groups", "alerts groups", "silences", "alerts silences").Replace(segments[2]) // of commands
	return fmt.Sprintf("there is no %s %q: `sluice %s list` shows what there is", kind, name, group)
}

// Call sends a request and reads the whole answer, within [CallTimeout].
func (c *Client) Call(ctx context.Context, r Request) (Answer, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, CallTimeout, fmt.Errorf("no response within %s", CallTimeout))
	defer cancel()
	return c.CallSlowly(ctx, r)
}

// CallSlowly is [Client.Call] for requests that may take as long as the context allows.
func (c *Client) CallSlowly(ctx context.Context, r Request) (Answer, error) {
	resp, err := c.Open(ctx, r)
	if err != nil {
		return Answer{}, err
	}
	data, err := readAll(resp)
	if err != nil {
		return Answer{}, fmt.Errorf("read the gateway's response: %w", err)
	}
	return Answer{Body: data, Next: nextPage(resp.Header.Get("Link"))}, nil
}

// nextPage reads a Link header: what the next page comes after, or nothing on the last page.
func nextPage(link string) string {
	address, ok := strings.CutSuffix(strings.TrimPrefix(link, "<"), `>; rel="next"`)
	u, err := url.Parse(address)
	if !ok || err != nil {
		return ""
	}
	return u.Query().Get("after")
}

// Decode reads an answer's JSON.
func Decode[T any](a Answer) (T, error) {
	var got T
	if err := json.Unmarshal(a.Body, &got); err != nil {
		return got, fmt.Errorf("read the gateway's response: %w", err)
	}
	return got, nil
}

// Get sends a request and decodes its answer.
func Get[T any](ctx context.Context, c *Client, r Request) (T, error) {
	a, err := c.Call(ctx, r)
	if err != nil {
		var none T
		return none, err
	}
	return Decode[T](a)
}

// Ready asks how the gateway's components are. Unlike other requests it returns the answer whatever its status.
func (c *Client) Ready(ctx context.Context) (status int, body []byte, err error) {
	return Fetch(ctx, c.http, c.base+"/readyz", c.token)
}

// Fetch gets an address. Its error never contains the address, which may hold a secret.
func Fetch(ctx context.Context, client *http.Client, address, token string) (status int, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return 0, nil, errors.New("the address is not a URL")
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := client.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return 0, nil, err
	}
	body, err = readAll(resp)
	return resp.StatusCode, body, err
}

// readAll reads an answer, at most maxAnswerBytes of it, and closes it.
func readAll(resp *http.Response) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes))
	return body, errors.Join(err, resp.Body.Close())
}
