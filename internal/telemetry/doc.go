// Package telemetry traces messages through the gateway with OpenTelemetry, and sends the spans to a collector over OTLP.
//
// A nil [Tracer] and a nil [Span] are valid and do nothing, without an allocation. So traces cost nothing if they are off or not
// sampled.
//
// The trace id is derived from the id of a row that exists anyway: the run that a message causes, or else a delivery without
// a run. The id of a chain of exchanges between agents contains it, see [ChainID]. So every replica knows the trace id
// without a column, a statement or a header, and all replicas make the same sampling decision.
//
//	event ──► intake ──► wait ──► invoke_agent ──► chat, execute_tool, … ──► gate ──► send ──► receipt
//	                                  └── execute_tool sessions_send ──► exchange ──► invoke_agent of the other agent
//
// A span contains ids, names from the configuration, sizes, counts and status words. It never contains a text of a person, an
// agent or a model, nor the name of a person or conversation. [Span] has no method to record the text of an error.
//
// Spans wait in a bounded queue for the goroutine that [Tracer.Start] starts and [Tracer.Stop] waits for. If the queue is full
// or the collector does not accept a batch after three tries, spans are dropped and counted; nothing else waits for them.
package telemetry
