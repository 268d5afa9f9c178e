package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"sluice/internal/config"
)

// Environment variables of the commands that talk to a gateway.
const (
	EnvURL   = "SLUICE_URL"
	EnvToken = "SLUICE_TOKEN"
)

const (
	callTimeout    = 30 * time.Second // of a call that answers at once
	dialTimeout    = 5 * time.Second
	maxAnswerBytes = 64 << 20
)

func newTransport() *http.Transport {
	return &http.Transport{DialContext: (&net.Dialer{Timeout: dialTimeout}).DialContext, Proxy: nil} // the gateway is asked directly
}

// client talks to one gateway. Streams may be opened side by side; only one goroutine makes the other calls.
type client struct {
	http  *http.Client
	base  string
	token string
	next  string // where the page after the last answer begins; empty: that was the last
}

// apiError is what the gateway answered instead of a result.
type apiError struct {
	Status  int    `json:"-"`
	Code    string `json:"error"`
	Message string `json:"message"`
	missing string // what was asked for and is not there; empty if that can't be told
}

func (e *apiError) Error() string {
	switch {
	case e.Status == http.StatusUnauthorized:
		return "the gateway does not know this token: set " + EnvToken + ", or run where the gateway's state folder can be read"
	case e.Status == http.StatusNotFound && e.missing != "":
		return e.missing
	case e.Message != "":
		return e.Message
	}
	return fmt.Sprintf("the gateway answered %d %s", e.Status, http.StatusText(e.Status))
}

// client finds the gateway and its token: in the environment, else where the
// configuration says, else at the usual address.
func (a *app) client() (*client, error) {
	base, _ := a.Loader.Getenv(EnvURL)
	token, _ := a.Loader.Getenv(EnvToken)
	if base != "" && token != "" {
		return a.newClient(base, token)
	}
	cfg, err := a.load()
	if err != nil {
		return nil, err
	}
	if base == "" {
		base = "http://" + dialAddress(cfg.Gateway.Listen)
	}
	if token == "" {
		if token, err = tokenOf(cfg); err != nil {
			return nil, err
		}
	}
	return a.newClient(base, token)
}

func (a *app) newClient(base, token string) (*client, error) {
	if u, err := url.Parse(base); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, usageError{fmt.Sprintf("%s=%q: want an address such as http://%s", EnvURL, base, config.DefaultListen)}
	}
	return &client{http: a.http, base: strings.TrimSuffix(base, "/"), token: token}, nil
}

// load finds and reads the configuration; the defaults if there is no file.
func (a *app) load() (*config.Config, error) {
	path, err := a.Loader.Find(a.configPath)
	if err != nil {
		return nil, usageError{err.Error()}
	}
	return a.Loader.Load(path)
}

// dialAddress is where a gateway that listens on an address can be reached from this machine.
func dialAddress(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen
	}
	if ip := net.ParseIP(host); host == "" || (ip != nil && ip.IsUnspecified()) {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// tokenPath is where a gateway keeps the token that it has made.
func tokenPath(cfg *config.Config) string { return filepath.Join(cfg.State, "token") }

func tokenOf(cfg *config.Config) (string, error) {
	if cfg.Gateway.Token != "" {
		return cfg.Gateway.Token.Reveal(), nil
	}
	data, err := os.ReadFile(filepath.Clean(tokenPath(cfg)))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return "", fmt.Errorf("no token: there is no %s (start the gateway with `sluice serve`, or set %s)", tokenPath(cfg), EnvToken)
	case err != nil:
		return "", fmt.Errorf("read token: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
}

// request is one call of the API.
type request struct {
	method  string // empty for GET
	path    string // escaped
	query   url.Values
	body    any    // encoded as JSON; nil for none
	accept  string // empty for application/json
	headers map[string]string
}

// open sends a request and gives the answer of a call that went well; its body must be closed.
func (c *client) open(ctx context.Context, r request) (*http.Response, error) {
	var body io.Reader = http.NoBody
	if r.body != nil {
		data, err := json.Marshal(r.body)
		if err != nil {
			return nil, fmt.Errorf("encode request: %w", err)
		}
		body = bytes.NewReader(data)
	}
	address := c.base + r.path
	if len(r.query) > 0 {
		address += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, address, body)
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	req.Header.Set("Accept", orText(r.accept, "application/json"))
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	for name, value := range r.headers {
		req.Header.Set(name, value)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	if resp.StatusCode >= http.StatusBadRequest {
		return nil, readError(resp)
	}
	return resp, nil
}

// nextPage is where the page after one begins, as its Link says; empty where it is the last.
func nextPage(link string) string {
	address, ok := strings.CutSuffix(strings.TrimPrefix(link, "<"), `>; rel="next"`)
	u, err := url.Parse(address)
	if !ok || err != nil {
		return ""
	}
	return u.Query().Get("after")
}

func (c *client) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("ask the gateway: %w", context.Cause(ctx))
	}
	var op *net.OpError
	if errors.As(err, &op) && op.Op == "dial" {
		return fmt.Errorf("no gateway at %s: start one with `sluice serve`, or set %s", c.base, EnvURL)
	}
	return fmt.Errorf("ask the gateway: %w", err)
}

func readError(resp *http.Response) error {
	defer resp.Body.Close() //nolint:errcheck // nothing is written
	e := &apiError{Status: resp.StatusCode, missing: missing(resp.Request.URL.EscapedPath())}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes))
	if err != nil || json.Unmarshal(data, e) != nil {
		e.Message = "" // the status says enough
	}
	return e
}

// missing says what is not there when a path of the API is not found.
func missing(path string) string {
	parts := strings.Split(path, "/") // "", v1, list, name, …
	if len(parts) < 4 {
		return ""
	}
	one, ok := map[string]string{"sessions": "session", "runs": "run", "deliveries": "delivery", "memory": "memory", "approvals": "approval"}[parts[2]]
	name, err := url.PathUnescape(parts[3])
	if !ok || err != nil {
		return ""
	}
	return fmt.Sprintf("there is no %s %q: see `sluice %s list`", one, name, parts[2])
}

// call sends a request and gives the body of the answer, read whole.
func (c *client) call(ctx context.Context, r request) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, fmt.Errorf("the gateway did not answer within %s", callTimeout))
	defer cancel()
	return c.read(ctx, r)
}

func (c *client) read(ctx context.Context, r request) ([]byte, error) {
	resp, err := c.open(ctx, r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close() //nolint:errcheck // nothing is written
	c.next = nextPage(resp.Header.Get("Link"))
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes))
	if err != nil {
		return nil, fmt.Errorf("read answer: %w", err)
	}
	return data, nil
}

// decode decodes the answer of a request into out and gives it as it came, too.
func (c *client) decode(ctx context.Context, r request, out any) ([]byte, error) {
	data, err := c.call(ctx, r)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, out); err != nil {
		return nil, fmt.Errorf("read answer of %s: %w", r.path, err)
	}
	return data, nil
}

// queryOf makes query parameters of those that are not empty.
func queryOf(pairs ...string) url.Values {
	q := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			q.Set(pairs[i], pairs[i+1])
		}
	}
	return q
}

func orText(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
