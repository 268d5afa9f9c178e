package spending

import (
	"context"
	"time"

	"sluice/policy/flow"
	"sluice/sessions/address"
)

// Outcome is how a call has ended: [OutcomeOK], [OutcomeOpen], [OutcomeLost], or why the model has failed.
type Outcome string

// The outcomes of calls that have not failed at the provider.
const (
	OutcomeOK   Outcome = "ok"
	OutcomeOpen Outcome = "open" // it has a reservation and has not ended
	OutcomeLost Outcome = "lost" // its process has died
)

// Origin says for what a call is made. The zero value stands for the gateway itself.
type Origin struct {
	Run        address.RunID
	Session    address.ID
	Agent      string
	Person     string // who spoke, as a principal; empty: nobody
	Job        string // empty: no job has caused the run
	Unattended bool   // nobody waits for it: a job, a heartbeat, a sub-agent

	// Partition and Epoch are those of the session's owner. With an epoch, a call is lost as soon as the partition has another
	// owner: the old one can no longer store anything of it.
	Partition int
	Epoch     int64
}

type originKey struct{}

// With is a context whose calls are made for an origin.
func With(ctx context.Context, o Origin) context.Context {
	return context.WithValue(ctx, originKey{}, &o)
}

// OriginOf is the origin of the calls of a context.
func OriginOf(ctx context.Context) Origin {
	if o, ok := ctx.Value(originKey{}).(*Origin); ok {
		return *o
	}
	return Origin{}
}

// Call is one model call: a row of the ledger.
type Call struct {
	ID string
	Origin
	Provider string
	Key      string // the name of the provider's key
	Model    string // without the provider
	Level    flow.Level
	Started  time.Time
	Latency  time.Duration
	Outcome  Outcome

	Amount   Amount
	Cost     Money
	Currency string
	Priced   bool // the cost is known; otherwise it is 0
	// Assumed: the provider has not said what the call has used, so that its cost is the most that it may have been.
	Assumed bool
}
