// Package alert has the alert as an object, and the decisions about alerts: which route an alert takes, which silence or
// other alert keeps it quiet, and what a group of alerts says to its receiver. Nothing here reads a clock or a database.
package alert

import (
	"maps"
	"time"

	"sluice/internal/alert/intake"
	"sluice/policy/flow"
)

// Severity is how bad an alert is.
type Severity string

// The severities, worst first.
const (
	Critical Severity = "critical"
	Error    Severity = "error"
	Warning  Severity = "warning"
	Info     Severity = "info"
)

// Severities lists the severities, worst first.
func Severities() []Severity { return []Severity{Critical, Error, Warning, Info} }

// Status is the state of an alert.
//
//	firing ──► acknowledged ──► resolved | expired
//	   └──────────────────────────┘
type Status string

// The statuses. Firing and acknowledged alerts are open.
const (
	Firing       Status = "firing"
	Acknowledged Status = "acknowledged"
	Resolved     Status = "resolved"
	Expired      Status = "expired" // the sender did not repeat it in time
)

// Open reports whether the alert is not over.
func (s Status) Open() bool { return s == Firing || s == Acknowledged }

// Link is an address that helps to look into an alert.
type Link struct {
	Title string `json:"title,omitempty"`
	URL   string `json:"url"`
}

// Alert is something that somebody should know and answer for. Its key is unique: the same key again is one more
// occurrence of the same alert.
type Alert struct {
	Key      string
	Revision int64 // 1 when it is inserted; each change adds 1
	Status   Status
	Severity Severity
	Source   string     // who reported it, for example "cron/brief", "alertmanager" or "gateway"
	Label    flow.Label // of everything below that a sender or a person has written
	Started  time.Time
	Ends     time.Time // when it expires unless it is repeated; zero: when somebody resolves it
	Updated  time.Time
	Ended    time.Time // zero while it is open
	Detail
}

// Detail is what no query selects by.
type Detail struct {
	Title        string            `json:"title,omitempty"`
	Text         string            `json:"text,omitempty"`
	Labels       map[string]string `json:"labels,omitempty"`
	Annotations  map[string]string `json:"annotations,omitempty"`
	Links        []Link            `json:"links,omitempty"`
	GeneratorURL string            `json:"generator_url,omitempty"`
	Occurrences  int               `json:"occurrences"`
	Groups       []string          `json:"groups,omitempty"` // keys of the groups in which it is reported
	By           string            `json:"by,omitempty"`     // who acknowledged or resolved it
	At           time.Time         `json:"at,omitzero"`      // when
	// Discreet: a place that may not know the alert is not even told that there is one, and the alert keeps no other quiet.
	Discreet bool `json:"discreet,omitempty"`
}

// Matched are the labels that routes, silences and inhibition see: the sender's, and key, severity and source, which a
// sender's label of that name does not replace.
func (a *Alert) Matched() map[string]string {
	all := make(map[string]string, len(a.Labels)+3)
	maps.Copy(all, a.Labels)
	all["key"], all["severity"], all["source"] = a.Key, string(a.Severity), a.Source
	return all
}

// Over reports whether an alert has ended by a time.
func (a *Alert) Over(now time.Time) bool {
	return !a.Status.Open() || !a.Ends.IsZero() && !a.Ends.After(now)
}

// Action is what an incoming report does to its alert.
type Action string

// The actions. An empty action is Fire.
const (
	Fire        Action = "fire"
	Acknowledge Action = "acknowledge"
	Resolve     Action = "resolve"
)

// Incoming is a report about an alert.
type Incoming struct {
	Action       Action
	Key          string
	Severity     Severity // empty: warning
	Title, Text  string
	Labels       map[string]string
	Annotations  map[string]string
	Links        []Link
	GeneratorURL string
	Source       string     // who reports; only the same source can acknowledge or resolve it with a report
	Label        flow.Label // required: of everything in the report
	Discreet     bool       // see [Detail]
	Started      time.Time  // zero: now
	// Ends is when the alert expires unless it is reported again. Zero: never by itself, so the sender resolves it.
	Ends time.Time
	// Once: if a person has resolved the alert, a report with the same Ends does not open it again.
	Once bool
}

// Reported is what another program says about an alert, as a report.
func Reported(e intake.Event, source string, label flow.Label) Incoming {
	in := Incoming{
		Action: Action(e.Action), Key: e.Key, Severity: Severity(e.Severity), Title: e.Title, Text: e.Text,
		Labels: e.Labels, Annotations: e.Annotations, GeneratorURL: e.GeneratorURL,
		Source: source, Label: label, Started: e.Starts, Ends: e.Ends,
	}
	for _, l := range e.Links {
		in.Links = append(in.Links, Link{Title: l.Title, URL: l.URL})
	}
	return in
}

// Reason is why a notification went out.
type Reason string

// The reasons. An empty reason is a change of what is shown, for example who has acknowledged.
const (
	First        Reason = "first"
	NewInGroup   Reason = "new_in_group"
	SomeResolved Reason = "some_resolved"
	AllResolved  Reason = "all_resolved"
	Repeat       Reason = "repeat"
	Escalation   Reason = "escalation"
)

// NoteStatus is the state of a notification.
type NoteStatus string

// The states of a notification.
const (
	NoteQueued  NoteStatus = "queued"  // it has a delivery
	NoteWaiting NoteStatus = "waiting" // quiet hours or the target's budget hold it back; the next digest has it
	NoteSummed  NoteStatus = "summed"  // a digest has it
	NoteFailed  NoteStatus = "failed"  // its target has no route
)

// Note is a notification: what a group said to a target, and why.
type Note struct {
	Key      string // "alert/<group key>/<target>/<sequence>"
	Group    string
	Target   string
	Sequence int
	Reason   Reason
	Status   NoteStatus
	Delivery string // id of its message; may be empty
	Label    flow.Label
	Created  time.Time
	NoteDetail
}

// NoteDetail is what no query selects by.
type NoteDetail struct {
	Alerts   []string `json:"alerts,omitempty"` // keys
	Line     string   `json:"line,omitempty"`   // what a digest says
	Withheld bool     `json:"withheld,omitempty"`
	Edits    bool     `json:"edits,omitempty"` // it edits the message that was posted before
	Free     bool     `json:"free,omitempty"`  // it does not count in the target's budget, because an alert in it is critical
	Step     int      `json:"step,omitempty"`  // of an escalation, from 1
	Why      string   `json:"why,omitempty"`
}

// Group is a set of alerts that are reported together. Its row is looked at when it is due.
type Group struct {
	Key       string
	Revision  int64
	Partition int
	Epoch     int64 // of the partition's owner that writes; 0: not checked
	Open      bool
	Due       time.Time  // when its owner handles it next
	Earliest  time.Time  // a report makes it due then, but not before
	Label     flow.Label // of all that it has known since it opened
	Created   time.Time  // when it opened
	GroupDetail
}

// GroupDetail is what no query selects by.
type GroupDetail struct {
	Kind     string            `json:"kind,omitempty"` // empty: alerts; "digest": what one target was not told at once
	Route    string            `json:"route,omitempty"`
	Receiver string            `json:"receiver,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`
	Told     Told              `json:"told,omitzero"`
	Posts    map[string]Post   `json:"posts,omitempty"` // by target
	Sequence int               `json:"sequence"`        // of the last notification
	Step     StepState         `json:"step,omitzero"`
}

// Told is what the receiver knows.
type Told struct {
	At      time.Time         `json:"at,omitzero"`      // of the last notification
	Flushed time.Time         `json:"flushed,omitzero"` // when the group was last looked at after its wait
	Alerts  map[string]Status `json:"alerts,omitempty"`
	Held    bool              `json:"held,omitempty"` // quiet hours held it back
}

// Post is the message of a group at a target.
type Post struct {
	Delivery string    `json:"delivery"`
	At       time.Time `json:"at"`
	Withheld bool      `json:"withheld,omitempty"`
	Edits    string    `json:"edits,omitempty"` // the delivery of the last edit
	Stale    bool      `json:"stale,omitempty"` // it shows an old state, and is edited once it has arrived
}

// StepState is where an escalation stands.
type StepState struct {
	Next     int       `json:"next"`                // index of the next step
	Repeats  int       `json:"repeats"`             // how often the last step was repeated
	At       time.Time `json:"at,omitzero"`         // when the present step notified
	Counted  time.Time `json:"counted,omitzero"`    // when the present step had a receipt
	Notes    []string  `json:"notes,omitempty"`     // deliveries of the present step
	FellBack bool      `json:"fell_back,omitempty"` // the owner was told because the last step reached nobody
}

// Touch makes a group due because an alert in it has changed.
type Touch struct {
	Group Group     // as it is inserted if it does not exist
	Alert string    // joins the group; empty: it is in it
	Due   time.Time // if the group is closed or new
	Now   bool      // an open group is due at once, because a person waits
}

// Member is an alert that leaves a group.
type Member struct{ Group, Alert string }

// Matcher selects by one label.
type Matcher struct {
	Name    string `json:"name"`
	Value   string `json:"value"`
	IsRegex bool   `json:"isRegex"`
	IsEqual bool   `json:"isEqual"`
}

// Silence keeps alerts quiet for a time. Alerts are taken in, but their receivers are not told.
type Silence struct {
	ID       string
	Revision int64
	Starts   time.Time
	Ends     time.Time
	Updated  time.Time
	Label    flow.Label // of its text and matchers
	SilenceDetail
}

// SilenceDetail is what no query selects by.
type SilenceDetail struct {
	Matchers []Matcher `json:"matchers"`
	Author   string    `json:"author"`
	Comment  string    `json:"comment,omitempty"`
	// Reach is the highest level of alerts that who made it may know: no others are kept quiet. Zero, of what an earlier
	// version has stored: all of them.
	Reach flow.Level `json:"reach,omitzero"`
}

// Reaches reports whether a silence may keep an alert with a label quiet.
func (s *SilenceDetail) Reaches(label flow.Label) bool {
	return !s.Reach.Valid() || label.FlowsTo(s.Reach)
}

// State is "pending", "active" or "expired", as in Alertmanager.
func (s *Silence) State(now time.Time) string {
	switch {
	case !s.Ends.After(now):
		return "expired"
	case s.Starts.After(now):
		return "pending"
	}
	return "active"
}

// Tally is how many open alerts have a status and a severity.
type Tally struct {
	Status   Status
	Severity Severity
	Count    int
}

// Total is the number of alerts in tallies.
func Total(all []Tally) (n int) {
	for _, t := range all {
		n += t.Count
	}
	return n
}

// Query selects alerts for readers, the newest first.
type Query struct {
	Open     bool       // only open ones
	MaxLevel flow.Level // rows above it are left out; invalid selects nothing
	Limit    int        // at most [ListMax]; 0: ListMax
	After    string     // key of the last alert of the previous page
	// Ref is a short name that the alerts must have, see [Ref]; empty: any. Rows that are older than short names are read too.
	Ref string
	// Severities are those that the alerts may have, at most four; nil: any.
	Severities []Severity
}

// GroupQuery selects open groups, newest first.
type GroupQuery struct {
	Key   string // empty: any
	After string // key of the last group of the previous page
	Limit int    // at most [ListMax]; 0: ListMax
}

// Spent says that something is posted to a target whose posts were counted before.
type Spent struct {
	Target   string
	Revision int64 // that was read with the count
}

// The bounds of what is stored and read.
const (
	ListMax = 10_000  // rows of one query
	OpenMax = ListMax // alerts that may be open; one more is refused
)
