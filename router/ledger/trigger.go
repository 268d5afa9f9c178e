package ledger

import (
	"strings"
	"time"

	"sluice/policy/flow"
	"sluice/sessions"
)

// Trigger is a cause that no person's message is, such as the instant of a job. It is stored before anything follows from
// it, and its key is unique: whatever replica stores the instant of a job again gets ErrDuplicate.
//
//	waiting ──► running ──► delivering ──► ok | undelivered
//	   │           └──────► ok (nothing to say) | failed
//	   └──────► missed | skipped | withdrawn
//
// A trigger without a run goes from waiting to delivering.
type Trigger struct {
	Key       string // without "#": "<source>/<subject>/<what is unique>", such as "cron/<job>/<instant in UTC, RFC 3339>"
	Revision  int64  // 1 when it is inserted; each change adds 1
	Source    TriggerSource
	Subject   string // such as the job's id; its history can be listed
	Partition int    // its owner acts when the trigger is due
	Epoch     int64  // of the partition's owner that writes; 0: not checked
	Status    TriggerStatus
	Due       time.Time // when its owner handles it next, while it is open
	Label     flow.Label
	TriggerDetail
	Created time.Time
	Fired   time.Time // zero until something followed from it
	Ended   time.Time // zero while it is open
}

// TriggerDetail is what no query selects by.
type TriggerDetail struct {
	Instant    time.Time          `json:"instant,omitzero"`     // that the schedule names
	Plan       string             `json:"plan,omitempty"`       // the schedule by which it was planned
	Anchor     time.Time          `json:"anchor,omitzero"`      // from which equal distances count
	Session    sessions.ID        `json:"session,omitempty"`    // in which its run works
	Run        sessions.RunID     `json:"run,omitempty"`        // the latest run that it caused
	Attempts   int                `json:"attempts,omitempty"`   // how many runs it has caused
	Outcome    sessions.RunStatus `json:"outcome,omitempty"`    // of the latest run, once it has ended
	Before     string             `json:"before,omitempty"`     // the latest trigger of the subject that has or may get a run
	Count      int                `json:"count,omitempty"`      // how many triggers of the subject have fired before it
	Usage      sessions.Usage     `json:"usage,omitzero"`       // of all its runs that have ended
	Queued     bool               `json:"queued,omitempty"`     // it waits for the end of the run of Before
	Superseded bool               `json:"superseded,omitempty"` // its run was asked to end because of a later trigger
	Text       string             `json:"text,omitempty"`       // what is delivered if no run says it
	Deliver    TriggerDelivery    `json:"deliver,omitzero"`     // how, as it was configured when the trigger fired
	Digest     string             `json:"digest,omitempty"`     // of the delivered text
	Said       time.Time          `json:"said,omitzero"`        // of a text that was not repeated: when it has arrived
	Sends      []TriggerSend      `json:"sends,omitempty"`      // what was sent because of it
	Alerts     []string           `json:"alerts,omitempty"`     // keys of alerts that it has reported
	Replaced   int                `json:"replaced,omitempty"`   // how many of them are fallbacks for others
	Missed     int                `json:"missed,omitempty"`     // of a missed one: how many instants from it on were missed together
	Why        string             `json:"why,omitempty"`        // it did not come to a delivery
	By         string             `json:"by,omitempty"`         // who has fired the job by hand; empty: its schedule
	Names      flow.Label         `json:"names,omitzero"`       // of the subject and the names of the targets; invalid: that of sluice.yaml
	Asked      time.Time          `json:"asked,omitzero"`       // a look at its checks goes on that has begun because of it
	Seen       map[string]int64   `json:"seen,omitempty"`       // by check: how many of its news are known to the subject
	Found      []TriggerNews      `json:"found,omitempty"`      // the news because of which it fires
	Wakes      []TriggerWake      `json:"wakes,omitempty"`      // of a heartbeat: texts that its run is told
	Push       *TriggerPushes     `json:"push,omitempty"`       // of a notification: where it goes
}

// TriggerPushes is where the notification of a task's end goes, and for whom.
type TriggerPushes struct {
	ID          string `json:"id"` // that its client has given it
	URL         string `json:"url"`
	Token       string `json:"token,omitempty"`
	Scheme      string `json:"scheme,omitempty"` // of Credentials: Bearer or Basic
	Credentials string `json:"credentials,omitempty"`
	Agent       string `json:"agent"`
	Caller      string `json:"caller,omitempty"` // name of the token that has registered it; empty: the gateway's own
	Level       string `json:"level"`            // that the caller had
}

// TriggerWake is a text that somebody has left for the next heartbeat of an agent.
type TriggerWake struct {
	ID    string        `json:"id"` // unique over the heartbeat's triggers: it names the author too
	From  sessions.Peer `json:"from"`
	Text  string        `json:"text"`
	Label flow.Label    `json:"label"`
	At    time.Time     `json:"at"`
}

// TriggerNews is what a check had found when a trigger fired because of it.
type TriggerNews struct {
	Check  string     `json:"check"`
	Value  string     `json:"value"`            // as JSON; see [CheckDetail]
	Before string     `json:"before,omitempty"` // empty: it was the first value
	Label  flow.Label `json:"label"`
}

// TriggerDelivery says where the text of a trigger goes.
type TriggerDelivery struct {
	To       []TriggerTarget `json:"to,omitempty"`       // empty: nowhere
	Fallback []TriggerTarget `json:"fallback,omitempty"` // tried in this order for targets without a receipt
	Within   time.Duration   `json:"within,omitempty"`   // after which a target counts as one without a receipt
	// Changed: only a text that differs from the last one with a receipt is delivered.
	Changed bool `json:"changed,omitempty"`
	// ChangedFor is how long the last text counts for Changed; 0: for ever.
	ChangedFor time.Duration `json:"changedFor,omitempty"`
}

// TriggerTarget is a place for a trigger's text.
type TriggerTarget struct {
	Name    string `json:"name"`              // as configured
	Channel string `json:"channel,omitempty"` // empty: where the owner is found
	Account string `json:"account,omitempty"` // empty: the channel's only account, or "default"
	To      string `json:"to"`                // a conversation's id, or "owner"
	Thread  string `json:"thread,omitempty"`
}

// TriggerSend is a message of a trigger to one target.
type TriggerSend struct {
	Target   string     `json:"target"`
	Delivery DeliveryID `json:"delivery,omitempty"` // empty: it could not be made
	Error    string     `json:"error,omitempty"`    // why it counts as failed
	Replaced bool       `json:"replaced,omitempty"` // a fallback was sent in its place
	Received bool       `json:"received,omitempty"` // the platform's receipt was found
	At       time.Time  `json:"at"`
}

// SendState is the state of a message of a trigger.
type SendState string

// The states of messages of triggers.
const (
	SendWaiting  SendState = "waiting"  // for the platform's receipt
	SendSent     SendState = "sent"     // there is a receipt
	SendReplaced SendState = "replaced" // a fallback was sent in its place
	SendFailed   SendState = "failed"
)

// StateOf returns the state of a message of the trigger. A trigger whose messages wait has not ended.
func (t *Trigger) StateOf(s TriggerSend) SendState {
	switch {
	case s.Replaced:
		return SendReplaced
	case s.Error != "":
		return SendFailed
	case s.Received || !t.Status.Open():
		return SendSent
	}
	return SendWaiting
}

// TriggerSource is what causes triggers.
type TriggerSource string

// The sources of triggers.
const (
	TriggerCron TriggerSource = "cron" // the instants of jobs
	TriggerHook TriggerSource = "hook" // requests to hooks
	TriggerPush TriggerSource = "push" // ends of tasks that the clients of A2A are notified of
)

// TriggerStatus is the state of a trigger.
type TriggerStatus string

// The trigger statuses. Waiting, running and delivering ones are open.
const (
	TriggerWaiting     TriggerStatus = "waiting"
	TriggerRunning     TriggerStatus = "running"     // an agent works on it
	TriggerDelivering  TriggerStatus = "delivering"  // its messages are queued; the receipts are awaited
	TriggerOK          TriggerStatus = "ok"          // each target, or a fallback for it, has a receipt; or there was nothing to say
	TriggerFailed      TriggerStatus = "failed"      // its run has failed
	TriggerUndelivered TriggerStatus = "undelivered" // a target has no receipt, and no fallback is left
	TriggerMissed      TriggerStatus = "missed"      // the gateway was not running at the time
	TriggerSkipped     TriggerStatus = "skipped"     // the previous one was still running
	TriggerFiltered    TriggerStatus = "filtered"    // the filter of its source does not match
	TriggerWithdrawn   TriggerStatus = "withdrawn"   // it was changed or removed before
)

// Open reports whether something is still to be done.
func (s TriggerStatus) Open() bool {
	return s == TriggerWaiting || s == TriggerRunning || s == TriggerDelivering
}

// Bad reports whether somebody should hear of the end.
func (s TriggerStatus) Bad() bool { return s == TriggerFailed || s == TriggerUndelivered }

// Begun reports whether the trigger is past its due time: it waits for the end of another run, or for the repetition of its own.
func (t *Trigger) Begun() bool { return t.Queued || t.Attempts > 0 }

// TriggerOfRun is the key of the trigger that a run of kind trigger belongs to, given the run's EventKey. The runs of one
// trigger have the keys "<key>", "<key>#2", "<key>#3" and so on.
func TriggerOfRun(event string) string {
	key, _, _ := strings.Cut(event, "#")
	return key
}

// Actor is how the audit trail calls what has caused a trigger, for example job:backup.
func (t *Trigger) Actor() string {
	if t.Source == TriggerCron {
		return "job:" + t.Subject
	}
	return string(t.Source) + ":" + t.Subject
}

// TriggerPartition is the partition of a trigger. All triggers of a job are in one partition, because its owner plans them
// one after the other. Others are spread.
func TriggerPartition(key string, partitions int) int {
	if rest, ok := strings.CutPrefix(key, string(TriggerCron)+"/"); ok {
		job, _, _ := strings.Cut(rest, "/")
		key = string(TriggerCron) + "/" + job
	}
	return sessions.Lane(key).Partition(partitions)
}

// DueLane is the lane of the open triggers of a partition. Each partition has one.
const DueLane sessions.Lane = "due"

// EndedTriggers selects the triggers of a subject that are no longer open, newest first.
type EndedTriggers struct {
	Source  TriggerSource
	Subject string
	Limit   int
}
