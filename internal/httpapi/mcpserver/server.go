package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"sluice/internal/httpapi/auth"
	"sluice/internal/httpapi/wire"
)

// Path is where the server is.
const Path = "/mcp"

const (
	// concurrent is how many requests are worked at the same time.
	concurrent = 256
	// resultMax is the size of the response of a tool, in bytes, at most.
	resultMax = 2 << 20
	// pageMax is how many sessions a page of resources has.
	pageMax = 100
	scheme  = "sluice://sessions/"
)

// Config has the dependencies of the server. All fields are required.
type Config struct {
	API     http.Handler    // the gateway's HTTP API with all its checks
	Ending  context.Context // ends when the gateway stops
	MaxBody int64           // bytes of a request's body
	Version string
	Log     *slog.Logger
}

// New makes the handler of [Path].
func New(cfg Config) http.Handler {
	s := &server{Config: cfg, tools: tools(), schemas: mcp.NewSchemaCache(), free: make(chan struct{}, concurrent)}
	s.mcp = mcp.NewStreamableHTTPHandler(s.of, &mcp.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: cfg.MaxBody, Logger: cfg.Log.With("part", "mcp server"),
		DisableLocalhostProtection: true, // the API checks the host itself, with the names that the configuration gives it
	})
	return s
}

// server has the tools.
type server struct {
	Config
	tools   []tool
	schemas *mcp.SchemaCache
	mcp     http.Handler
	free    chan struct{} // one for each request that is worked
}

// ServeHTTP implements [http.Handler].
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case s.free <- struct{}{}:
	default:
		wire.WriteError(w, wire.Unavailable("too many MCP requests at the same time; try again in a moment"))
		return
	}
	defer func() { <-s.free }()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.Ending, cancel)()
	s.mcp.ServeHTTP(w, r.WithContext(ctx))
}

// of makes the MCP server of one request, which calls the API as who has sent the request.
func (s *server) of(r *http.Request) *mcp.Server {
	c := &caller{api: s.API, request: r}
	m := mcp.NewServer(&mcp.Implementation{Name: "sluice", Title: "Sluice", Version: s.Version}, &mcp.ServerOptions{
		Instructions: "Conversations of agents with people: read them, say something to an agent and get its reply, send messages to chats, work with alerts and memories.",
		PageSize:     pageMax, SchemaCache: s.schemas,
	})
	for _, t := range s.tools {
		m.AddTool(t.spec, func(ctx context.Context, call *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return c.tool(ctx, t, call)
		})
	}
	m.AddResourceTemplate(&mcp.ResourceTemplate{
		Name: "session", Title: "A conversation", Description: "The newest messages of a session, as JSON", MIMEType: "application/json", URITemplate: scheme + "{id}",
	}, c.read)
	m.AddReceivingMiddleware(s.survive, c.listed)
	return m
}

var errInternal = errors.New(wire.ErrInternal.Message)

// survive answers a request whose handler panicked: the library has goroutines of its own.
func (s *server) survive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (result mcp.Result, err error) {
		defer func() {
			if p := recover(); p != nil {
				s.Log.Error("handler panicked", "path", Path, "method", method, "err", p, "stack", string(debug.Stack()))
				result, err = nil, errInternal
			}
		}()
		return next(ctx, method, req)
	}
}

// caller calls the API as who has sent an MCP request.
type caller struct {
	api     http.Handler
	request *http.Request
	counted atomic.Bool // set by the first request to the API, which limits have counted as the MCP request; all others count too
}

// request is a request to the API.
type request struct {
	method, path string
	query        url.Values
	body         any
	key          string // Idempotency-Key
}

// call makes a request, and returns the response's status and body.
//
// It ends when the client goes away: the library lets calls of older clients go on then. A run that was begun goes on, too.
func (c *caller) call(ctx context.Context, q request) (status int, header http.Header, body []byte, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(c.request.Context(), cancel)()
	var content io.Reader = http.NoBody
	if q.body != nil {
		text, err := json.Marshal(q.body)
		if err != nil {
			return 0, nil, nil, fmt.Errorf("encode request: %w", err)
		}
		content = bytes.NewReader(text)
	}
	if !c.counted.Swap(true) {
		ctx = auth.Counted(ctx)
	}
	r, err := http.NewRequestWithContext(ctx, q.method, q.path, content)
	if err != nil {
		return 0, nil, nil, fmt.Errorf("make request: %w", err)
	}
	r.URL.RawQuery = q.query.Encode()
	r.Host, r.RemoteAddr, r.TLS = c.request.Host, c.request.RemoteAddr, c.request.TLS
	r.Header.Set("Accept", "application/json")
	for _, name := range []string{"Authorization", "Sluice-Client"} {
		if v := c.request.Header.Get(name); v != "" {
			r.Header.Set(name, v)
		}
	}
	if q.body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if q.key != "" {
		r.Header.Set("Idempotency-Key", q.key)
	}
	w := &recorder{header: http.Header{}, status: http.StatusOK}
	c.api.ServeHTTP(w, r)
	if w.cut {
		return 0, nil, nil, fmt.Errorf("the response has more than %d bytes: ask for less with limit", resultMax)
	}
	return w.status, w.header, w.body.Bytes(), nil
}

// recorder keeps a response.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
	cut    bool
}

// Header implements [http.ResponseWriter].
func (w *recorder) Header() http.Header { return w.header }

// WriteHeader implements [http.ResponseWriter].
func (w *recorder) WriteHeader(status int) { w.status = status }

// Write implements [io.Writer].
func (w *recorder) Write(p []byte) (int, error) {
	if w.body.Len()+len(p) > resultMax {
		w.cut = true
		return 0, io.ErrShortBuffer
	}
	return w.body.Write(p)
}

// tool calls a tool. An error of the API is a result that says so.
func (c *caller) tool(ctx context.Context, t tool, call *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	q, err := t.request(call.Params.Arguments)
	if err != nil {
		return failed(err.Error()), nil
	}
	status, header, body, err := c.call(ctx, q)
	if err != nil {
		return failed(err.Error()), nil
	}
	if status >= http.StatusMultipleChoices {
		return failed(problem(status, body)), nil
	}
	if t.more != nil {
		if body, err = t.more(ctx, c, call.Params.Arguments, body); err != nil {
			return failed(err.Error()), nil
		}
	}
	if len(body) == 0 {
		body = []byte(`{"ok":true}`)
	}
	if t.list != "" {
		body = slices.Concat([]byte(`{"`+t.list+`":`), body, []byte("}"))
	}
	result := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(body)}}}
	var object map[string]any
	if json.Unmarshal(body, &object) == nil {
		if next := after(header); next != "" {
			object["after"] = next
			if text, err := json.Marshal(object); err == nil {
				result.Content = []mcp.Content{&mcp.TextContent{Text: string(text)}}
			}
		}
		result.StructuredContent = object
	}
	return result, nil
}

// after is where the next page begins; empty on the last page.
func after(header http.Header) string {
	link, rel, _ := strings.Cut(header.Get("Link"), ";")
	u, err := url.Parse(strings.Trim(strings.TrimSpace(link), "<>"))
	if err != nil || !strings.Contains(rel, "next") {
		return ""
	}
	return u.Query().Get("after")
}

// problem is the text of an error of the API.
func problem(status int, body []byte) string {
	var e wire.Error
	if json.Unmarshal(body, &e) == nil && e.Message != "" {
		return e.Message
	}
	return fmt.Sprintf("%d %s", status, http.StatusText(status))
}

func failed(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}
