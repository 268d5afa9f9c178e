package work

import "github.com/prometheus/client_golang/prometheus"

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
	histogram := func(name, help string) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: "sluice", Subsystem: "router", Name: name, Help: help,
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300},
		})
	}
	m := &Metrics{
		Steered:      prometheus.NewCounter(prometheus.CounterOpts{Namespace: "sluice", Subsystem: "router", Name: "steered_total", Help: "Messages added to a run in progress."}),
		Runs:         counter("runs_total", "Finished runs.", "status"),
		Acks:         counter("ack_reactions_total", "Reactions that acknowledge a message.", "channel", "outcome"),
		QueueSeconds: histogram("queue_seconds", "Time from a run's commit to its start."),
		RunSeconds:   histogram("run_seconds", "Time from a run's start to its end."),
	}
	reg.MustRegister(m.Steered, m.Runs, m.Acks, m.QueueSeconds, m.RunSeconds)
	return m
}
