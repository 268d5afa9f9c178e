// Package slack is the adapter to Slack: one [Adapter] is one app in one workspace.
//
// The Web API is called through github.com/slack-go/slack, over an http.Client of this
// package that bounds each call in time and size, follows no redirect, tells failures
// apart and keeps the tokens out of errors. Only the library's methods with a
// context are used, and none of its retries: the outbox decides on those.
//
// Socket Mode is a loop of this package over gorilla/websocket, not the library's client,
// because that one
//
//   - hands events over on a channel of 50 and blocks on it: a consumer that falls behind
//     misses pings, loses the connection and keeps the next one from being opened;
//   - reports a confirmation as done before it is written, and writes it to whichever
//     connection is there by then;
//   - opens the next connection only after the old one has ended;
//   - leaves what it can't read unconfirmed, so that Slack gives it again until it
//     turns the app off.
//
// Here two connections are kept. When Slack says that it will close one, its successor is
// opened first. A reader never waits: an envelope gets its place in its conversation's
// order and is handled on a goroutine of its own, at most maxPending of them; one more is left
// unconfirmed, and Slack gives it again. It is confirmed on the connection that brought it, once the
// acceptor has it. What can't be read is logged and confirmed. A connection on which
// nothing was heard for Config.PingTimeout, not even the answer to a ping, counts as
// deaf and is replaced.
//
// Events are read with types of this package, as the library's refuse a whole event for
// one field of an unknown shape.
//
// Every message is posted with its delivery and part as metadata, so that Reconcile can
// find out what became of one whose answer was lost.
//
// Goroutines: those of Run are listed at receiver. In mode http all work is done on the goroutines of
// the requests.
package slack
