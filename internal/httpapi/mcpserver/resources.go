package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// session is what a list of resources says of a session.
type session struct {
	ID           string    `json:"id"`
	Key          string    `json:"key"`
	Title        string    `json:"title"`
	LastActivity time.Time `json:"lastActivity"`
}

// listed answers resources/list with the sessions that the caller may know of, most recently active first.
func (c *caller) listed(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		list, ok := req.(*mcp.ListResourcesRequest)
		if !ok || method != "resources/list" {
			return next(ctx, method, req)
		}
		q := request{method: http.MethodGet, path: "/v1/sessions", query: url.Values{"limit": {strconv.Itoa(pageMax)}}}
		if list.Params != nil && list.Params.Cursor != "" {
			q.query.Set("after", list.Params.Cursor)
		}
		status, header, body, err := c.call(ctx, q)
		if err == nil && status != http.StatusOK {
			err = errors.New(problem(status, body))
		}
		var found []session
		if err == nil {
			err = json.Unmarshal(body, &found)
		}
		if err != nil {
			return nil, fmt.Errorf("list sessions: %w", err)
		}
		out := &mcp.ListResourcesResult{NextCursor: after(header), Resources: []*mcp.Resource{}}
		for _, s := range found {
			out.Resources = append(out.Resources, &mcp.Resource{URI: scheme + s.ID, Name: s.Key, Title: s.Title, MIMEType: "application/json"})
		}
		return out, nil
	}
}

// read reads a session: its newest messages.
func (c *caller) read(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	id, ok := strings.CutPrefix(req.Params.URI, scheme)
	if !ok || id == "" || strings.Contains(id, "/") {
		return nil, mcp.ResourceNotFoundError(req.Params.URI)
	}
	status, _, body, err := c.call(ctx, request{method: http.MethodGet, path: "/v1/sessions/" + url.PathEscape(id) + "/history"})
	if err != nil {
		return nil, err
	}
	if status == http.StatusNotFound {
		return nil, mcp.ResourceNotFoundError(req.Params.URI)
	}
	if status != http.StatusOK {
		return nil, errors.New(problem(status, body))
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: "application/json", Text: string(body)}}}, nil
}
