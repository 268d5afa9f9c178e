package ledger

import (
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"sluice/adapters"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/sessions"
)

// questionPrefix is the prefix of the idempotency key of a question about an approval.
const questionPrefix = "approval/"

// AskAbout makes a delivery the question about an approval. If a rule may answer such questions, a button shows it.
func (d *Delivery) AskAbout(p Approval) {
	d.Asks, d.Idempotency = p.ID.question(), questionPrefix+string(p.ID)
	answers := []struct{ label, word string }{{"Allow", "allow"}, {"Deny", "deny"}, {"Always allow…", "always"}}
	if p.NeverAlways() != "" {
		answers = answers[:2]
	}
	d.Controls = nil
	for _, a := range answers {
		d.Controls = append(d.Controls, Control{Label: a.label, Command: "approve", Args: string(p.ID) + " " + a.word})
	}
}

// ConfirmAbout gives a delivery buttons about an approval that another delivery asks about.
func (d *Delivery) ConfirmAbout(id ApprovalID, controls []Control) {
	d.Asks, d.Controls = id.question(), controls
}

// Answers names the answers of a question about an approval.
func (d *Delivery) Answers(yes, no string) { d.Controls[0].Label, d.Controls[1].Label = yes, no }

// NewDeliveryID makes a delivery id.
func NewDeliveryID() DeliveryID {
	u := uuid.Must(uuid.NewV7())
	return DeliveryID("dlv_" + hex.EncodeToString(u[:]))
}

// NoticeLabel is the label of the gateway's own texts: they contain nothing that a session has learnt.
func NoticeLabel() flow.Label { return flow.Bottom() }

// EditsPreview reports whether the next call only edits a message, so that repeating it is harmless.
func (d Delivery) EditsPreview() bool { return d.PreviewID != "" && len(d.Receipts) == 0 }

// Control is a button of the gateway below a question.
type Control struct {
	Label   string `json:"label"`
	Command string `json:"command"` // its name, without the slash
	Args    string `json:"args"`
	// Standing: the button asks no question, so it works for as long as its message shows it.
	Standing bool `json:"standing,omitempty"`
}

// CommandLine is the command as a person types it.
func (c Control) CommandLine() string { return "/" + c.Command + " " + c.Args }

// ShownButtons are all buttons of a delivery, with their names for the platform.
func (d Delivery) ShownButtons() []adapters.Button {
	all := make([]adapters.Button, 0, len(d.Controls)+len(d.Buttons))
	for _, c := range d.Controls {
		all = append(all, adapters.Button{Label: c.Label, Value: c.CommandLine()})
	}
	all = append(all, d.Buttons...)
	for i := range all {
		all[i].Press = string(d.ID) + "/" + strconv.Itoa(i)
	}
	return all
}

// ParsePress reads the name of a button.
func ParsePress(name string) (DeliveryID, int, bool) {
	id, at, ok := strings.Cut(name, "/")
	n, err := strconv.Atoi(at)
	return DeliveryID(id), n, ok && err == nil && n >= 0
}

// Shows reports whether a message is one of the delivery's, as far as known: a press may arrive before the receipt.
func (d Delivery) Shows(id sessions.PlatformMessageID) bool {
	return d.Status == DeliverySending || d.Status == DeliveryUnknown || d.ResendOf != "" || d.PreviewID == id ||
		slices.ContainsFunc(d.Receipts, func(r adapters.Receipt) bool { return r.MessageID == id })
}

// LastText is the last message of a delivery's text, which has the buttons; false if it is unknown.
func (d Delivery) LastText() (id sessions.PlatformMessageID, text string, ok bool) {
	last := max(len(d.Parts), 1) - 1
	if last >= len(d.Receipts) {
		return "", "", false
	}
	if text = d.Text; len(d.Parts) > 0 {
		text = d.Parts[last]
	}
	return d.Receipts[last].MessageID, text, true
}

// DeliveryID names a delivery: "dlv_" and 32 hex digits that sort by time.
type DeliveryID string

// DeliveryStatus is the state of a delivery.
type DeliveryStatus string

// The delivery statuses.
//
//	preview ──► queued ──► sending ──► sent
//	              ▲  │         ├─────► queued (again later) | failed (dead letter)
//	              │  │         └─────► unknown (its answer was lost, and the platform can't be asked)
//	       retry  │  └──► blocked (by the gate) | expired | discarded
//	              └──► held (by a rule) ──► queued (allowed) | blocked (denied) | expired | discarded
//
// Preview is a message that edits still extend. Unknown, failed,
// blocked and expired ones can be listed, sent again and discarded by a person.
const (
	DeliveryPreview   DeliveryStatus = "preview"
	DeliveryQueued    DeliveryStatus = "queued"
	DeliveryHeld      DeliveryStatus = "held"
	DeliverySending   DeliveryStatus = "sending"
	DeliverySent      DeliveryStatus = "sent"
	DeliveryBlocked   DeliveryStatus = "blocked"
	DeliveryFailed    DeliveryStatus = "failed"
	DeliveryUnknown   DeliveryStatus = "unknown"
	DeliveryExpired   DeliveryStatus = "expired"
	DeliveryDiscarded DeliveryStatus = "discarded"
)

// DeliveryKind is the kind of a delivery.
type DeliveryKind string

// The delivery kinds.
const (
	KindReply    DeliveryKind = "reply"    // a run's answer
	KindNotice   DeliveryKind = "notice"   // the gateway's own text: a command's answer, an overflow, a pairing code
	KindAnnounce DeliveryKind = "announce" // what people see of an exchange between agents
	KindCommand  DeliveryKind = "command"  // the answer to a command that a run has carried out
	KindVoice    DeliveryKind = "voice"    // an answer as a recording, after its text
	KindMessage  DeliveryKind = "message"  // proactive: the message tool, POST /v1/messages, the CLI
)

// Delivery is one outgoing text.
type Delivery struct {
	ID        DeliveryID
	Seq       int64 // order in the lane, set by the store
	Lane      sessions.Lane
	Partition int
	Kind      DeliveryKind
	Route     sessions.Route
	Text      string // Markdown
	Label     flow.Label
	Session   sessions.ID    // empty for a message that belongs to no session
	Run       sessions.RunID // the run that it answers; empty for a message that answers no run
	// Idempotency makes a repeated request return the same delivery; unique if not empty.
	Idempotency string
	// ResendOf is the unknown delivery that this one repeats.
	ResendOf DeliveryID

	Status   DeliveryStatus
	Epoch    int64
	Attempts int       // platform calls that failed or whose answer was lost
	NextTry  time.Time // not before
	Expires  time.Time
	Parts    []string           // the parts of Text if there is more than one, set at the first send
	Receipts []adapters.Receipt // one per part that the platform accepted, in order
	// PreviewID is the platform message that showed the preview and becomes the first part.
	PreviewID sessions.PlatformMessageID
	// LostPreview is the text of a preview that may or may not have been posted; it is looked up before anything is
	// sent.
	LostPreview string
	// SentAt is stored before each call that posts something; the call was not made before that time. Zero before the
	// first.
	SentAt time.Time
	// Buttons are shown with the last part of the text. A press is a message to the agent.
	Buttons []adapters.Button
	// Controls are the gateway's own buttons, which only its questions have: a press is a command.
	Controls []Control
	// Asks is the question in this delivery; empty for others, or once the buttons were removed.
	Asks Question
	// Revises is the delivery whose last message this one replaces, on a platform that can edit; else empty.
	Revises DeliveryID
	// Files are sent after the text, each as a separate message.
	Files     []sessions.MediaID
	Decision  *policy.Decision // of the gate; nil until asked
	LastError string           // for the operator
	Created   time.Time
	Finished  time.Time // zero until a terminal status
}

// DeliveryMove replaces a delivery's mutable fields (text, label, status, epoch, attempts, next try, expires, parts,
// receipts, preview id, lost preview, sent at, decision, last error, finished, resend of, route, lane) if its stored
// status is From, its stored epoch is not greater than Delivery.Epoch, and it was not attempted since it was read
// (its stored attempts are not higher); else ErrConflict. With Delivery.Epoch above 0 the partition's epoch must
// equal it, else ErrFenced; 0 neither checks nor sets the epoch. With Late the partition may have its next owner: what that
// one has stored of the delivery stands (ErrConflict).
type DeliveryMove struct {
	From     DeliveryStatus
	Delivery Delivery
	Late     bool
}

// Withdraws reports whether the delivery deletes the message that shows its preview.
func (d Delivery) Withdraws() bool { return d.Text == "" && len(d.Files) == 0 }
