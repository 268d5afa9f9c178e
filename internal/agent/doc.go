// Package agent is the agent loop: it drives a session, step by step, from a
// message to an answer, and holds the tools that an agent has.
//
//	Work ─► complete ──► plain answer ─► done (the caller stores it)
//	          ▲   │ └──► tool calls ─► stored ─► run ─► results ─┐
//	          │   └────► failed: wait and again, within a budget │
//	          │          too long: compact and again             │
//	          └───────────────────────────────────────────────────┘
//
// Failure rules: a completion that failed leaves the session as it was. A tool
// call is stored before it runs; one that was under way when the process died is
// reported to the model as interrupted, unless the tool may be repeated.
//
// Goroutines: one for each call of a tool, see leftovers. Its caller waits for it, but not much longer than the
// call may take: a tool that looks at no context is left behind.
package agent
