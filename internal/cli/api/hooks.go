package api

import (
	"encoding/json"
	"time"
)

// HookList has hooks, or the requests to one.
type HookList struct {
	Hooks    []Hook        `json:"hooks"`
	Requests []HookRequest `json:"requests"`
}

// Hook is a configured hook.
type Hook struct {
	Name           string   `json:"name"`
	Path           string   `json:"path"`
	Preset         string   `json:"preset"`
	Signature      string   `json:"signature"`
	Classification string   `json:"classification"`
	Agent          string   `json:"agent"`
	Deliver        []string `json:"deliver"`
	Alert          bool     `json:"alert"`
}

// HookRequest is a request to a hook and what happened to it.
type HookRequest struct {
	ID      string `json:"id"`
	Hook    string `json:"hook"`
	Status  string `json:"status"`
	Why     string `json:"why"`
	Session string `json:"session"`
	Run     string `json:"run"`
	Sends   []struct {
		Target   string `json:"target"`
		Delivery string `json:"delivery"`
		State    string `json:"state"`
		Error    string `json:"error"`
	} `json:"sends"`
	Alerts   []string          `json:"alerts"`
	Label    json.RawMessage   `json:"label"`
	ReplayOf string            `json:"replay_of"`
	Headers  map[string]string `json:"headers"`
	Payload  string            `json:"payload"`
	Received time.Time         `json:"received"`
	Ended    time.Time         `json:"ended"`
}

// HookTest is what a hook makes of a payload.
type HookTest struct {
	Passes  bool   `json:"passes"`
	Why     string `json:"why"`
	Session string `json:"session"`
	Prompt  string `json:"prompt"`
	Alerts  []struct {
		Key      string            `json:"key"`
		Action   string            `json:"action"`
		Severity string            `json:"severity"`
		Title    string            `json:"title"`
		Text     string            `json:"text"`
		Source   string            `json:"source"`
		Labels   map[string]string `json:"labels"`
		Links    []string          `json:"links"`
	} `json:"alerts"`
	Label string `json:"label"`
}
