package agentkit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"
)

// Handler works a turn and returns the answer, in Markdown. An error ends the run: its text is for the owner of the gateway,
// people get a notice. If the same turn may succeed later, wrap the error with [Retry]. ctx ends when the answer is no
// longer wanted. Handlers of several runs run at the same time.
type Handler func(ctx context.Context, w *Work) (answer string, err error)

// Retry marks an error after which the gateway asks again.
func Retry(err error) error { return retryError{err} }

type retryError struct{ error }

func (e retryError) Unwrap() error { return e.error }

// Work is the work on a run. Only the handler's goroutine uses it.
type Work struct {
	Turn
	Usage Usage // set it to report what the answer cost

	send   func(Frame) error           // of this turn
	next   <-chan incoming             // the turn after a call
	at     string                      // of the instance
	done   []Result                    // calls since the last message of somebody else, in order
	calls  map[string]Call             // of done, by id
	read   int                         // of done, how many Call has returned again
	resume func(context.Context) error // called when it goes on; may be nil
	park   func()                      // called before the work waits for a turn; may be nil
	made   int                         // calls of this work
}

// incoming is a turn with the way back.
type incoming struct {
	event Event
	send  func(Frame) error
}

func newWork(in incoming, next <-chan incoming, at string) *Work {
	w := &Work{next: next, at: at}
	w.take(in)
	for _, m := range w.Messages {
		switch m.Role {
		case RoleAssistant:
			for _, c := range m.Calls {
				w.calls[c.ID] = c
			}
		case RoleTool:
			w.done = append(w.done, m.Results...)
		default:
			w.done, w.calls = nil, map[string]Call{}
		}
	}
	return w
}

func (w *Work) take(in incoming) {
	w.Turn, w.send = in.event.Data, in.send
	w.ID = in.event.ID
	if w.calls == nil {
		w.calls = map[string]Call{}
	}
}

// LastMessage is the last message that the agent did not write itself.
func (w *Work) LastMessage() Message {
	for _, m := range slices.Backward(w.Messages) {
		if m.Role == RoleUser || m.Role == RoleAgent {
			return m
		}
	}
	return Message{}
}

// Say streams the next part of the answer.
func (w *Work) Say(text string) error {
	return w.send(Frame{Turn: w.ID, Type: FrameDelta, Text: text})
}

// Think streams what the program thinks. People see it if they ask for it.
func (w *Work) Think(text string) error {
	return w.send(Frame{Turn: w.ID, Type: FrameThinking, Text: text})
}

// Call calls a tool of the gateway and waits for its result. A refused or failed call is a result with Error. People may
// have to approve the call, which can take as long as the run.
//
// If the run goes on in another instance, the handler starts again from its beginning. Call then returns the stored results
// of the calls that were made before, as long as they are the same calls in the same order, and runs no call twice.
func (w *Work) Call(ctx context.Context, tool string, arguments any) (Result, error) {
	if arguments == nil {
		arguments = struct{}{}
	}
	args, err := json.Marshal(arguments)
	if err != nil {
		return Result{}, fmt.Errorf("call %s: %w", tool, err)
	}
	if w.read < len(w.done) {
		r := w.done[w.read]
		if r.Name == tool && same(w.calls[r.ID].Arguments, args) {
			w.read++
			return r, nil
		}
		w.read = len(w.done) // the handler does something else this time
	}
	id, err := w.ask(ctx, tool, args)
	for err == nil && !answered(w.Messages) { // the gateway died before it stored the call
		id, err = w.ask(ctx, tool, args)
	}
	if err != nil {
		return Result{}, err
	}
	for _, m := range slices.Backward(w.Messages) {
		for _, r := range m.Results {
			if r.ID == id || len(m.Results) == 1 && r.Name == tool {
				return r, nil
			}
		}
		if m.Role == RoleAssistant {
			break
		}
	}
	return Result{}, fmt.Errorf("call %s: the turn has no result", tool)
}

// ask asks the gateway to run a call, and waits for the next turn.
func (w *Work) ask(ctx context.Context, tool string, args json.RawMessage) (id string, err error) {
	w.made++
	id = w.ID + "." + strconv.Itoa(w.made)
	if w.park != nil {
		w.park()
	}
	if err := w.send(Frame{Turn: w.ID, Type: FrameCalls, Calls: []Call{{ID: id, Name: tool, Arguments: args}}, At: w.at, Usage: w.spent()}); err != nil {
		return "", err
	}
	select {
	case in, ok := <-w.next:
		if !ok {
			return "", errors.New("the gateway has closed the run")
		}
		w.take(in)
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	if w.resume != nil {
		return id, w.resume(ctx)
	}
	return id, nil
}

// spent takes what the work has cost so far: each turn reports its own.
func (w *Work) spent() *Usage {
	if w.Usage == (Usage{}) {
		return nil
	}
	u := w.Usage
	w.Usage = Usage{}
	return &u
}

func same(a, b json.RawMessage) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return bytes.Equal(a, b)
	}
	return reflect.DeepEqual(x, y)
}

// aliveEvery is how often a program that works says so.
const aliveEvery = Silence / 4

// perform runs a handler and sends its end. It says that the program is alive while the handler runs.
func perform(ctx context.Context, w *Work, alive func() error, handle Handler) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	beats := make(chan struct{})
	go func() {
		defer close(beats)
		t := time.NewTicker(aliveEvery)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				if alive() != nil {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	defer func() { cancel(); <-beats }()
	answer, err := protect(ctx, w, handle)
	if ctx.Err() != nil {
		return context.Cause(ctx) // nobody waits for it
	}
	if err != nil {
		_, retry := errors.AsType[retryError](err)
		return w.send(Frame{Turn: w.ID, Type: FrameError, Message: err.Error(), Retry: retry})
	}
	return w.finish(answer)
}

// finish sends the answer, in parts if it is long.
func (w *Work) finish(answer string) error {
	const part = FrameMax / 8 // JSON may write a byte as six
	if len(answer) <= part {
		return w.send(Frame{Turn: w.ID, Type: FrameDone, Text: answer, Usage: w.spent()})
	}
	return w.send(Frame{Turn: w.ID, Type: FrameError, Message: fmt.Sprintf("the answer has %d bytes: stream answers of more than %d bytes with Say, and return an empty text", len(answer), part)})
}

func protect(ctx context.Context, w *Work, handle Handler) (answer string, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return handle(ctx, w)
}
