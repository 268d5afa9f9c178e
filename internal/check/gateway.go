package check

import "slices"

// The counts of the gateway's own rows.
const (
	DeadLetters      = "deadLetters"      // deliveries that failed or expired
	HeldDeliveries   = "heldDeliveries"   // deliveries that wait for somebody's decision
	QueuedDeliveries = "queuedDeliveries" // deliveries that were not sent yet
	WaitingApprovals = "waitingApprovals" // tool calls and messages that wait for a decision, up to 200
)

// Counts are the names of all counts.
func Counts() []string {
	return []string{DeadLetters, HeldDeliveries, QueuedDeliveries, WaitingApprovals}
}

func known(count string) bool { return slices.Contains(Counts(), count) }
