// Package tools has what all tools of agents share: how they read their arguments, give their results and say what is wrong.
package tools

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/sessions"
)

// Func does the work of a tool, see [sessions.Tool].
type Func func(ctx context.Context, caller sessions.Caller, args json.RawMessage) (sessions.ToolResult, error)

// ErrInside is all that a model learns of a fault that is not its own.
var ErrInside = errors.New("the tool failed with an internal error; try again later")

// InsideError is a fault that the model's arguments did not cause.
type InsideError struct {
	what string
	err  error
}

// Inside makes such a fault: what was being done, and why it failed.
func Inside(what string, err error) error { return &InsideError{what, err} }

// Error implements error.
func (e *InsideError) Error() string { return e.what + ": " + e.err.Error() }

// Unwrap gives the cause.
func (e *InsideError) Unwrap() error { return e.err }

// DecodeArgs reads a call's arguments strictly. Its errors name the parameter.
func DecodeArgs(args json.RawMessage, into any) error {
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.DisallowUnknownFields()
	err := dec.Decode(into)
	if te, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s: want %s, got a JSON %s", te.Field, jsonType(te.Type.Kind().String()), te.Value)
	}
	if name, ok := strings.CutPrefix(errText(err), "json: unknown field "); ok {
		return fmt.Errorf("%s: unknown parameter", strings.Trim(name, `"`))
	}
	if err != nil {
		return fmt.Errorf("arguments: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("arguments: more than one JSON value")
	}
	return nil
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// jsonType is what a model calls a Go kind.
func jsonType(kind string) string {
	switch {
	case strings.HasPrefix(kind, "int"), strings.HasPrefix(kind, "uint"):
		return "a whole number"
	case strings.HasPrefix(kind, "float"):
		return "a number"
	case kind == "bool":
		return "true or false"
	case kind == "slice":
		return "an array"
	case kind == "ptr", kind == "struct", kind == "map":
		return "an object"
	}
	return "a " + kind
}

// JSON is a tool's result as JSON.
func JSON(v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", Inside("encode result", err)
	}
	return string(text), nil
}

// CallKey names a tool call for ever. Its arguments are a part of it, because some models give each
// answer's calls the same ids.
func CallKey(caller sessions.Caller, args []byte) string {
	said := sha256.Sum256(args)
	return ledger.ToolCallPrefix + string(caller.Run) + "/" + caller.CallID + "/" + hex.EncodeToString(said[:8])
}

// GateError is a text that the gate would not let out.
type GateError struct{ policy.Decision }

// Error implements error.
func (e *GateError) Error() string { return e.Reason }

// HiddenFrom reports whether something is above what who is told of a simulation may see.
func HiddenFrom(reader flow.Level, l flow.Label) bool { return reader.Valid() && !l.FlowsTo(reader) }

// CutText is the beginning of a text with whole characters, at most so many bytes.
func CutText(text string, most int) (cut string, shorter bool) {
	if len(text) <= most {
		return text, false
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most], true
}
