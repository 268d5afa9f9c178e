package record

import (
	"context"
	"errors"
	"time"

	"sluice/internal/spending"
	"sluice/sessions/address"
	"sluice/sessions/audit"
	"sluice/sessions/message"
	"sluice/sessions/turn"
)

// Errors of the store port.
var (
	// ErrNotFound: no such row. Hidden rows give the same error.
	ErrNotFound = errors.New("not found")
	// ErrConflict: the row is not as the change expects it: read it again.
	ErrConflict = errors.New("conflict")
	// ErrFenced: another replica has taken the partition over.
	ErrFenced = errors.New("partition has another owner")
	// ErrDuplicate: an event, idempotency key or id is already stored.
	ErrDuplicate = errors.New("duplicate")
	// ErrUnavailable: the store can't be used at present; nothing that waits on it has failed.
	ErrUnavailable = errors.New("store is not available")
)

// Uncertain reports whether a commit that failed may have been applied all the same.
func Uncertain(err error) bool {
	for _, certain := range []error{ErrConflict, ErrDuplicate, ErrNotFound, ErrFenced} {
		if errors.Is(err, certain) {
			return false
		}
	}
	return true
}

// Change is what one transaction does to sessions, messages and runs: all of it or nothing.
type Change struct {
	// Idle expects that these sessions have no unfinished run; else ErrConflict. Of two
	// changes that expect it of the same session and each queue a run there, one gets the error.
	Idle []address.ID
	// Create makes sessions. A live session with the same key or id is ErrConflict.
	Create []Record
	// Save writes the runtime fields of sessions (agent, taint, route, head, compacted,
	// usage, context size, aborted, last activity) where the stored
	// revision equals Record.Revision, and makes the stored one greater by one; else ErrConflict.
	Save []Record
	// Patch writes settings; it does not touch the revision.
	Patch []Patch
	// End ends sessions; their key is then free. Runs already queued in them still finish. An ended one is ErrNotFound, unless it
	// is archived and the change deletes it.
	End []End
	// Messages are inserted (Revision 0) or replaced (Revision greater than the stored one).
	Messages []StoredMessage
	// Enqueue inserts runs; the store gives them their Seq. A known id is ErrDuplicate. A run that is running already has the
	// epoch of its worker; it is ErrConflict if its session has unfinished runs.
	Enqueue []turn.Run
	// Runs moves runs from one status to another.
	Runs []RunMove
	// Interrupt asks runs to end because a newer message has come; one that does not run now is left as it is.
	Interrupt []Interrupt
	// Abort ends the queued runs of sessions and marks their running ones.
	Abort []Abort
	// Postings stores model calls with their costs. ErrConflict if the reservation of one has ended.
	Postings []*spending.Posting
	// Audit is added to the audit trail in this order, in the same transaction as the rest of the change.
	Audit []audit.Entry
}

// End ends a session.
type End struct {
	ID address.ID
	At time.Time
	// Archive keeps its transcript readable.
	Archive bool
}

// StoredMessage is a message with the session that it belongs to.
type StoredMessage struct {
	Session address.ID
	Message message.Message
}

// RunMove replaces a run's mutable fields (status, leader, epoch, attempts,
// reply, error, model, usage, label, started, finished) if its stored status is From
// and its stored epoch is not greater than Run.Epoch; else ErrConflict. With
// Run.Epoch above 0 the partition's epoch must equal it, else ErrFenced; 0 asks for no fence.
type RunMove struct {
	From turn.RunStatus
	Run  turn.Run
}

// Abort asks for the end of a session's runs: queued ones become aborted,
// running ones get the mark that [Store.AbortRequested] reads.
type Abort struct {
	Session address.ID
	At      time.Time
	// Triggers are the keys of the triggers that wait for its queued runs. They become due.
	Triggers []string
}

// Interrupt asks for the end of a run that a newer message replaces.
type Interrupt struct {
	Session address.ID
	Run     address.RunID
}

// Store is what the Session step API needs of the database.
type Store interface {
	// CommitSession applies the change in one transaction. It returns after the commit is durable.
	CommitSession(ctx context.Context, change Change) error
	// Session reads a session; an ended one too.
	Session(ctx context.Context, id address.ID) (Record, error)
	// Thread reads the selected thread of messages that ends at record.Head, oldest
	// first. Where record.Compacted is set, that summary comes first, then only what
	// follows its parent; a summary whose parent is not on the way to the head is left out.
	Thread(ctx context.Context, record Record) ([]message.Message, error)
	Tree
}

// BranchesMax is how many branches of one message are listed; of more, the newest.
const BranchesMax = 100

// Tree is what a Session reads beside its selected thread, to change to another one.
// Summaries are not nodes of the tree, although they have a parent.
type Tree interface {
	// Message reads one message of the session; ErrNotFound if the session has no message with this id.
	Message(ctx context.Context, session address.ID, id address.MessageID) (message.Message, error)
	// Children reads the messages that follow parent, oldest first, without
	// summaries: the newest [BranchesMax]. An empty parent asks for the roots.
	Children(ctx context.Context, session address.ID, parent address.MessageID) ([]message.Message, error)
	// NewestLeaf finds what was stored last of a message and all that follows it; ErrNotFound if there is no such message.
	NewestLeaf(ctx context.Context, session address.ID, id address.MessageID) (address.MessageID, error)
	// Summary finds the summary that replaces most of the thread that ends at head, or returns an empty id.
	Summary(ctx context.Context, session address.ID, head address.MessageID) (address.MessageID, error)
}
