// Package faultpoint names the steps of a message's life at which the kill test
// ends the process, and sets the process's clock for tests. In a binary that is built without the tag "faultpoints"
// [Hit] does nothing and costs nothing, and [Clock] is the machine's.
package faultpoint

// Point is a named step.
type Point string

// The steps, in the order in which a message passes them.
const (
	PollBeforeAccept   Point = "poll-before-accept"   // updates were fetched, none is stored yet
	AcceptBeforeCommit Point = "accept-before-commit" // the run was created, but is not stored
	AcceptAfterCommit  Point = "accept-after-commit"  // the run is stored, but not acknowledged
	ClaimBeforeCommit  Point = "claim-before-commit"  // a worker has picked the run
	ClaimAfterCommit   Point = "claim-after-commit"   // the run is running
	ModelCall          Point = "model-call"           // the first chunk of an answer has arrived
	ToolBeforeIntent   Point = "tool-before-intent"   // the model asks for a tool; the call is not stored
	ToolAfterCall      Point = "tool-after-call"      // the tools have run; the last result is not stored
	PreviewBeforeSend  Point = "preview-before-send"  // the preview's row is stored
	PreviewAfterSend   Point = "preview-after-send"   // the preview is visible; its id is not stored
	PreviewBeforeFinal Point = "preview-before-final" // the final text is stored, the preview is not yet edited
	FinishBeforeCommit Point = "finish-before-commit" // the answer is complete, but not stored
	FinishAfterCommit  Point = "finish-after-commit"  // the delivery is queued; nobody was woken
	SendBeforeIntent   Point = "send-before-intent"   // the gate has agreed
	SendAfterIntent    Point = "send-after-intent"    // "sending" is stored; the platform was not called
	SendAfterCall      Point = "send-after-call"      // the platform has accepted it; the receipt is not stored
	SendBetweenChunks  Point = "send-between-pieces"  // the receipt of a chunk is stored; the next one was not sent
	SendAfterReceipt   Point = "send-after-receipt"   // "sent" is stored
)

// Env is the environment variable that names a file with the armed point: its name kills the process when the point is reached,
// "<name>:<n>" when it is reached for the n-th time. The file may be missing, and may change at any time.
const Env = "SLUICE_FAULTPOINT"

// ClockEnv is the environment variable that names a file with the duration by which the process's wall clock is ahead, such as -1h.
// The file may change at any time. The process's monotonic clock is not affected.
const ClockEnv = "SLUICE_FAULTCLOCK"
