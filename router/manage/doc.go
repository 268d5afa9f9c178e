// Package manage lets operators and programs read, change and end sessions, and retry or discard deliveries.
//
// A request comes in; one commit goes out, with an entry of the audit trail that names who asked. A rule may keep a
// session from being ended: then only the refusal is stored. [Expirer] ends expired sessions.
package manage
