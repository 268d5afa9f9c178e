// Package policy decides what may leave. Policy is code and configuration,
// never a model: the same question gets the same answer.
//
//	text with its label ─► flow check ─► send policy ─► rules ─► allow | redact | hold | block
//	                        fixed          configured
//
// The flow check compares the text's label with the level of the place: the
// lowest of channel, account, space, conversation and recipient. What is not configured is PUBLIC.
// The send policy and the rules of PRE_OUTPUT then can only forbid more. Every rule that was looked at is
// part of the decision, which is stored with the delivery.
//
// Failure rules: there are none; a decision never fails. What is unknown or
// invalid is blocked. The package has no goroutines, and keeps no state but what rules of a rate have counted.
package policy
