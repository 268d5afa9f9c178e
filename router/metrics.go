package router

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	accepted      *prometheus.CounterVec // by channel and outcome
	ignored       *prometheus.CounterVec // by channel and reason
	dropped       *prometheus.CounterVec // by which end of the queue
	exchanges     *prometheus.CounterVec // by kind and outcome
	acceptSeconds prometheus.Histogram
	partitions    prometheus.Gauge
	pruned        *prometheus.CounterVec // by kind
}

func newMetrics(reg prometheus.Registerer) *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "sluice", Subsystem: "router", Name: name, Help: help}, labels)
	}
	histogram := func(name, help string) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{
			Namespace: "sluice", Subsystem: "router", Name: name, Help: help,
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300},
		})
	}
	m := &metrics{
		accepted:      counter("events_total", "Inbound events by what became of them.", "channel", "outcome"),
		ignored:       counter("events_ignored_total", "Inbound events that were not admitted.", "channel", "reason"),
		dropped:       counter("queue_dropped_total", "Messages that a full queue left out.", "which"),
		exchanges:     counter("exchanges_total", "Exchanges between sessions that ended.", "kind", "outcome"),
		pruned:        counter("pruned_rows_total", "Old rows that retention has removed or emptied.", "kind"),
		acceptSeconds: histogram("accept_seconds", "From an event to its commit."),
		partitions:    prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "sluice", Subsystem: "router", Name: "partitions", Help: "Partitions that this replica owns."}),
	}
	reg.MustRegister(m.accepted, m.ignored, m.dropped, m.exchanges,
		m.acceptSeconds, m.partitions, m.pruned)
	return m
}
