// Package outbound sends the gateway's messages: answers, notices, and proactive messages.
//
// What comes in: deliveries, which other stages create with a [Composer] and store in the commit of their cause; and
// proactive messages ([Sender]). What goes out: calls of a platform's adapter, each after asking the gate. One function
// builds the gate's input, [Outgoing.Egress].
//
// An [Outbox] creates the worker of each conversation's lane. It sends the deliveries one by one:
//
//	queued ── gate ── commit "sending" ── platform ── commit "sent"
//	           │
//	           └── blocked, or held until somebody decides ([HeldDeliveries])
//
// If nothing is queued before an answer, [Outbox.Begin] asks the gate before the run ends, and the commit that ends the
// run stores "sending".
//
// # Failure rules
//
// The intent is stored before the platform call, the receipt after each part. The receipt is stored before anything else
// happens in its lane, however long that takes, because a lost receipt would repeat the message. If a lane ends first,
// the [journal.Keeper] stores its receipt, or logs it if the process ends.
//
// A delivery in "sending" is in doubt after a crash or a lost answer. If the adapter can look up posted messages, the
// lookup decides: the receipt is stored, or the message is sent again. Otherwise it becomes "unknown", and is repeated
// or held as the channel is configured.
//
// # Goroutines
//
// The lanes' goroutines run the workers. A [Retirer] has one, which its Stop waits for.
package outbound
