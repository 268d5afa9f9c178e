package ledger

import (
	"context"
	"time"

	"sluice/internal/alert"
	"sluice/policy/flow"
	"sluice/sessions"
)

// AlertLane is the lane of the open alert groups of a partition. It is beside [DueLane], so that a flood of alerts
// delays no job.
const AlertLane sessions.Lane = "alerts"

// AlertChange has the rows of a change that concern alerts.
type AlertChange struct {
	// Alerts inserts those of revision 1 (a known key is ErrConflict) and replaces others whose stored revision is one
	// less, else ErrConflict.
	Alerts []alert.Alert
	// AlertTouches makes groups due, and inserts those that are missing.
	AlertTouches []alert.Touch
	// AlertGroups replaces groups whose stored revision is one less, else ErrConflict; with an Epoch above 0 the
	// partition's epoch must equal it, else ErrFenced.
	AlertGroups []alert.Group
	// AlertLeaves takes alerts out of groups.
	AlertLeaves []alert.Member
	// Silences inserts those of revision 1 (a known id is ErrDuplicate) and replaces others whose stored revision is
	// one less, else ErrConflict.
	Silences []alert.Silence
	// AlertNotes inserts notifications. A known key is ErrDuplicate.
	AlertNotes []alert.Note
	// AlertBudgets counts what is posted to targets; ErrConflict if something was posted since the count.
	AlertBudgets []alert.Spent
	// AlertSums marks waiting notifications as told in a digest; ErrConflict if one does not wait.
	AlertSums []string
}

// Alerts reads alerts, silences, and notifications by their targets.
type Alerts interface {
	// AlertsByKey reads those of the alerts that exist, in no order.
	AlertsByKey(ctx context.Context, keys []string) ([]alert.Alert, error)
	// ListAlerts reads alerts, the latest started first.
	ListAlerts(ctx context.Context, q alert.Query) ([]alert.Alert, error)
	// TallyAlerts counts the alerts that are open by their status and severity, in no order.
	TallyAlerts(ctx context.Context) ([]alert.Tally, error)
	// ListSilences reads the silences that end after a time, at most [alert.ListMax]. Rows above the level are left
	// out; an invalid level selects nothing.
	ListSilences(ctx context.Context, after time.Time, most flow.Level) ([]alert.Silence, error)
	// Silence reads a silence, or returns ErrNotFound.
	Silence(ctx context.Context, id string) (alert.Silence, error)
	// WaitingNotes reads the notifications that a target waits for, oldest first, at most limit.
	WaitingNotes(ctx context.Context, target string, limit int) ([]alert.Note, error)
	// CountNotes counts the new messages to a target since a time, at most limit. The revision is for [alert.Spent].
	CountNotes(ctx context.Context, target string, since time.Time, limit int) (n int, revision int64, err error)
}

// AlertGroups reads alert groups, with their alerts and notifications.
type AlertGroups interface {
	// DueGroups reads the open groups of a partition in the order in which they are due, at most limit.
	DueGroups(ctx context.Context, partition, limit int) ([]alert.Group, error)
	// AlertGroup reads a group, or returns ErrNotFound.
	AlertGroup(ctx context.Context, key string) (alert.Group, error)
	// GroupAlerts reads the alerts of a group, at most limit: the open ones first, of those the most severe, of
	// those the latest changed.
	GroupAlerts(ctx context.Context, group string, limit int) ([]alert.Alert, error)
	// ListGroups reads the open groups that have alerts, newest first.
	ListGroups(ctx context.Context, q alert.GroupQuery) ([]alert.Group, error)
	// GroupNotes reads the notifications of a group, newest first, at most limit.
	GroupNotes(ctx context.Context, group string, limit int) ([]alert.Note, error)
}
