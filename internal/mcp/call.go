package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sluice/policy/flow"
	"sluice/sessions"
)

const (
	resultMax = 64 << 10 // bytes of a result that a model gets
	callSpare = 15 * time.Second
)

// call asks the server to run a tool. The whole response, even a failure, has the server's label joined with the
// caller's.
func (v *server) call(ctx context.Context, tool string, args json.RawMessage, taint flow.Label) (sessions.ToolResult, error) {
	ctx, cancel := context.WithTimeout(ctx, v.Timeout)
	defer cancel()
	select {
	case v.slots <- struct{}{}:
		defer func() { <-v.slots }()
	case <-ctx.Done():
		return sessions.ToolResult{}, fmt.Errorf("the MCP server %s is busy with other calls; try again later", v.Name)
	}
	v.mu.Lock()
	conn := v.conn
	v.mu.Unlock()
	if conn == nil {
		return sessions.ToolResult{}, fmt.Errorf("the MCP server %s can't be reached now; its owner can see why with sluice doctor", v.Name)
	}
	result := sessions.ToolResult{Label: taint.Join(v.label())}
	got, err := conn.call(ctx, tool, args)
	switch {
	case err != nil:
		result.Text, result.Failed = v.failure(ctx, conn, err), true
	default:
		result.Text, result.Failed = render(got), got.IsError
		if result.Failed && result.Text == "" {
			result.Text = "the tool failed and does not say why"
		}
	}
	v.metrics.calls.WithLabelValues(v.Name, outcome(result)).Inc()
	return result, nil
}

// misfit returns the result of a call whose arguments do not match the tool's schema, without asking the server. Its
// text may quote the schema, so it has the server's label.
func (v *server) misfit(wrong error, taint flow.Label) sessions.ToolResult {
	result := sessions.ToolResult{Text: "not called: " + bounded(plain(wrong.Error()), detailMax), Failed: true, Label: taint.Join(v.label())}
	v.metrics.calls.WithLabelValues(v.Name, outcome(result)).Inc()
	return result
}

func outcome(r sessions.ToolResult) string {
	if r.Failed {
		return "error"
	}
	return "ok"
}

func (c *connection) call(ctx context.Context, tool string, args json.RawMessage) (*sdk.CallToolResult, error) {
	ctx, done := c.during(ctx)
	defer done()
	return c.session.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: args})
}

// failure describes a call without a result.
func (v *server) failure(ctx context.Context, conn *connection, err error) string {
	r, refused := refusal(err)
	switch {
	case refused:
		return fmt.Sprintf("the MCP server %s refused the call: %s", v.Name, bounded(plain(r.Message), resultMax))
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Sprintf("the MCP server %s did not answer within %s; the call may have taken effect", v.Name, v.Timeout)
	case conn.life.Err() != nil, errors.Is(err, sdk.ErrConnectionClosed):
		return fmt.Sprintf("the connection to the MCP server %s broke; the call may have taken effect", v.Name)
	}
	v.cfg.Log.Warn("call of MCP server failed", "err", conn.explain(ctx, err))
	return fmt.Sprintf("the call of the MCP server %s failed; it may have taken effect", v.Name)
}

// render returns a result as the model gets it.
func render(r *sdk.CallToolResult) string {
	var parts []string
	value := structured(r.StructuredContent)
	for _, c := range r.Content {
		text := describeContent(c)
		if same(text, value) {
			value = "" // servers repeat it as text for older clients
		}
		parts = append(parts, text)
	}
	if value != "" {
		parts = append(parts, value)
	}
	return cut(plain(strings.Join(parts, "\n")), resultMax)
}

func structured(content any) string {
	if content == nil {
		return ""
	}
	text, err := json.Marshal(content)
	if err != nil {
		return "" // it was received as JSON
	}
	return string(text)
}

// same reports whether a text is a JSON value, regardless of its formatting.
func same(text, value string) bool {
	var compact bytes.Buffer
	if value == "" || json.Compact(&compact, []byte(text)) != nil {
		return false
	}
	if compact.String() == value {
		return true
	}
	var decoded any
	if json.Unmarshal(compact.Bytes(), &decoded) != nil {
		return false
	}
	return structured(decoded) == value // with sorted keys
}

// describeContent returns one content item of a result: a text unchanged, anything else in words.
func describeContent(content sdk.Content) string {
	switch c := content.(type) {
	case *sdk.TextContent:
		return c.Text
	case *sdk.ImageContent:
		return fmt.Sprintf("[a picture, %s, %d bytes: not shown]", bounded(c.MIMEType, loggedMax), len(c.Data))
	case *sdk.AudioContent:
		return fmt.Sprintf("[a sound, %s, %d bytes: not played]", bounded(c.MIMEType, loggedMax), len(c.Data))
	case *sdk.ResourceLink:
		return fmt.Sprintf("[a link to %s: %s]", bounded(c.URI, detailMax), bounded(c.Name, loggedMax))
	case *sdk.EmbeddedResource:
		return resource(c.Resource)
	}
	return "[something that can't be shown]"
}

func resource(r *sdk.ResourceContents) string {
	switch {
	case r == nil:
		return "[something that can't be shown]"
	case r.Blob != nil:
		return fmt.Sprintf("[the file %s, %s, %d bytes: not shown]", bounded(r.URI, detailMax), bounded(r.MIMEType, loggedMax), len(r.Blob))
	}
	return r.Text
}

// cut shortens a text and says so.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	kept := bounded(text, most)
	return fmt.Sprintf("%s\n[cut here: the answer has %d bytes, %d are shown]", kept, len(text), most)
}
