// Package alert takes in alerts, and notifies the people who answer for them.
//
//	report ──► one commit: the alert's row, its groups become due ──► a group's turn: what is told, to whom and why
//	    (alert.Decide, pure) ──► one commit: notifications, their deliveries, the group's next due time ──► receipts
//
// What comes in: [Alerts.Receive] takes reports of programs, [Alerts.Obey] and the silences what people decide;
// [Alerts.Configure] sets the plan. What goes out: commits with deliveries, which pass the gate like all others. A group is a
// row with a due time. The open groups of a partition are one lane (ledger.AlertLane).
//
// # Failure rules
//
// A notification is a row with a unique key, "alert/<group>/<target>/<sequence>". It is stored in the commit that moves the
// group on and that queues its message, and this commit fails if the group has changed since it was read: a crash or a
// hand-over neither skips a step nor repeats it. An escalation step counts only with a platform's receipt; without one the
// next step follows at once, and after the last step the owner. What quiet hours or a target's budget hold back waits for one
// digest for each target. A place that may not know an alert is told that it is withheld; if no target of a step may know
// it, the next step follows at once. Of a discreet alert such a place is told nothing: an agent that knows secrets can't signal
// by reporting alerts.
//
// # Goroutines
//
// The package starts none.
package alert
