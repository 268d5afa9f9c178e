package attacks_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// outside are two MCP servers: one that is told what is PUBLIC alone, and one whose answers are CONFIDENTIAL. Both remember what
// they were told, and answer with it. A third server is notified of the ends of tasks.
type outside struct {
	low, high *httptest.Server
	heardLow  record
	heardHigh record

	notified *httptest.Server
	posted   record // a line for each notification: its path and its body
}

func newOutside(t testing.TB) *outside {
	o := &outside{}
	o.low = serveMCP(t, &o.heardLow)
	o.high = serveMCP(t, &o.heardHigh)
	o.notified = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); err == nil {
			_, _ = fmt.Fprintf(&o.posted, "%s %s\n", r.URL.Path, body)
		}
	}))
	t.Cleanup(o.notified.Close)
	return o
}

// words are what both servers know the secrets of the scenes by.
var words = regexp.MustCompile(`WORD(\d+)`)

type said struct {
	Text string         `json:"text"`
	More map[string]any `json:"more,omitempty"`
}

func serveMCP(t testing.TB, heard *record) *httptest.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "tell", Description: "Hears something and says it."}, func(_ context.Context, r *sdk.CallToolRequest, in said) (*sdk.CallToolResult, any, error) {
		_, _ = heard.Write(r.Params.Arguments)
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: words.ReplaceAllString(in.Text, "zinc${1}quartz")}}}, nil, nil
	})
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	web := httptest.NewServer(handler)
	t.Cleanup(web.Close)
	return web
}
