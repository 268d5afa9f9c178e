package ledger

import "time"

// PruneKind is a kind of row that retention removes.
type PruneKind string

// The kinds.
const (
	PruneDeliveries PruneKind = "deliveries"
	PruneRuns       PruneKind = "runs"
	PruneEvents     PruneKind = "events"    // events keep their keys and lose the rest, once their run is gone
	PruneExchanges  PruneKind = "exchanges" // requests between sessions; of those that a client has named, the key stays
	PruneChains     PruneKind = "chains"    // what the runs of a chain have used
	PruneArchived   PruneKind = "archived"  // sessions of sub-agents that have ended, with their messages and runs
	PruneSessions   PruneKind = "sessions"  // other sessions that have ended, with what they own
	PruneMedia      PruneKind = "media"     // files that came in or were sent
)

// Prune is one step of removing old rows. A row that something unfinished still needs is left.
type Prune struct {
	Kind   PruneKind
	Before time.Time // rows that ended before it
	After  string    // where the step before ended; empty: begin with the oldest row
}

// Pruned is what a step has done.
type Pruned struct {
	Removed int    // rows that were removed or emptied
	Next    string // the next step's [Prune.After]
	More    bool   // there may be more
}
