// Package agent is the agent loop: it drives a session, step by step, from a message to an answer.
//
//	Work ─► complete ──► plain answer ─► done (the caller stores it)
//	          ▲   │ └──► tool calls ─► stored ─► run ─► results ─┐
//	          │   └────► failed: wait and again, within a budget │
//	          │          too long: compact and again             │
//	          └───────────────────────────────────────────────────┘
//
// It uses these packages; none of them imports it:
//
//	roster      the configured agents and their settings
//	toolset     which tools a session has, and how a call runs
//	tools/…     the tools: files, memory, todo, webfetch, session, talk
//	visibility  which sessions a caller's tools can see
//	summarize   summaries of conversations
//
// Failure rules: a completion that failed leaves the session as it was. A tool
// call is stored before it runs; one that was in progress when the process died is
// reported to the model as interrupted, unless the tool is safe to repeat.
//
// Goroutines: none here; package toolset starts one for each tool call.
package agent
