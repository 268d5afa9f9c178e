package discord

import (
	"errors"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/adapters"
)

// The outcomes of events, for the metric.
const (
	outcomeAccepted  = "accepted"
	outcomeIgnored   = "ignored"
	outcomeMalformed = "malformed"
	outcomePartial   = "partial"
	outcomeFailed    = "failed"
)

// metrics counts what the adapters of all accounts do; they share one set.
type metrics struct {
	events   *prometheus.CounterVec
	calls    *prometheus.CounterVec
	sessions *prometheus.CounterVec
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_discord_events_total",
			Help: "Events from Discord by outcome: accepted, ignored, malformed, failed (tried again); partial additionally counts those with an unreadable field.",
		}, []string{"account", "outcome"}),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_discord_calls_total",
			Help: "REST calls by route and result: ok, lost (no answer), held (not made, a limit is used up), or the HTTP status.",
		}, []string{"account", "route", "result"}),
		sessions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_discord_sessions_total",
			Help: "Gateway sessions by start: identified or resumed.",
		}, []string{"account", "how"}),
	}
	return m, adapters.Shared(r, &m.events, &m.calls, &m.sessions)
}

func (m *metrics) event(account, outcome string) {
	m.events.WithLabelValues(account, outcome).Inc()
}

func (m *metrics) session(account, how string) {
	m.sessions.WithLabelValues(account, how).Inc()
}

func (m *metrics) called(account string, req request, err error) {
	result := "ok"
	if refused, ok := errors.AsType[*apiError](err); ok {
		if result = strconv.Itoa(refused.Status); refused.NotMade {
			result = "held"
		}
	} else if err != nil {
		result = "lost"
	}
	m.calls.WithLabelValues(account, req.method+" "+req.path.route, result).Inc()
}
