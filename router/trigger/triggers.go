package trigger

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"sluice/policy/flow"
	"sluice/router/lanes"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/router/place"
	"sluice/sessions"
)

// Store is what triggers need of the database.
type Store interface {
	OpenTriggers(ctx context.Context, partition, limit int) ([]ledger.Trigger, error)
	EndedTriggers(ctx context.Context, q ledger.EndedTriggers) ([]ledger.Trigger, error)
	OpenTriggersOf(ctx context.Context, source ledger.TriggerSource, subjects []string) ([]ledger.Trigger, error)
	Delivery(ctx context.Context, id ledger.DeliveryID) (ledger.Delivery, error)
	Run(ctx context.Context, id sessions.RunID) (sessions.Run, error)
	SessionByKey(ctx context.Context, key sessions.Key) (sessions.Record, error)
	WaitingRuns(ctx context.Context, id sessions.ID, limit int) ([]sessions.Run, error)
}

// Lanes stores changes, see [lanes.Lanes].
type Lanes interface {
	Commit(ctx context.Context, change ledger.Change) error
}

// Places creates sessions, see [place.Places].
type Places interface {
	NewRecord(key sessions.Key, agent string, route sessions.Route) sessions.Record
	MayEnd(record sessions.Record, who string, owner bool) (entry sessions.AuditEntry, kept string)
	Reset(old sessions.Record, least flow.Level) (ledger.Change, sessions.Record)
}

// Composer creates deliveries, see [outbound.Composer].
type Composer interface {
	Delivery(kind ledger.DeliveryKind, route sessions.Route, text string, label flow.Label) ledger.Delivery
	Notice(route sessions.Route, text string) ledger.Delivery
}

// Routes finds where messages go, see [outbound.Routes].
type Routes interface {
	Target(ctx context.Context, s *place.Settings, p outbound.Proactive) (sessions.Route, error)
}

// Triggers acts when something is due without a message. All fields are required. It is safe for concurrent use.
type Triggers struct {
	Sources  map[ledger.TriggerSource]Source
	Store    Store
	Lanes    Lanes
	Places   Places
	Composer Composer
	Routes   Routes
	Settings func() *place.Settings
	Now      func() time.Time
	Log      *slog.Logger
}

// planners are the sources that plan.
func (t *Triggers) planners() map[ledger.TriggerSource]Planner {
	found := map[ledger.TriggerSource]Planner{}
	for name, source := range t.Sources {
		if p, ok := source.(Planner); ok {
			found[name] = p
		}
	}
	return found
}

// In reports whether a source has triggers to plan in a partition.
func (t *Triggers) In(partition int) bool {
	for _, p := range t.planners() {
		if p.In(partition) {
			return true
		}
	}
	return false
}

// Worker is the worker of a partition's open triggers.
func (t *Triggers) Worker(lane *lanes.Lane) lanes.Turn {
	w := &worker{all: t, lane: lane, planners: t.planners(), planned: map[ledger.TriggerSource]int64{}}
	return w.turn
}

// Lane makes the lanes start the worker of a partition's triggers before there is any, if the partition has something to plan.
type Lane struct {
	lanes.Store
	In func(partition int) bool
}

// WaitingLanes implements [lanes.Store].
func (s Lane) WaitingLanes(ctx context.Context, partition int) ([]sessions.Lane, error) {
	waiting, err := s.Store.WaitingLanes(ctx, partition)
	if err == nil && s.In(partition) && !slices.Contains(waiting, ledger.DueLane) {
		waiting = append(waiting, ledger.DueLane)
	}
	return waiting, err
}
