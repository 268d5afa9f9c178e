package hook

import (
	"context"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	mapping "sluice/internal/hook"
	"sluice/policy/flow"
	"sluice/router/ledger"
)

// Hook is a hook of the configuration.
type Hook struct {
	*mapping.Mapping
	Level   flow.Level // of what its requests say
	Agent   string
	Deliver ledger.TriggerDelivery // of the agent's replies
	Timeout time.Duration          // of a run; 0: as configured for all
}

// Label is the label of what the hook's requests say.
func (h *Hook) Label() flow.Label { return flow.NewLabel(h.Level, flow.Untrusted) }

// Store is what hooks need of the database.
type Store interface {
	HookRequest(ctx context.Context, key string) (ledger.HookRequest, error)
	HookRequestOnce(ctx context.Context, hook, once string) (ledger.HookRequest, error)
}

// Lanes stores changes, see [lanes.Lanes].
type Lanes interface {
	Commit(ctx context.Context, change ledger.Change) error
}

// Hooks takes requests in. All fields are required. It is safe for concurrent use.
type Hooks struct {
	Store      Store
	Lanes      Lanes
	Stopping   func() bool
	Full       func() error // why no requests are accepted at the moment; nil: never
	Partitions int          // the same on all replicas
	Now        func() time.Time
	Metrics    *Metrics
	Alerts     Alerts

	all atomic.Pointer[map[string]*Hook]
}

// Configure replaces the hooks. A waiting request of a hook that is gone is withdrawn when its turn comes.
func (h *Hooks) Configure(list []Hook) {
	all := make(map[string]*Hook, len(list))
	for i := range list {
		all[list[i].Name] = &list[i]
	}
	h.all.Store(&all)
}

// Find finds a hook.
func (h *Hooks) Find(name string) (*Hook, bool) {
	all := h.all.Load()
	if all == nil {
		return nil, false
	}
	found, ok := (*all)[name]
	return found, ok
}

// List lists the hooks by name.
func (h *Hooks) List() []*Hook {
	all := h.all.Load()
	if all == nil {
		return nil
	}
	var list []*Hook
	for _, name := range slices.Sorted(maps.Keys(*all)) {
		list = append(list, (*all)[name])
	}
	return list
}

// Metrics counts requests.
type Metrics struct{ Requests *prometheus.CounterVec }

// NewMetrics registers the metrics.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	m := &Metrics{prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "sluice", Subsystem: "hook", Name: "requests_total",
		Help: "Requests to hooks, by hook and result: accepted, repeated, conflict, unsigned, malformed, unknown, limited, busy, failed; and of accepted ones later: run, alert, filtered, unusable.",
	}, []string{"hook", "result"})}
	reg.MustRegister(m.Requests)
	return m
}

// Count counts a request that has come to a result. Only names of configured hooks become labels.
func (h *Hooks) Count(name, result string) {
	if _, ok := h.Find(name); !ok {
		name = ""
	}
	h.Metrics.Requests.WithLabelValues(name, result).Inc()
}
