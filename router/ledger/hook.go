package ledger

import (
	"time"

	"sluice/policy/flow"
)

// HookRequest is a request to a hook, as it was received. It is stored in one commit with its trigger, which has the same key.
type HookRequest struct {
	Key  string // "hook/<name>/<request id>"
	Hook string // its name
	ID   string // of the request
	// Once identifies the request's signed content, where the signature does not cover the id; else empty. The same content under
	// another id is a repetition.
	Once   string
	Digest string // of the body; the same id with another body is refused
	Label  flow.Label
	HookDetail
	Payload  []byte // the body as it was received
	Received time.Time
}

// HookDetail is what no query selects by.
type HookDetail struct {
	Type     string            `json:"type,omitempty"`    // the body's media type
	Headers  map[string]string `json:"headers,omitempty"` // by their names in lower case, without those that prove the sender
	Query    map[string]string `json:"query,omitempty"`
	ReplayOf string            `json:"replayOf,omitempty"` // the id of the request that somebody has sent again
}

// HookQuery selects the requests of a hook, newest first, without their payloads.
type HookQuery struct {
	Hook     string
	MaxLevel flow.Level
	Limit    int
	After    string // the key of the previous page's last row
	Bound    *Bound
}

// HookWindow is how long the ids of requests are kept at least: a repetition within this time is noticed.
const HookWindow = 7 * 24 * time.Hour
