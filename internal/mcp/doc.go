// Package mcp is the gateway's client of MCP servers: it keeps a connection to
// each configured server and offers the servers' tools to the agents.
//
//	connecting ──► connected ──► (tools listed; listed again when they change)
//	    ▲   │           │
//	    │   └── failed ─┴─► retrying: wait 1 s … 1 min ─┐
//	    └───────────────────────────────────────────────┘
//
// What a server says is foreign: its texts are bounded, its names made safe, and
// nothing in them – hints, metadata, results – lowers a label. A tool's levels come
// from the configuration alone. Who calls is never told to the server.
//
// Failure rules: a server that can't be reached has no tools and disturbs nothing
// else. A call whose connection breaks fails; it is not repeated, as it may have taken effect.
//
// Goroutines: one a server, which waits for those of its connection (its process
// and what that writes to stderr, the watch over the connection). [Servers.Stop] waits for all.
package mcp
