package router

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	exchanges  *prometheus.CounterVec // by kind and outcome
	partitions prometheus.Gauge
	pruned     *prometheus.CounterVec // by kind
}

func newMetrics(reg prometheus.Registerer) *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "sluice", Subsystem: "router", Name: name, Help: help}, labels)
	}
	m := &metrics{
		exchanges:  counter("exchanges_total", "Exchanges between sessions that ended.", "kind", "outcome"),
		pruned:     counter("pruned_rows_total", "Old rows that retention has removed or emptied.", "kind"),
		partitions: prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "sluice", Subsystem: "router", Name: "partitions", Help: "Partitions that this replica owns."}),
	}
	reg.MustRegister(m.exchanges, m.partitions, m.pruned)
	return m
}
