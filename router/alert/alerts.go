package alert

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/adapters"
	"sluice/internal/alert"
	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/lanes"
	"sluice/router/ledger"
	"sluice/router/outbound"
	"sluice/router/place"
	"sluice/sessions"
)

// Store is what alerts need of the database.
type Store interface {
	ledger.Alerts
	Delivery(ctx context.Context, id ledger.DeliveryID) (ledger.Delivery, error)
}

// Lanes stores changes and wakes lanes, see [lanes.Lanes].
type Lanes interface {
	Commit(ctx context.Context, change ledger.Change) error
	Wake(partition int, lane sessions.Lane)
	Owns(partition int) bool
}

// Composer creates deliveries and asks the gate about them, see [outbound.Composer].
type Composer interface {
	Delivery(kind ledger.DeliveryKind, route sessions.Route, text string, label flow.Label) ledger.Delivery
	SessionAt(ctx context.Context, agent string, route sessions.Route) (sessions.Record, error)
	Decide(ctx context.Context, d ledger.Delivery, record sessions.Record) (policy.Decision, error)
}

// Routes finds where messages go, see [outbound.Routes].
type Routes interface {
	Target(ctx context.Context, s *place.Settings, p outbound.Proactive) (sessions.Route, error)
}

// Alerts takes alerts in and tells people. All fields are required. It is safe for concurrent use.
type Alerts struct {
	Store      Store
	Groups     ledger.AlertGroups
	Lanes      Lanes
	Composer   Composer
	Routes     Routes
	Adapter    adapters.Finder
	Settings   func() *place.Settings
	Partitions int // the same on all replicas
	Now        func() time.Time
	Log        *slog.Logger
	Metrics    *Metrics

	plan     atomic.Pointer[alert.Plan]
	counting sync.Mutex // held from counting what a target was told until the next notification is stored, see [notifying.spend]
}

// ErrOff refuses a report while the configuration says nothing about alerts.
var ErrOff = errors.New("alerts are not configured: add alerts.route to the configuration")

// Configure replaces the plan; nil: alerts are off. Groups that wait are looked at with the new plan when they are due.
func (a *Alerts) Configure(plan *alert.Plan) { a.plan.Store(plan) }

// Plan is the present plan; nil: alerts are off.
func (a *Alerts) Plan() *alert.Plan { return a.plan.Load() }

// Worker is the worker of a partition's open groups.
func (a *Alerts) Worker(lane *lanes.Lane) lanes.Turn {
	w := &worker{all: a, lane: lane}
	return w.turn
}

// Metrics counts notifications.
type Metrics struct {
	Notifications *prometheus.CounterVec // by reason
}

// NewMetrics registers the metrics.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{
		Notifications: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "sluice", Name: "alert_notifications_total", Help: "Notifications of alerts by their reason; edit for a message that shows a change of state.",
		}, []string{"reason"}),
	}
	reg.MustRegister(m.Notifications)
	return m
}
