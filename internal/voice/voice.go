// Package voice turns recordings into text, and replies into recordings, as the configuration says.
//
// A server with OpenAI's Audio API gets only what its classification allows. A command runs in the sandbox, without network. Both have a
// limit of time and size. What a server hears or says costs money and counts towards budgets; a command costs nothing.
package voice

import (
	"context"
	"sync/atomic"
	"time"

	"sluice/internal/config/agents"
	"sluice/internal/model"
	"sluice/internal/model/meter"
	"sluice/internal/sandbox"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/ledger"
	"sluice/router/outbound"
)

// timeout limits one recording, in both directions.
const timeout = time.Minute

// After a failure that took slow or longer, a speech server is not asked for the time rest: the next messages to a conversation wait
// for each recording.
const (
	slow = 10 * time.Second
	rest = 5 * time.Minute
)

// resting says until when the speech server is not asked.
type resting struct {
	of     *model.Registry // after a change of the models, it may be another server
	until  time.Time
	length int // of the text, in bytes: half of it is still spoken
}

// Runner runs a command in a sandbox, see [sandbox.Bubblewrap].
type Runner interface {
	Available(ctx context.Context) error
	Run(ctx context.Context, c sandbox.Config, command ...string) (sandbox.Result, error)
}

// Meter counts what calls of speech servers cost, and enforces budgets, see [meter.Meter]. It makes a call with ask, which returns
// how long the recording lasts; 0 if that is not known.
type Meter interface {
	Hear(ctx context.Context, a meter.Audio, ask func(context.Context) (time.Duration, error)) error
}

var _ Meter = (*meter.Meter)(nil)

// Voice hears and speaks. Its fields are set before its first use; it is safe for concurrent use.
type Voice struct {
	Models  *atomic.Pointer[model.Registry]
	Meter   Meter
	Sandbox Runner
	Limits  func() sandbox.Limits // of a command
	// Send tells people what is missing.
	Send func(ctx context.Context, p outbound.Proactive) (ledger.Delivery, error)
	Now  func() time.Time

	rests    atomic.Pointer[resting]
	settings atomic.Pointer[agents.Media]
}

// Configure replaces the settings.
func (v *Voice) Configure(m agents.Media) { v.settings.Store(&m) }

func (v *Voice) media() agents.Media {
	if m := v.settings.Load(); m != nil {
		return *m
	}
	return agents.Media{}
}

// mayLearn reports whether a provider may get what has this label.
func mayLearn(label flow.Label, provider flow.Level) bool {
	return policy.CheckModel.Skipped() || flow.CanFlow(label.Level(), provider)
}
