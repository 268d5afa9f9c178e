// Package trigger acts when something is due without a message, such as the time of a job or a request to a hook.
//
//	trigger waiting ──► due ──► Source.Fire ──► one commit: its run is queued, or its messages are
//	    run ends ──► one commit: its reply is queued as messages ──► receipts: ok | a fallback, or undelivered
//
// What comes in: a partition's owner gives [Triggers.Worker] the lane of its open triggers (ledger.DueLane). What goes out:
// commits with sessions, runs and deliveries, which are worked and sent as all others.
//
// # Adding a source
//
// Give it a name (ledger.TriggerSource) and an entry in [Triggers.Sources]. It implements [Source]; also [Planner] if it stores its
// triggers itself, ahead of time, and [Ender] if it cares how they end. Whatever takes in a cause from outside stores its trigger
// with an ordinary commit through the lanes, which wakes the worker:
//
//	ledger.Trigger{
//		Key: "hook/ci/1234", Revision: 1, Source: "hook", Subject: "ci", Partition: ledger.TriggerPartition(key, partitions),
//		Status: ledger.TriggerWaiting, Due: now, Label: label, Created: now,
//	}
//
// ErrDuplicate means that the cause is known.
//
// # Failure rules
//
// Before a commit nothing has happened, and after it everything is stored: a killed process neither loses a trigger nor repeats
// it. A trigger is ok if every target has a platform's receipt, or if there is nothing to say. A target without a receipt is
// replaced by the next fallback. If none is left, or the run fails, the owner is told, once until a trigger of the same subject
// works again. A trigger that can't be worked on is tried again later, and the others of its partition go on.
//
// # Goroutines
//
// The package starts none. Each partition with open triggers, or with something to plan, has one lane, which waits for the next
// due time.
package trigger
