package ledger

import (
	"time"

	"sluice/policy/flow"
)

// Check is what a check of the configuration last found. There is one row for each check.
type Check struct {
	Name     string
	Revision int64 // 1 when it is inserted; each change adds 1
	Label    flow.Label
	CheckDetail
	Looked time.Time // the last look, successful or not
}

// CheckDetail is what no query selects by.
type CheckDetail struct {
	Plan    string    `json:"plan"`             // the definition by which it looked; the value of another one does not count
	Hash    string    `json:"hash,omitempty"`   // of the whole value; empty until there is one
	Value   string    `json:"value,omitempty"`  // the beginning of the value, as JSON
	Before  string    `json:"before,omitempty"` // the value before, cut like it
	Changed time.Time `json:"changed,omitzero"` // when this value was first seen
	Holds   bool      `json:"holds,omitempty"`  // its condition holds for this value
	News    int64     `json:"news,omitempty"`   // counts the changes that somebody is to hear of
	Tells   bool      `json:"tells,omitempty"`  // its value is news also for those who see it first: it has a condition, which holds
	Error   string    `json:"error,omitempty"`  // why the last look failed
	Failing time.Time `json:"failing,omitzero"` // the first of the looks that failed one after the other
	Fails   int       `json:"fails,omitempty"`  // how many
}
