// Package a2aserver serves the published agents to other agents that speak A2A (Agent2Agent 0.3, JSON-RPC over HTTP).
//
// It is a face and nothing more. A message is a turn of a session, as POST /v1/sessions/{id}/messages is one, and its reply is what
// the gate lets out. A context is a session and a task is a run, so both outlive a restart, and any replica can be asked.
package a2aserver
