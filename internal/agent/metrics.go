package agent

import "github.com/prometheus/client_golang/prometheus"

type metrics struct {
	completions *prometheus.CounterVec
	seconds     *prometheus.HistogramVec
	tokens      *prometheus.CounterVec
	tools       *prometheus.CounterVec
	compactions prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	m := &metrics{
		completions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "sluice", Subsystem: "model", Name: "completions_total", Help: "Completions by model and result: ok or the kind of failure.",
		}, []string{"model", "result"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "sluice", Subsystem: "model", Name: "completion_seconds", Help: "Time of one completion.",
			Buckets: []float64{.001, .01, .1, .5, 1, 2, 5, 10, 30, 60, 120, 300},
		}, []string{"model"}),
		tokens: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "sluice", Subsystem: "model", Name: "tokens_total", Help: "Tokens by model and direction.",
		}, []string{"model", "direction"}),
		tools: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: "sluice", Subsystem: "tool", Name: "calls_total", Help: "Tool calls by tool and result.",
		}, []string{"tool", "result"}),
		compactions: prometheus.NewCounter(prometheus.CounterOpts{
			Namespace: "sluice", Subsystem: "session", Name: "compactions_total", Help: "Conversations shortened to a summary.",
		}),
	}
	reg.MustRegister(m.completions, m.seconds, m.tokens, m.tools, m.compactions)
	return m
}
