// Package operator serves what the HTTP API offers to those who look after a gateway: messages to send and their deliveries,
// files, approvals, what the policy would decide, memories, pairings, the audit trail, and the gateway's state.
//
// In: requests that the guard has let in, with their caller in the context. Out: records as programs see them, without what
// is above the caller's level (view). Handlers return errors as they are.
package operator
