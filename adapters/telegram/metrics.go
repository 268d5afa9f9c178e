package telegram

import (
	"errors"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/adapters"
)

// metrics counts the work of all accounts' adapters, which share one set.
type metrics struct {
	updates *prometheus.CounterVec
	calls   *prometheus.CounterVec
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		updates: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_telegram_updates_total",
			Help: "Updates from Telegram by outcome: accepted, ignored, malformed, failed (kept by Telegram and delivered again); partial additionally counts those with an unreadable field.",
		}, []string{"account", "outcome"}),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_telegram_calls_total",
			Help: "Calls of the Bot API by method and result: ok, lost (no answer) or Telegram's error code.",
		}, []string{"account", "method", "result"}),
	}
	return m, adapters.Shared(r, &m.updates, &m.calls)
}

func (m *metrics) update(account, outcome string) {
	m.updates.WithLabelValues(account, outcome).Inc()
}

func (m *metrics) called(account, method string, err error) {
	result := "ok"
	if refused, ok := errors.AsType[*apiError](err); ok {
		result = strconv.Itoa(refused.Code)
	} else if err != nil {
		result = "lost"
	}
	m.calls.WithLabelValues(account, method, result).Inc()
}
