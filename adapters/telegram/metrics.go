package telegram

import (
	"errors"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics counts what the adapters of all accounts do; they share one set.
type metrics struct {
	updates *prometheus.CounterVec
	calls   *prometheus.CounterVec
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		updates: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_telegram_updates_total",
			Help: "Updates from Telegram by outcome: accepted, ignored, malformed, failed (kept by Telegram and given again).",
		}, []string{"account", "outcome"}),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sluice_telegram_calls_total",
			Help: "Calls of the Bot API by method and result: ok, lost (no answer) or Telegram's error code.",
		}, []string{"account", "method", "result"}),
	}
	if r == nil {
		return m, nil
	}
	var err error
	if m.updates, err = shared(r, m.updates); err != nil {
		return nil, err
	}
	m.calls, err = shared(r, m.calls)
	return m, err
}

// shared registers a collector, or finds the one that another account registered.
func shared(r prometheus.Registerer, c *prometheus.CounterVec) (*prometheus.CounterVec, error) {
	err := r.Register(c)
	if known, ok := errors.AsType[prometheus.AlreadyRegisteredError](err); ok {
		if vec, ok := known.ExistingCollector.(*prometheus.CounterVec); ok {
			return vec, nil
		}
	}
	return c, err
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
