// Package approvals lets people decide about tool calls, about messages that a rule holds, and about people whom the gateway
// does not know.
//
// What comes in: the calls of a run that need a person's permission ([Approvals.Of]), and decisions, from chat
// commands and the HTTP API. What goes out: questions, which are deliveries, and rows that say what was decided.
//
// A run that waits for a decision is suspended. It continues when its approval changes or expires. Package decider
// says who may decide.
package approvals
