package port

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"sluice/internal/spending"
	"sluice/policy/flow"

	"sluice/sessions/message"
	"sluice/sessions/record"
)

// Model is one language model behind a provider. Implementations are safe for
// concurrent use and never retry on their own.
type Model interface {
	// Name is "<provider>/<model>".
	Name() string
	// Complete runs one completion. It calls on for each chunk as it arrives, from
	// the calling goroutine, and returns the whole message. An error is a
	// *[ModelError]; a stream that was cut short is [ModelCut] and never a success.
	Complete(ctx context.Context, req Request, on func(Chunk)) (Completion, error)
	// ContextWindow is how many tokens a prompt and its answer may have; 0 if unknown.
	ContextWindow() int
}

// ModelLevel is the highest level that may be sent to a model. It is PUBLIC, as for every unknown place, where the model
// does not say its level or the level was lost.
func ModelLevel(m Model) flow.Level {
	if c, ok := m.(Classified); ok && c.Classification().Valid() {
		return c.Classification()
	}
	return flow.Public
}

// Classified is the optional ability of a model to say the highest level that may be sent to it.
type Classified interface {
	Classification() flow.Level
}

// MaxTemperature is the highest temperature that a model takes.
func MaxTemperature(m Model) float32 {
	if c, ok := m.(Tempered); ok {
		return c.MaxTemperature()
	}
	return record.TemperatureMax
}

// Tempered is the optional ability of a model to say the highest temperature that it takes. Without it, the model takes
// [record.TemperatureMax].
type Tempered interface {
	MaxTemperature() float32
}

// WindowFor is the context window of a model for a prompt with a label: of a chain, only the models that may see it count.
func WindowFor(m Model, label flow.Label) int {
	if w, ok := m.(Windowed); ok {
		return w.WindowFor(label)
	}
	return m.ContextWindow()
}

// Windowed is the optional ability of a model whose context window depends on what the prompt knows.
type Windowed interface {
	WindowFor(label flow.Label) int
}

// BeginTurn tells a model that a new turn begins: a chain asks its first model first again.
func BeginTurn(m Model) {
	if t, ok := m.(Turning); ok {
		t.BeginTurn()
	}
}

// Turning is the optional ability of a model that remembers something until the next turn.
type Turning interface {
	BeginTurn()
}

// Request is one completion's prompt.
type Request struct {
	System      string
	Lasting     int                  // bytes at the beginning of System that stay from turn to turn; 0: all of it
	Messages    []message.Message    // oldest first; tool calls and their results stand in pairs; not to be changed or kept
	Encoded     *Encoded             // of the session's messages, from one completion to the next; nil: nothing is kept
	Tools       []ToolSpec           // not to be changed: all requests of a session share the list
	MaxTokens   int                  // of the answer; 0 for the provider's default
	Temperature *float32             // nil for the provider's default
	Thinking    record.ThinkingLevel // empty for the provider's default
	Label       flow.Label           // of everything that the prompt says; where it was lost, the highest
	Kept        bool                 // the caller stores what [Completion.Posting] says
}

// Chunk is a part of a streamed answer.
type Chunk struct {
	Type   message.PartType // text, thinking or toolCall
	Text   string           // text and thinking: what was added
	CallID string           // toolCall
	Tool   string           // toolCall
	// Void: discard what was streamed so far, because the answer begins again, perhaps from another model. Nothing else is set.
	Void bool
}

// Completion is a finished answer.
type Completion struct {
	Parts []message.Part // labels unset; the session labels them
	Usage message.Usage
	// Truncated: the answer hit the token limit.
	Truncated bool
	Model     string // "<provider>/<model>" that answered; empty: the one that was asked
	// Posting is what the call has cost, to be stored with the answer; nil if it is stored, or nobody counts.
	Posting *spending.Posting
}

// ModelErrorKind classifies a failed completion.
type ModelErrorKind string

// The kinds. RateLimited, Overloaded, Unavailable, Cut and Loading may be retried.
const (
	ModelRateLimited ModelErrorKind = "rate_limited"
	ModelOverloaded  ModelErrorKind = "overloaded"       // 5xx
	ModelUnavailable ModelErrorKind = "unavailable"      // no connection, time-out, stalled stream
	ModelCut         ModelErrorKind = "cut"              // the stream ended before its end marker
	ModelOverflow    ModelErrorKind = "context_overflow" // the prompt is too long
	ModelLoading     ModelErrorKind = "loading"          // the server is still loading the model
	ModelMissing     ModelErrorKind = "missing"          // the provider does not have the model
	ModelAuth        ModelErrorKind = "auth"             // key wrong or revoked
	ModelForbidden   ModelErrorKind = "forbidden"        // the key may not use the model
	ModelBilling     ModelErrorKind = "billing"          // the key's account has no money or quota left
	ModelRefused     ModelErrorKind = "refused"          // any other 4xx: the request itself is wrong
)

// ErrDeclined is the cause of a [ModelRefused] if the model, or a filter of its provider, has declined to say anything. The provider
// may charge for the prompt.
var ErrDeclined = errors.New("the model declined to answer")

// ModelError is why a completion failed.
type ModelError struct {
	Kind       ModelErrorKind
	Model      string
	RetryAfter time.Duration // what the provider asked for; 0 if nothing
	Err        error
}

// Error implements error.
func (e *ModelError) Error() string { return fmt.Sprintf("model %s: %s: %v", e.Model, e.Kind, e.Err) }

// Unwrap gives the cause.
func (e *ModelError) Unwrap() error { return e.Err }

// Retryable reports whether the same request may succeed later.
func (e *ModelError) Retryable() bool {
	switch e.Kind {
	case ModelRateLimited, ModelOverloaded, ModelUnavailable, ModelCut, ModelLoading:
		return true
	}
	return false
}

// ToolSpec is what a model is told of a tool.
type ToolSpec struct {
	Name        string
	Description string
	Parameters  json.RawMessage // JSON Schema of the arguments, type object
}
