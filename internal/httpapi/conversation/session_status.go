package conversation

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"sluice/announce"
	"sluice/internal/httpapi/auth"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

// statusKey is the key in a session's metadata below which its tools say how they are.
const statusKey = "sluice"

// toolStatus is what tools of a session say in its metadata. What has nothing to say is left out.
type toolStatus struct {
	Todos *todoStatus `json:"todos,omitempty"`
	Tasks int         `json:"tasks,omitempty"` // sub-agents at work for the session
}

// todoStatus counts the items of a session's to-do list.
type todoStatus struct {
	Open  int `json:"open"`
	Doing int `json:"doing"`
	Done  int `json:"done"`
}

// statusOf is the status of the tools of a session, as far as the caller may know it.
func (a *SessionAPI) statusOf(ctx context.Context, who auth.Caller, id sessions.ID) (status toolStatus, err error) {
	todos, err := a.Rows.Todos(ctx, id)
	if err != nil {
		return status, fmt.Errorf("read to-do list: %w", err)
	}
	for _, t := range todos {
		if !who.Sees(t.Label) {
			continue
		}
		if status.Todos == nil {
			status.Todos = &todoStatus{}
		}
		switch t.Status {
		case sessions.TodoDoing:
			status.Todos.Doing++
		case sessions.TodoDone:
			status.Todos.Done++
		default:
			status.Todos.Open++
		}
	}
	level := who.Level
	if who.SeesAll() {
		level = flow.Restricted
	}
	tasks, err := a.Exchanges.ListExchanges(ctx, ledger.ExchangeQuery{MaxLevel: level, Requester: id, Kind: announce.Spawn, Open: true, Limit: ledger.MaxPage})
	if err != nil {
		return status, fmt.Errorf("read tasks: %w", err)
	}
	status.Tasks = len(tasks)
	return status, nil
}

// withStatus is metadata with the status of the session's tools. What the creator attached stays as it is, byte for byte.
func withStatus(metadata json.RawMessage, status toolStatus) json.RawMessage {
	if status == (toolStatus{}) {
		return metadata
	}
	said, err := json.Marshal(status)
	begin, closed := bytes.CutSuffix(bytes.TrimSpace(metadata), []byte("}"))
	if err != nil || !closed {
		return metadata
	}
	var out bytes.Buffer
	out.Write(begin)
	if len(bytes.TrimSpace(begin)) > 1 {
		out.WriteByte(',')
	}
	fmt.Fprintf(&out, "%q:%s}", statusKey, said)
	return out.Bytes()
}

// withoutStatus is metadata from a request without the status that an earlier response had in it. null counts as none.
func withoutStatus(metadata json.RawMessage) json.RawMessage {
	var keys map[string]json.RawMessage
	if json.Unmarshal(metadata, &keys) != nil {
		return metadata
	}
	if keys == nil {
		return nil
	}
	if keys[statusKey] == nil {
		return metadata
	}
	delete(keys, statusKey)
	rest, err := json.Marshal(keys)
	if err != nil {
		return metadata // what was read can be written
	}
	return rest
}
