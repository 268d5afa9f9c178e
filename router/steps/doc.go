// Package steps carries the steps of exchanges between agents over the bus.
//
// A step is a run with the status queued. The commit that ends the step before stores it, so the row is also the outbox:
// after the commit, the step is published, and the owner of its partition works it when the bus delivers it there. The
// message is acknowledged after the commit that ends the run.
//
// The store decides, the bus only carries. A message that comes twice, late or for a run that has ended is acknowledged
// without an effect. A step whose message does not come (the bus was down, its stream is full or was deleted, the
// publisher died) is published again by the worker of its session.
package steps
