package journal

import (
	"github.com/prometheus/client_golang/prometheus"

	"sluice/internal/telemetry"
)

// Metrics counts sent messages.
type Metrics struct {
	Deliveries      *prometheus.CounterVec // by channel and terminal status
	Failures        *prometheus.CounterVec // by channel and kind
	Lookups         *prometheus.CounterVec // of messages whose answer was lost, by channel and outcome
	DeliverySeconds prometheus.Histogram
}

// NewMetrics registers the metrics.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "sluice", Subsystem: "router", Name: name, Help: help}, labels)
	}
	m := &Metrics{
		Deliveries:      counter("deliveries_total", "Finished deliveries.", "channel", "status"),
		Failures:        counter("send_failures_total", "Failed platform calls.", "channel", "kind"),
		Lookups:         counter("send_lookups_total", "Lookups on the platform for messages whose response was lost, by result.", "channel", "outcome"),
		DeliverySeconds: telemetry.NewSeconds("router", "delivery_seconds", "Time from a delivery's commit to its receipt."),
	}
	reg.MustRegister(m.Deliveries, m.Failures, m.Lookups, m.DeliverySeconds)
	return m
}
