// Package memories has the SQL of agents' memories, which both databases share: saving versions, reading them by key or tag, and
// searching their words.
//
// What comes in: calls of the agents' memory tools and of the sweep, through the store's ports. What goes out: statements
// on an [engine.Conn].
//
// # Failure rules
//
// A save that competes with another first save in its namespace is retried, at most twenty times.
// A save that exceeds a limit changes nothing.
package memories
