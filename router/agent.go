package router

import (
	"context"

	"sluice/policy/flow"
	"sluice/sessions"
)

// Agent works runs. Its methods are called from many goroutines, for one session from one at a time.
type Agent interface {
	// ModelName is the model that an agent uses when its session overrides none.
	ModelName(agent string) string
	// Open makes the step-API session of a record: its agent's model, prompt and
	// tools are set and its selected thread is loaded.
	Open(ctx context.Context, record sessions.Record) (*sessions.Session, error)
	// Work drives an opened session, whose last message is not yet answered, to a
	// plain answer. It persists every step but the last: the final message is
	// left to the caller, who commits it together with the run's end and the
	// delivery. It emits the live events of the run but its terminal one. An
	// error is a *[sessions.WorkError], or [ErrAwaited] of the approver. ctx has the run's deadline; its
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
