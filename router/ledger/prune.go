package ledger

import (
	"time"
)

// PruneKind is a kind of row that retention removes.
type PruneKind string

// The kinds.
const (
	PruneDeliveries PruneKind = "deliveries"
	PruneRuns       PruneKind = "runs"
	PruneEvents     PruneKind = "events"    // events keep their keys and lose the rest, once their run is removed
	PruneExchanges  PruneKind = "exchanges" // requests between sessions; keys that clients chose are kept
	PruneChains     PruneKind = "chains"    // what the runs of a chain have used
	PruneAlerts     PruneKind = "alerts"    // alerts that are over, with their groups and notifications, and silences
	PruneTriggers   PruneKind = "triggers"  // instants of jobs that have ended
	PruneChecks     PruneKind = "checks"    // results of checks that nothing looked at for long
	PruneNodes      PruneKind = "nodes"     // nodes that were revoked, and requests that nobody approved
	PruneHooks      PruneKind = "hooks"     // requests to hooks whose triggers have ended
	PruneLimits     PruneKind = "limits"    // windows of limits that are over
	PruneArchived   PruneKind = "archived"  // ended sessions of sub-agents, with their messages and runs
	PruneSessions   PruneKind = "sessions"  // other ended sessions, with everything that belongs to them
	PruneMedia      PruneKind = "media"     // files that came in or were sent
	PruneUsage      PruneKind = "usage"     // model calls, whose daily sums stay, and budgets of periods that are over
)

// Prune is one step of removing old rows. Rows that unfinished work needs are kept.
type Prune struct {
	Kind   PruneKind
	Before time.Time // rows that ended before it
	After  string    // where the previous step ended; empty: start with the oldest row
}

// Pruned is the result of a step.
type Pruned struct {
	Removed int    // rows that were removed or emptied
	Next    string // the next step's [Prune.After]
	More    bool   // there may be more
}

// Expiry says which sessions have expired.
type Expiry struct {
	Now       time.Time // those whose TTL has ended by then; sub-agents finish their work first
	IdleSince time.Time // those that are not persistent, have had a run and were last active before it
	KeptSince time.Time // persistent ones without activity since; zero: no persistent ones
}
