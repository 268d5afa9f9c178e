package mcp

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	up       *prometheus.GaugeVec
	restarts *prometheus.CounterVec
	calls    *prometheus.CounterVec
}

func newMetrics(registerer prometheus.Registerer) *metrics {
	m := &metrics{
		up: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Namespace: "sluice", Subsystem: "mcp", Name: "up", Help: "1 while an MCP server is connected.",
		}, []string{"server"}),
		restarts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "sluice", Subsystem: "mcp", Name: "restarts_total", Help: "Reconnections to an MCP server.",
		}, []string{"server"}),
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "sluice", Subsystem: "mcp", Name: "calls_total", Help: "Calls of an MCP server's tools, by their result.",
		}, []string{"server", "result"}),
	}
	registerer.MustRegister(m.up, m.restarts, m.calls)
	return m
}
