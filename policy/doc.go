// Package policy decides what sessions may learn and what may leave. Policy is code and configuration,
// never a model: the same question gets the same answer.
//
//	call of a tool, its answer,      ─► [Monitor] ─► fixed checks ─► rules of the hook ───────────────┐
//	text that enters, end of a session                                                                ├─► [Decision]
//	text that leaves                 ─► [Gate]    ─► flow check ─► send policy ─► rules of PRE_OUTPUT ─┘
//
// The fixed checks compare labels: what a session has learnt with the level of the place that is told it, which for a
// text that leaves is the lowest of channel, account, space, conversation and recipient, and what it brings in with what
// the session may learn. What is not configured is PUBLIC. The send policy and the [Rules] then can only forbid more. Every rule that was looked at is
// part of the decision, which is stored with what it is about. Known [Secrets] are taken out of what enters, what tools answer and what leaves.
//
// Failure rules: a decision never fails. What is unknown or
// invalid is blocked. The package has no goroutines, and keeps no state but what rules of a rate have counted.
package policy
