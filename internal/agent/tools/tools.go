// Package tools has what all tools of agents share: declaring parameters, reading arguments, formatting results and
// reporting errors.
package tools

import (
	"context"
	"encoding/json"
	"errors"
	"unicode/utf8"

	"sluice/policy"
	"sluice/policy/flow"
	"sluice/sessions"
)

// Func does the work of a tool, see [sessions.Tool].
type Func func(ctx context.Context, caller sessions.Caller, args json.RawMessage) (sessions.ToolResult, error)

// ErrInside is the text that a model reads instead of an internal fault.
var ErrInside = errors.New("the tool failed with an internal error; try again later")

// InsideError is a fault that the model's arguments did not cause.
type InsideError struct {
	what string
	err  error
}

// Inside creates an internal fault: what was being done, and why it failed.
func Inside(what string, err error) error { return &InsideError{what, err} }

// Error implements error.
func (e *InsideError) Error() string { return e.what + ": " + e.err.Error() }

// Unwrap gives the cause.
func (e *InsideError) Unwrap() error { return e.err }

// FaultIn returns the fault that an error has inside, or nil if only the model's arguments caused it: then the tool itself refuses
// the call, and nobody has to be asked first.
func FaultIn(err error) error {
	if fault, ok := errors.AsType[*InsideError](err); ok {
		return fault
	}
	return nil
}

// JSON is a tool's result as JSON.
func JSON(v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", Inside("encode result", err)
	}
	return string(text), nil
}

// GateError is a text that the gate would not let out.
type GateError struct{ policy.Decision }

// Error implements error.
func (e *GateError) Error() string { return e.Reason }

// HiddenFrom reports whether a label is above the reader of a simulation.
func HiddenFrom(reader flow.Level, l flow.Label) bool { return reader.Valid() && !l.FlowsTo(reader) }

// CutText is the beginning of a text, cut between characters, of at most this many bytes.
func CutText(text string, most int) (cut string, shorter bool) {
	if len(text) <= most {
		return text, false
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most], true
}
