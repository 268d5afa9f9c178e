package router

import (
	"context"

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
	// error is a *[sessions.WorkError]. ctx has the run's deadline; its
	// cancellation ends the work.
	Work(ctx context.Context, session *sessions.Session, run *sessions.Run, emit func(sessions.Event)) (Answer, error)
}

// Answer is what a run came to.
type Answer struct {
	Text  string // Markdown; empty or NO_REPLY: nothing is to be said
	Model string
	Usage sessions.Usage
}
