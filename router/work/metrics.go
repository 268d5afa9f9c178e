package work

import (
	"github.com/prometheus/client_golang/prometheus"

	"sluice/internal/telemetry"
)

// Metrics counts the work of sessions.
type Metrics struct {
	Steered      prometheus.Counter
	Runs         *prometheus.CounterVec // by terminal status
	Acks         *prometheus.CounterVec // by channel and outcome
	QueueSeconds prometheus.Histogram
	RunSeconds   prometheus.Histogram
}

// NewMetrics registers the metrics.
func NewMetrics(reg prometheus.Registerer) *Metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "sluice", Subsystem: "router", Name: name, Help: help}, labels)
	}
	m := &Metrics{
		Steered:      prometheus.NewCounter(prometheus.CounterOpts{Namespace: "sluice", Subsystem: "router", Name: "steered_total", Help: "Messages added to a run in progress."}),
		Runs:         counter("runs_total", "Finished runs.", "status"),
		Acks:         counter("ack_reactions_total", "Reactions that acknowledge a message.", "channel", "outcome"),
		QueueSeconds: telemetry.NewSeconds("router", "queue_seconds", "Time from a run's commit to its start."),
		RunSeconds:   telemetry.NewSeconds("router", "run_seconds", "Time from a run's start to its end."),
	}
	reg.MustRegister(m.Steered, m.Runs, m.Acks, m.QueueSeconds, m.RunSeconds)
	return m
}
