// Package mcpserver is the gateway as an MCP server (streamable HTTP), for programs with a token of the API.
//
// A tool is a request to the API: it goes through the same handler, with the token of the MCP request. So roles, levels, the gate,
// the audit trail and repeated names (Idempotency-Key) are those of the API, and what is hidden there is hidden here. The
// server keeps nothing between two requests, so any replica can take each.
package mcpserver
