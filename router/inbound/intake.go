package inbound

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/adapters"
	"sluice/internal/telemetry"
	"sluice/policy/flow"
	"sluice/router/approvals"
	"sluice/router/commands"
	"sluice/router/ledger"
	"sluice/router/place"
	"sluice/router/work"
	"sluice/sessions"
)

// Store is what the intake needs of the database.
type Store interface {
	Commit(ctx context.Context, change ledger.Change) error
	Delivery(ctx context.Context, id ledger.DeliveryID) (ledger.Delivery, error)
	DeliveryByIdempotency(ctx context.Context, key string) (ledger.Delivery, error)
	BotTurns(ctx context.Context, place sessions.Lane) (ledger.BotTurns, error)
	WaitingRuns(ctx context.Context, id sessions.ID, limit int) ([]sessions.Run, error)
	earlierStore
}

// earlierStore reads the effects of earlier messages of a conversation.
type earlierStore interface {
	Event(ctx context.Context, key string) (ledger.Event, error)
	Revision(ctx context.Context, lane sessions.Lane, message sessions.PlatformMessageID) (ledger.Revision, error)
	Run(ctx context.Context, id sessions.RunID) (sessions.Run, error)
	History(ctx context.Context, lane sessions.Lane) ([]sessions.HistoryLine, error)
	Posted(ctx context.Context, lane sessions.Lane, message sessions.PlatformMessageID) (ledger.Delivery, error)
}

// ButtonStore reads what a button means: where it was shown, and whether its question is still open.
type ButtonStore interface {
	Delivery(ctx context.Context, id ledger.DeliveryID) (ledger.Delivery, error)
	CanonicalConversation(ctx context.Context, channel, account string, id sessions.ConversationID) (sessions.ConversationID, error)
	PairingOf(ctx context.Context, channel, account string, user sessions.UserID) (ledger.Pairing, error)
	Approval(ctx context.Context, id ledger.ApprovalID) (ledger.Approval, error)
	Node(ctx context.Context, id string) (ledger.Node, error)
}

// Places decides who may talk to the bot where, and in which session, see [place.Places].
type Places interface {
	Access(ctx context.Context, s *place.Settings, in place.Arrival, owner bool) (place.Admit, error)
	SessionOf(ctx context.Context, s *place.Settings, in place.Arrival, owner bool) (sessions.Record, ledger.Change, error)
	SessionFor(ctx context.Context, s *place.Settings, in place.Arrival, owner bool) (record sessions.Record, fresh bool, err error)
	Label(route sessions.Route, owner bool) flow.Label
}

// Commands works out what chat commands do, see [commands.Commands].
type Commands interface {
	May(ctx context.Context, name string, c commands.Call) (bool, error)
	Execute(ctx context.Context, name string, c commands.Call) (commands.Answer, error)
}

// Pairings registers unknown people who ask for access, see [approvals.Pairings].
type Pairings interface {
	Request(ctx context.Context, in adapters.Inbound) (approvals.Request, error)
	// Guess waits for other guesses at pairing codes to end.
	Guess() (release func())
}

// Composer creates deliveries, see [outbound.Composer].
type Composer interface {
	Delivery(kind ledger.DeliveryKind, route sessions.Route, text string, label flow.Label) ledger.Delivery
	Notice(route sessions.Route, text string) ledger.Delivery
}

// Routes finds the direct chat with a person, see [outbound.Routes].
type Routes interface {
	Direct(ctx context.Context, a adapters.Adapter, id sessions.UserID) sessions.Route
}

// Lanes wakes the workers of lanes, see [lanes.Lanes].
type Lanes interface {
	Wake(partition int, lane sessions.Lane)
	WakeSession(id sessions.ID)
	WakeFor(change ledger.Change)
}

// Acks shows people that the bot has received their messages, see [work.Acks].
type Acks interface {
	Heard(run sessions.Run)
}

// Workers work the runs of sessions, see [work.Workers].
type Workers interface {
	// Begin makes the run of a change start in the change itself, or returns nil.
	Begin(change *ledger.Change, record sessions.Record) *work.Begun
}

// Intake accepts events. All fields but Full and Tracer are required. It is safe for concurrent use.
type Intake struct {
	Store     Store
	Buttons   ButtonStore
	Settings  func() *place.Settings // the current ones
	Places    Places
	SinkLevel func(route sessions.Route) flow.Level // the highest level that may be sent on a route
	Commands  Commands
	Pairings  Pairings
	Composer  Composer
	Routes    Routes
	Adapter   adapters.Finder
	Lanes     Lanes
	Acks      Acks
	Refused   Refused
	Limits    Limits
	Workers   Workers
	Emit      func(event sessions.Event) // publishes a live event
	Stopping  func() bool                // whether the gateway accepts no new events
	Full      func() error               // why no new events are accepted at the moment; nil: never
	Now       func() time.Time
	Log       *slog.Logger
	Metrics   *Metrics
	Tracer    *telemetry.Tracer // nil: events are not traced

	unstored unstored
}

var _ adapters.Acceptor = (*Intake)(nil)

// Refused notes whose message was refused, and why.
type Refused interface {
	Note(in adapters.Inbound, reason string)
}

// Metrics counts the events.
type Metrics struct {
	Accepted *prometheus.CounterVec // by channel and outcome
	Ignored  *prometheus.CounterVec // by channel and reason
	Dropped  *prometheus.CounterVec // by which end of the queue
	Seconds  prometheus.Histogram
}

// NewMetrics registers the metrics.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "sluice", Subsystem: "router", Name: name, Help: help}, labels)
	}
	m := &Metrics{
		Accepted: counter("events_total", "Inbound events by outcome.", "channel", "outcome"),
		Ignored:  counter("events_ignored_total", "Inbound events that were not admitted.", "channel", "reason"),
		Dropped:  counter("queue_dropped_total", "Messages dropped because the queue was full.", "which"),
		Seconds:  telemetry.NewSeconds("router", "accept_seconds", "Time from an event's arrival to its commit."),
	}
	reg.MustRegister(m.Accepted, m.Ignored, m.Dropped, m.Seconds)
	return m
}
