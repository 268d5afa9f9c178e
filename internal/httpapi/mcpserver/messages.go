package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"sluice/sessions"
)

// messagesMax is how many messages a row of a list shows.
const messagesMax = 20

// withMessages lets a tool that lists sessions show the newest messages of each, without the results of tools.
func withMessages(t tool) tool {
	t.more = func(ctx context.Context, c *caller, args json.RawMessage, body []byte) ([]byte, error) {
		var in struct {
			Messages int `json:"messageLimit"`
		}
		_ = json.Unmarshal(args, &in) // they were read before
		if in.Messages == 0 {
			return body, nil
		}
		var rows []map[string]json.RawMessage
		if err := json.Unmarshal(body, &rows); err != nil {
			return nil, fmt.Errorf("read sessions: %w", err)
		}
		size := len(body)
		for _, row := range rows {
			var id string
			if err := json.Unmarshal(row["id"], &id); err != nil {
				return nil, fmt.Errorf("read session: %w", err)
			}
			said, err := c.newest(ctx, id, min(in.Messages, messagesMax))
			if err != nil {
				return nil, err
			}
			if size += len(said); size > resultMax {
				return nil, fmt.Errorf("the result has more than %d bytes: ask for less with limit or messageLimit", resultMax)
			}
			row["messages"] = said
		}
		return json.Marshal(rows)
	}
	return t
}

// newest are the newest messages of a session, as a JSON array. A session that was deleted in the meantime has none.
func (c *caller) newest(ctx context.Context, id string, n int) (json.RawMessage, error) {
	status, _, body, err := c.call(ctx, get(at("sessions", id, "history"), nil))
	switch {
	case err != nil:
		return nil, err
	case status == http.StatusNotFound:
		return json.RawMessage("[]"), nil
	case status != http.StatusOK:
		return nil, errors.New(problem(status, body))
	}
	var shown struct {
		Messages []json.RawMessage `json:"messages"`
	}
	if err := json.Unmarshal(body, &shown); err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	said := slices.DeleteFunc(shown.Messages, func(raw json.RawMessage) bool {
		var m struct {
			Role string `json:"role"`
		}
		return json.Unmarshal(raw, &m) != nil || m.Role == string(sessions.RoleToolResult)
	})
	return json.Marshal(append([]json.RawMessage{}, said[max(0, len(said)-n):]...))
}
