package slack

import (
	"errors"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/adapters"
)

// metrics counts what the adapters of all accounts do; they share one set.
type metrics struct {
	events *prometheus.CounterVec
	calls  *prometheus.CounterVec
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		events: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_slack_events_total",
			Help: "Events from Slack by outcome: accepted, ignored, malformed, failed (not confirmed, delivered again), dropped (queue full, delivered again); partial additionally counts those with an unreadable field.",
		}, []string{"account", "outcome"}),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_slack_calls_total",
			Help: "Calls of the Web API by method and result: ok, lost (no answer) or the HTTP status.",
		}, []string{"account", "method", "result"}),
	}
	return m, adapters.Shared(r, &m.events, &m.calls)
}

func (m *metrics) event(account, outcome string) {
	m.events.WithLabelValues(account, outcome).Inc()
}

func (m *metrics) called(account, method string, err error) {
	result := "ok"
	if refused, ok := errors.AsType[*statusError](err); ok {
		result = strconv.Itoa(refused.Code)
	} else if err != nil {
		result = "lost"
	}
	m.calls.WithLabelValues(account, method, result).Inc()
}

// The outcomes of events, for the metric.
const (
	outcomeAccepted  = "accepted"
	outcomeIgnored   = "ignored"
	outcomeMalformed = "malformed"
	outcomeFailed    = "failed"
	outcomeDropped   = "dropped"
	outcomePartial   = "partial"
)
