package ledger

import (
	"encoding/json"
	"time"

	"sluice/policy/flow"
	"sluice/sessions"
)

// JobOrigin says where a job is written down.
type JobOrigin string

// The origins of jobs.
const (
	JobOfFile JobOrigin = "file" // in sluice.yaml; its row only says that it is paused
	JobMade   JobOrigin = "made" // at run time; its row is the job
)

// Job is the row of a job. Origin and ID together are unique. A job of the file has a row only after somebody has paused it.
type Job struct {
	Origin    JobOrigin
	ID        string
	Revision  int64 // 1 when it is inserted; each change adds 1
	Gone      bool  // in a change: the row is removed
	Partition int   // of its triggers
	Label     flow.Label
	Session   sessions.ID // that made it; empty: a person or a program did
	JobDetail
	Created time.Time
	Changed time.Time
}

// JobDetail is what no query selects by.
type JobDetail struct {
	Object json.RawMessage `json:"object,omitempty"` // the job as in sluice.yaml, as JSON
	Paused bool            `json:"paused,omitempty"`
	Maker  string          `json:"maker,omitempty"`  // who made it, as the audit trail names people
	By     string          `json:"by,omitempty"`     // who changed, paused or resumed it last
	Home   sessions.Route  `json:"home,omitzero"`    // the conversation of its session, its default target
	Limits bool            `json:"limits,omitempty"` // its maker had no owner's authority: it delivers to its home or the owner only
	// Agent is set for a job that an agent has made: it works on the prompt.
	Agent     string     `json:"agent,omitempty"`
	Clearance flow.Level `json:"clearance,omitzero"` // of the session that made it; invalid: that of the job's label
}

// JobQuery selects rows of jobs by their ids, in their order.
type JobQuery struct {
	MaxLevel flow.Level
	Session  sessions.ID // empty: all
	Limit    int
	After    string // the id of the previous page's last row
	Bound    *Bound
}

// JobCount is how many jobs were made at run time.
type JobCount struct {
	All     int
	Session int // by one session
	Recent  int // by this session since the given time
}

// TriggerQuery selects the triggers of a subject, newest first.
type TriggerQuery struct {
	Source   TriggerSource
	Subject  string
	MaxLevel flow.Level
	Limit    int
	After    string // the key of the previous page's last row
	Bound    *Bound
}
