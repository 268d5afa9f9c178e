// Package telemetry follows messages through the gateway as OpenTelemetry traces, and sends them to a collector over OTLP.
//
// A nil [Tracer] and a nil [Span] are valid and do nothing, without an allocation: that is how traces are off, and how a trace
// that is not sampled costs nothing.
//
// The id of a trace follows from the id of a row that exists anyway: the run that a message causes, or else a delivery without
// a run. Chains of exchanges between agents have it in their own id, see [ChainID]. So every replica knows it without a
// column, a statement or a header of its own, and whether a trace is sampled is the same everywhere.
//
//	event ──► intake ──► wait ──► invoke_agent ──► chat, execute_tool, … ──► gate ──► send ──► receipt
//	                                  └── execute_tool sessions_send ──► exchange ──► invoke_agent of the other agent
//
// A span has ids, names from the configuration, sizes, counts and status words. It never has a text of a person, an agent or
// a model, and no name of a person or conversation: [Span] has no way to record an error's text.
//
// Spans wait in a bounded queue for the goroutine that [Tracer.Start] starts and [Tracer.Stop] waits for. If the queue is full
// or the collector does not accept a batch after three tries, spans are dropped and counted; nothing else waits for them.
package telemetry
