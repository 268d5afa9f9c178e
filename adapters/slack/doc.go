// Package slack is the adapter to Slack: one [Adapter] is one app in one workspace.
//
// The Web API is called through github.com/slack-go/slack, over an http.Client of this
// package, which bounds each call in time and size, follows no redirects, distinguishes
// failures and keeps the tokens out of errors. The package uses only the library's methods
// with a context, and not its retries: the outbox decides about retries.
//
// Socket Mode is implemented here over gorilla/websocket, because the library's client
//
//   - sends events to a channel of 50 and blocks when it is full: a slow consumer misses pings,
//     loses the connection and delays the next one;
//   - reports a confirmation as done before it is written, and may write it to another
//     connection;
//   - opens the next connection only after the old one has ended;
//   - does not confirm events that it can't read, so that Slack repeats them and finally
//     disables the app.
//
// This package keeps two connections. When Slack announces that it will close one, a new one is
// opened first. Readers never wait: each envelope gets a place in the order of its conversation
// and a goroutine of its own. At most maxPending envelopes are handled at once; further ones stay
// unconfirmed, and Slack repeats them. An envelope is confirmed on the connection that it came
// from, once the acceptor has it. An unreadable one is logged and confirmed. A connection without
// any frame for Config.PingTimeout, not even a pong, counts as dead and is replaced.
//
// Events are read with types of this package, because the library's types refuse a whole event
// if one field has an unknown shape.
//
// Every message is posted with its delivery and part as metadata, so that Reconcile can find a
// message whose response was lost.
//
// Goroutines: receiver lists those of Run. In mode http, the goroutines of the requests do all
// work.
package slack
