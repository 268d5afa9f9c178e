package api

import "time"

// CheckList are all checks.
type CheckList struct {
	Checks []Check `json:"checks"`
}

// Check is something that the gateway reads, with what it found last.
type Check struct {
	Name    string    `json:"name"`
	Source  string    `json:"source"`
	Every   string    `json:"every"`
	Label   string    `json:"label"`
	Value   string    `json:"value"`
	Before  string    `json:"before"`
	Changed time.Time `json:"changed"`
	Holds   bool      `json:"holds"`
	Looked  time.Time `json:"looked"`
	Error   string    `json:"error"`
	Fails   int       `json:"fails"`
	Failing time.Time `json:"failing"`
}
