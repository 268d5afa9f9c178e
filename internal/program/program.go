package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"sluice/agentkit"
	"sluice/internal/telemetry"
	"sluice/policy/flow"
	"sluice/sessions"
)

// Carrier brings turns to an agent's program. It is safe for concurrent use.
type Carrier interface {
	// Begin makes the way to a program for a run. It does not wait for the program.
	Begin(ctx context.Context, run Run) (Line, error)
}

// Run is a run that a program works.
type Run struct {
	Agent   string
	Folder  string // of the session's files, for a program with [Config.OwnProcess]; may be empty
	Session sessions.ID
	ID      sessions.RunID
	Timeout time.Duration // of the whole run; 0: none
}

// Line is the way to a program during a run. One goroutine uses it.
type Line interface {
	// Send asks for a turn. at is the instance that waits for it; empty: any.
	Send(ctx context.Context, turn []byte, at string) error
	// Next returns the next frame. Its error is [ErrAbsent], an [*EndedError], [ErrFlood], or that of ctx.
	Next(ctx context.Context) ([]byte, error)
	// Close ends the way. The program is told that the turn is no longer wanted, unless it is empty.
	Close(turn string)
}

var (
	// ErrAbsent: no instance of the program is there.
	ErrAbsent = errors.New("no instance of the program is connected")
	// ErrFlood: the program has sent more than the gateway can keep.
	ErrFlood = errors.New("the program sends faster than the gateway reads")
)

// EndedError says that a program has ended before its answer.
type EndedError struct{ Why string }

// Error implements error.
func (e *EndedError) Error() string { return "the program ended before its answer: " + e.Why }

// Config describes a program that is an agent.
type Config struct {
	Agent          string
	Kind           string     // nats, command or a2a
	Classification flow.Level // the highest level of a conversation that it may get
	Untrusted      bool       // whether its answers count as text of strangers
	Timeout        time.Duration
	// OwnProcess: each run has a process of its own. It works in the folder of the session's files, and its frames need not
	// name their turn.
	OwnProcess bool
	Carrier    Carrier
	Silence    time.Duration // how long it may be silent during a turn; default [agentkit.Silence]
	Now        func() time.Time
}

// Program is an agent's program. It is a model for [sessions.Session.SetModel], but answers only for a run, see
// [Program.Work]. It is safe for concurrent use.
type Program struct{ Config }

var (
	_ sessions.Model      = (*Program)(nil)
	_ sessions.Classified = (*Program)(nil)
)

// Name implements [sessions.Model].
func (p *Program) Name() string { return p.Kind + "/" + p.Agent }

// ContextWindow implements [sessions.Model].
func (*Program) ContextWindow() int { return 0 }

// Classification implements [sessions.Classified].
func (p *Program) Classification() flow.Level { return p.Config.Classification }

// errNoRun: a program writes no summaries.
var errNoRun = errors.New("a program answers only in its own runs")

// Complete implements [sessions.Model].
func (p *Program) Complete(context.Context, sessions.Request, func(sessions.Chunk)) (sessions.Completion, error) {
	return sessions.Completion{}, p.fault(sessions.ModelRefused, errNoRun)
}

func (p *Program) fault(kind sessions.ModelErrorKind, err error) error {
	return &sessions.ModelError{Kind: kind, Model: p.Name(), Err: err}
}

// Work returns the model for one run, which is used by one goroutine. end must be called when the run is over.
func (p *Program) Work(run *sessions.Run, label func() flow.Label, folder string) (m sessions.Model, end func()) {
	r := &worked{Program: p, label: label, run: Run{
		Agent: p.Agent, Folder: folder, Session: run.Session, ID: run.ID, Timeout: cmp.Or(p.Timeout, run.Timeout),
	}}
	return r, r.end
}

// worked is a program that works a run.
type worked struct {
	*Program
	run   Run
	label func() flow.Label // of the conversation, now
	line  Line
	turn  string // that was asked for and has not ended, or whose calls an instance waits for
	at    string // the instance that waits for the results of its calls
}

// Complete implements [sessions.Model]: it asks for the next turn.
func (w *worked) Complete(ctx context.Context, req sessions.Request, on func(sessions.Chunk)) (sessions.Completion, error) {
	span := telemetry.From(ctx).Child("invoke_agent", w.Agent, telemetry.Client)
	c, err := w.complete(telemetry.With(ctx, span), req, on)
	if err != nil {
		span.Fail("program")
	}
	span.Text("gen_ai.operation.name", "invoke_agent").Text("gen_ai.agent.id", w.Agent).Text("sluice.agent.kind", w.Kind).Text("sluice.run", string(w.run.ID)).
		Size("sluice.request.messages", len(req.Messages)).End()
	return c, err
}

func (w *worked) complete(ctx context.Context, req sessions.Request, on func(sessions.Chunk)) (c sessions.Completion, err error) {
	id := uuid.NewString()
	text, err := w.encode(ctx, id, &req)
	if err != nil {
		return c, w.fault(sessions.ModelRefused, err)
	}
	if w.line == nil {
		if w.line, err = w.Carrier.Begin(ctx, w.run); err != nil {
			return c, w.fault(sessions.ModelUnavailable, err)
		}
	}
	at := w.at
	w.turn, w.at = id, ""
	if err := w.line.Send(ctx, text, at); err != nil {
		return c, w.failed(ctx, err)
	}
	a := &answer{turn: id, alone: w.OwnProcess, on: on}
	for !a.ended {
		frame, err := w.next(ctx)
		if err == nil {
			err = a.take(frame)
		}
		if err != nil {
			return c, w.failed(ctx, err)
		}
	}
	if w.at = a.at; w.at == "" {
		w.turn = ""
	}
	if a.fault != nil {
		w.reset("")
		return c, w.fault(a.kind, a.fault)
	}
	return a.completion(), nil
}

// next waits for a frame, as long as a program may be silent.
func (w *worked) next(ctx context.Context) ([]byte, error) {
	silence := cmp.Or(w.Silence, agentkit.Silence)
	limited, cancel := context.WithTimeout(ctx, silence)
	defer cancel()
	frame, err := w.line.Next(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("%w for %s", errSilent, silence)
	}
	return frame, err
}

var errSilent = errors.New("the program was silent")

// failed classifies the failure of a turn. The next one begins with a new way to the program.
func (w *worked) failed(ctx context.Context, err error) error {
	turn := w.turn
	w.turn = ""
	w.reset(turn)
	kind := sessions.ModelRefused
	var ended *EndedError
	switch {
	case ctx.Err() != nil:
		return w.fault(sessions.ModelUnavailable, context.Cause(ctx))
	case errors.Is(err, ErrAbsent), errors.Is(err, errSilent):
		kind = sessions.ModelUnavailable
	case errors.As(err, &ended):
		kind = sessions.ModelCut
	}
	return w.fault(kind, err)
}

func (w *worked) reset(turn string) {
	if w.line != nil {
		w.line.Close(turn)
		w.line = nil
	}
}

func (w *worked) end() { w.reset(w.turn) }

// Instance is a running program of an agent, as it describes itself.
type Instance struct {
	Agent   string
	ID      string
	Version string
	Started time.Time
	Turns   int // that it was asked for
}
