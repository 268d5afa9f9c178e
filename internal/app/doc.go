// Package app is the whole gateway in one process: it wires the parts as the configuration says, starts them in their
// order and stops them in the reverse.
//
// Start: store and bus beside each other, then the HTTP server and, beside all that follows, the connections to MCP
// servers, then the ownership of partitions (which takes up what the last process left), then the channels. Stop:
// nothing more is taken in; the channels end; partitions are handed over, which waits for work in progress and
// hands the rest back; then the MCP servers end; then the HTTP server, the bus and the store close.
package app
