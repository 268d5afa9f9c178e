package work

import (
	"context"
	"errors"
	"strings"
	"time"

	"sluice/internal/spending"
	"sluice/policy/flow"
	"sluice/router/outbound"
	"sluice/sessions"
)

// Agent works runs. Its methods are called from many goroutines, but for each session from one at a time.
type Agent interface {
	// Open opens the session of a record: with its agent's model, prompt and tools, and its selected thread.
	Open(ctx context.Context, record sessions.Record) (*sessions.Session, error)
	// Work drives an opened session with an unanswered last message to a plain answer. It persists every step but the
	// last: the caller commits the final message together with the run's end and the delivery. It emits the live
	// events of the run except the terminal one. An error is a *[sessions.WorkError], or the *[AwaitedError] of the
	// approver. ctx has the run's deadline; cancelling it ends the work.
	Work(ctx context.Context, a *Assignment) (*Answer, error)
}

// Assignment is a run for an agent.
type Assignment struct {
	Session *sessions.Session
	Run     *sessions.Run
	Emit    func(sessions.Event)
	Inbox   Inbox // nil: the run receives no further messages
	// Approver decides about tool calls that the session's permission mode does not allow.
	Approver Approver
}

// Inbox has the messages that arrive during a run, see [sessions.QueueSteer]. Only the run's goroutine uses it.
type Inbox interface {
	// Waiting reports whether there are messages for the run. Most calls cost nothing.
	Waiting(ctx context.Context) (bool, error)
	// Take appends the waiting messages to the session's thread and stores them. It reports whether there were any.
	// No tool call may be open.
	Take(ctx context.Context) (bool, error)
}

// Answer is the result of a run.
type Answer struct {
	Text  string // Markdown; empty or NO_REPLY: no answer
	Model string
	Usage sessions.Usage
	// Files are sent after the text.
	Files []outbound.NewFile
	// FilesLabel is the label of the files, beside that of the session.
	FilesLabel flow.Label
	// Calls are those of the client's functions. With them, Text is what the agent said before them.
	Calls []sessions.ClientCall
	// Quotes is the label of what a command's answer quotes; zero: nothing is quoted. Any other answer has its
	// session's label.
	Quotes flow.Label
}

// Tell adds notes for the person who reads the answer. An answer that was to be silent then consists of them.
func (a *Answer) Tell(notes ...string) {
	if len(notes) == 0 {
		return
	}
	if sessions.Silent(a.Text) {
		a.Text = ""
	}
	a.Text = strings.TrimSpace(a.Text + "\n\n" + strings.Join(notes, "\n\n"))
}

// Compactor is the optional ability of an [Agent] to shorten a session's thread.
type Compactor interface {
	// Compact replaces the older part of the thread by a summary and stores it. It returns
	// [sessions.ErrNothingToCompact] if the thread is too short; other errors are as for Work.
	Compact(ctx context.Context, a Assignment) (Compacted, error)
}

// Compacted is the result of a compaction.
type Compacted struct {
	Messages      int // replaced by the summary
	Before, After int // of the thread, in bytes
	Usage         sessions.Usage
}

// Approver lets people decide about the tool calls of one run. Only the run's goroutine uses it.
type Approver interface {
	// Decide returns the decision about each call. If one of them is pending, it returns an *[AwaitedError]; the work
	// must then end and store its open calls. message is the answer with the calls. Decide stores that an allowed
	// call runs before it returns; if asked again, it says that the call was interrupted.
	Decide(ctx context.Context, message sessions.MessageID, calls []sessions.CallToConfirm) ([]sessions.Confirmation, error)
	// Raise asks an owner to raise the limit of a budget that has no room for a call of the run's model. It returns an
	// *[AwaitedError] if the run waits for the decision. No error means that the limit is not raised; the sentence says why.
	Raise(ctx context.Context, reached *spending.Reached) (sentence string, err error)
	// Denied returns the calls that were asked about before and denied. It asks nobody.
	Denied(ctx context.Context, message sessions.MessageID, calls []sessions.Part) ([]sessions.Confirmation, error)
}

// ErrAwaited: a tool call, or the limit of a budget, waits for approval. The run is suspended and continues after the decision.
var ErrAwaited = errors.New("a question waits for its answer")

// AwaitedError is [ErrAwaited] with the time that the run waits.
type AwaitedError struct {
	AtMost time.Duration // until the approval expires
}

// Error implements error.
func (*AwaitedError) Error() string { return ErrAwaited.Error() }

// Unwrap returns [ErrAwaited].
func (*AwaitedError) Unwrap() error { return ErrAwaited }
