package alert

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/internal/alert"
)

// Gauge is the metric sluice_alerts: how many alerts are open. It reads the store whenever the metrics are read, so all replicas
// show the same.
type Gauge struct {
	Store interface {
		TallyAlerts(ctx context.Context) ([]alert.Tally, error)
	}
	Log *slog.Logger
}

// gaugePatience is how long the metrics wait for the store.
const gaugePatience = 2 * time.Second

var gaugeDesc = prometheus.NewDesc("sluice_alerts", "Open alerts by status (firing, acknowledged) and severity, on all replicas together.", []string{"status", "severity"}, nil)

// Describe implements [prometheus.Collector].
func (*Gauge) Describe(out chan<- *prometheus.Desc) { out <- gaugeDesc }

// Collect implements [prometheus.Collector]. Without the store there are no samples.
func (g *Gauge) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), gaugePatience)
	defer cancel()
	tallies, err := g.Store.TallyAlerts(ctx)
	if err != nil {
		g.Log.Warn("open alerts can't be counted for the metrics", "err", err)
		return
	}
	for _, t := range tallies {
		out <- prometheus.MustNewConstMetric(gaugeDesc, prometheus.GaugeValue, float64(t.Count), string(t.Status), string(t.Severity))
	}
}
