package work

import (
	"context"
	"errors"
	"time"

	"sluice/policy/flow"
	"sluice/sessions"
)

// Agent works runs. Its methods are called from many goroutines, for one session from one at a time.
type Agent interface {
	// Open makes the step-API session of a record: its agent's model, prompt and
	// tools are set and its selected thread is loaded.
	Open(ctx context.Context, record sessions.Record) (*sessions.Session, error)
	// Work drives an opened session, whose last message is not yet answered, to a
	// plain answer. It persists every step but the last: the final message is
	// left to the caller, who commits it together with the run's end and the
	// delivery. It emits the live events of the run but its terminal one. An
	// error is a *[sessions.WorkError], or the *[AwaitedError] of the approver. ctx has the run's deadline; its
	// cancellation ends the work.
	Work(ctx context.Context, a Assignment) (Answer, error)
}

// Assignment is a run that an agent works.
type Assignment struct {
	Session *sessions.Session
	Run     *sessions.Run
	Emit    func(sessions.Event)
	Inbox   Inbox // nil: nothing is given to the run while it works
	// Approver decides about tool calls that its session's permission does not let run by itself.
	Approver Approver
}

// Inbox is what people say to a session while a run of it works, see
// [sessions.QueueSteer]. The run's goroutine alone uses it.
type Inbox interface {
	// Waiting reports whether something has come that is for the run. Most calls cost nothing.
	Waiting(ctx context.Context) (bool, error)
	// Take gives the run what has come: the session's thread then ends with it, which
	// is stored. It reports whether there was any. No tool call may be open.
	Take(ctx context.Context) (bool, error)
}

// Answer is what a run came to.
type Answer struct {
	Text  string // Markdown; empty or NO_REPLY: nothing is to be said
	Model string
	Usage sessions.Usage
	// Quotes is, of a command's answer, the label of what it quotes; zero: it quotes nothing. Any other answer is as secret as its session.
	Quotes flow.Label
}

// Compactor is the optional ability of an [Agent] to shorten a session's thread.
type Compactor interface {
	// Compact lets a summary stand for the older part of the thread, and stores it.
	// [sessions.ErrNothingToCompact] says that the thread is too short for it; other errors are as those of Work.
	Compact(ctx context.Context, a Assignment) (Compacted, error)
}

// Compacted is what a compaction has come to.
type Compacted struct {
	Messages      int // that the summary stands for
	Before, After int // of the thread, in bytes
	Usage         sessions.Usage
}

// Approver has people decide about the tool calls of one run. The run's goroutine alone uses it.
type Approver interface {
	// Decide gives what was decided about each call. While that is awaited of one
	// of them it is an *[AwaitedError], with which the work must end; what is open then has to
	// be stored. message is the answer that asks for the calls. That an allowed call runs is stored before
	// Decide returns: asked again, it says that the call was interrupted.
	Decide(ctx context.Context, message sessions.MessageID, calls []sessions.CallToConfirm) ([]sessions.Confirmation, error)
	// Denied gives those of the calls that were asked about before and denied. Nobody is asked.
	Denied(ctx context.Context, message sessions.MessageID, calls []sessions.Part) ([]sessions.Confirmation, error)
}

// ErrAwaited: a tool call waits for a person's decision. The run is laid aside, and gone on with after the decision.
var ErrAwaited = errors.New("a tool call waits for its approval")

// AwaitedError is [ErrAwaited] with how long the run waits.
type AwaitedError struct {
	AtMost time.Duration // until the decision would come too late
}

// Error implements error.
func (*AwaitedError) Error() string { return ErrAwaited.Error() }

// Unwrap makes it [ErrAwaited].
func (*AwaitedError) Unwrap() error { return ErrAwaited }
