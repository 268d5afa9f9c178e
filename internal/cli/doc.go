// Package cli is the command line. Commands other than serve, init, config,
// version and completion talk to a running gateway over its HTTP API; what they
// show is what it answered.
//
// Exit codes: 0 done, 1 failed, 2 wrong use or bad configuration.
//
// Signals: the first interrupt ends a command in an orderly way, the second at
// once. In a chat the first one stops the agent's run, and ends the chat where none is under way.
package cli
