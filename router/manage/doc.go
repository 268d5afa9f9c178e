// Package manage is how operators and programs see, change and end sessions, and what they do about deliveries.
//
// A request comes in; one commit goes out, with an entry of the audit trail that names who asked. A rule may keep a session
// from being ended: then only the refusal is stored. [Expirer] ends the sessions whose time is over.
package manage
