// Package outbound sends what the gateway says: answers, notices, and messages that nobody asked for.
//
// What comes in: deliveries, which other stages make with a [Composer] and store in the commit of their cause. What goes out: calls
// of a platform's adapter, each after the gate was asked.
package outbound
