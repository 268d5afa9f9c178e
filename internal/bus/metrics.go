package bus

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	dropped    *prometheus.CounterVec // by kind
	reconnects prometheus.Counter
	lost       prometheus.Counter
	followers  prometheus.Gauge
}

func newMetrics(reg prometheus.Registerer) *metrics {
	counter := func(name, help string) prometheus.CounterOpts {
		return prometheus.CounterOpts{Namespace: "sluice", Subsystem: "bus", Name: name, Help: help}
	}
	m := &metrics{
		dropped:    prometheus.NewCounterVec(counter("dropped_total", "Wakes, events and steps that could not be published; the store still has the work."), []string{"what"}),
		reconnects: prometheus.NewCounter(counter("reconnects_total", "Reconnections.")),
		lost:       prometheus.NewCounter(counter("leases_lost_total", "Leases that could not be renewed in time.")),
		followers: prometheus.NewGauge(prometheus.GaugeOpts{
			Namespace: "sluice", Subsystem: "bus", Name: "followers", Help: "Live views of sessions.",
		}),
	}
	reg.MustRegister(m.dropped, m.reconnects, m.lost, m.followers)
	return m
}
