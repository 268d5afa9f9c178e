// Package agent is the agent loop: it drives a session, step by step, from a message to an answer.
//
//	Work ─► complete ──► plain answer ─► done (the caller stores it)
//	          ▲   │ └──► tool calls ─► stored ─► run ─► results ─┐
//	          │   └────► failed: wait and again, within a budget │
//	          │          too long: compact and again             │
//	          └───────────────────────────────────────────────────┘
//
// It is made of packages that do not know it:
//
//	roster    the configured agents and their settings
//	toolset   which tools a session has, and how a call runs
//	tools/…   the tools: files, memory, todo, webfetch, session, talk
//	sight     which sessions a caller's tools can see
//	gist      summaries of conversations
//
// Failure rules: a completion that failed leaves the session as it was. A tool
// call is stored before it runs; one that was under way when the process died is
// reported to the model as interrupted, unless the tool may be repeated.
//
// Goroutines: none of its own; package toolset has one for each call of a tool.
package agent
