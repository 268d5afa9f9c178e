// Package record has what is stored of a session besides its messages, its settings, the change that one transaction
// makes, and the port of the store.
package record

import (
	"encoding/json"
	"time"

	"sluice/policy/flow"

	"sluice/sessions/address"
	"sluice/sessions/message"
	"sluice/sessions/turn"
)

// SendPolicy is a session's override of the configured send policy.
type SendPolicy string

// The overrides; SendInherit follows the configuration.
const (
	SendInherit SendPolicy = ""
	SendAllow   SendPolicy = "allow"
	SendDeny    SendPolicy = "deny"
)

// Activation is a session's override of whether a group must mention the bot.
type Activation string

// The overrides; ActivationInherit follows the configuration.
const (
	ActivationInherit Activation = ""
	ActivationMention Activation = "mention"
	ActivationAlways  Activation = "always"
)

// Record is a session's stored state without its messages.
type Record struct {
	ID        address.ID
	Key       address.Key
	Agent     string
	Partition int
	SpawnedBy address.ID // the session that has started this one as a sub-agent; empty for none
	Revision  int64      // grows with each write; two writers: one gets a conflict

	Taint     flow.Label // join of everything that the session has learnt
	Clearance flow.Level // highest level it may ever reach

	Route         address.Route // where it last heard from somebody; for display and for `last` only
	SendPolicy    SendPolicy
	Activation    Activation
	Model         flow.Text // override; empty follows the agent
	ThinkingLevel ThinkingLevel
	VerboseLevel  VerboseLevel
	Temperature   Temperature
	MaxTokens     int               // override of an answer's length in tokens; 0 follows the agent
	Voice         bool              // people also get its replies as recordings
	QueueMode     turn.QueueMode    // override; empty follows the configuration
	Head          address.MessageID // leaf of the selected thread; empty for none
	Compacted     address.MessageID // summary message that stands before the kept ones; empty for none

	Title      flow.Text
	Label      flow.Text       // name that people gave it, for display; at most [LabelMax] bytes
	Metadata   json.RawMessage // free-form JSON object of the creator
	FileAccess FileAccess
	Persistent bool
	TTL        time.Duration // hard cap on its life from Created; 0 for none

	Usage        message.Usage // sum over its completions
	ContextSize  int           // tokens of the last prompt
	AbortedLast  bool
	Created      time.Time
	LastActivity time.Time
	Ended        time.Time // reset, deleted or archived; zero while it lives
	Archived     bool      // set with Ended: nothing works in it from then on, and its transcript stays readable
}

// Readable reports whether a session's transcript may still be read: it lives or is archived.
func (r Record) Readable() bool { return r.Ended.IsZero() || r.Archived }

// FileAccess scopes the workspace paths that a session sees. An empty string is everything.
type FileAccess struct {
	Read  []string `json:"read"`
	Write []string `json:"write"`
}
