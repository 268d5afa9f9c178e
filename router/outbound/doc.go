// Package outbound sends what the gateway says: answers, notices, and messages that answer nothing.
//
// What comes in: deliveries, which other stages make with a [Composer] and store in the commit of their cause; proactive messages
// ([Sender]). What goes out: calls of a platform's adapter, each after the gate was asked, and what callers of the API may be told
// ([Answers]). The gate's input is made in one place, [Leaving.Egress].
//
// An [Outbox] makes the worker of each conversation's lane. It sends one delivery after the other:
//
//	queued ── gate ── commit "sending" ── platform ── commit "sent"
//	           │
//	           └── blocked, or held until somebody decides ([Holds])
//
// # Failure rules
//
// The intent is stored before the platform is called, the receipt after each part. A receipt is stored before anything else happens in
// its lane, for as long as that takes, because forgetting one would repeat a message. What a lane leaves in hand the [Keeper] stores,
// and writes into the log if the process ends before.
//
// A delivery in "sending" is in doubt after a crash or a lost answer. Where the adapter can look up what was posted, that decides: the
// receipt is stored, or the message is sent again. Elsewhere it becomes "unknown", and is repeated or held as the channel is configured.
//
// # Goroutines
//
// Those of the lanes, which run the workers; the one of a [Retirer], which its Stop waits for; the caller's of [Keeper.Run].
package outbound
