package selfcheck

import (
	"github.com/prometheus/client_golang/prometheus"

	"sluice/internal/watermark"
)

// Register makes metrics of the disk and of the last verification of the audit trail. The disk is measured when somebody
// reads them; one that can't be measured has none.
func Register(reg prometheus.Registerer, d *watermark.Disk, w *Trail) {
	reg.MustRegister(&disk{d}, prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: "sluice", Subsystem: "audit", Name: "faults", Help: "Places where the audit trail was changed, as the last verification found.",
	}, func() float64 {
		w.mu.Lock()
		defer w.mu.Unlock()
		return float64(len(w.faults))
	}))
}

var (
	diskFree = prometheus.NewDesc("sluice_disk_free_bytes", "Free space on the disk of the state folder.", nil, nil)
	diskWarn = prometheus.NewDesc("sluice_disk_warn_bytes", "The owner is warned when less is free.", nil, nil)
)

// disk is the collector of the disk's metrics.
type disk struct{ *watermark.Disk }

// Describe implements [prometheus.Collector].
func (*disk) Describe(ch chan<- *prometheus.Desc) {
	ch <- diskFree
	ch <- diskWarn
}

// Collect implements [prometheus.Collector].
func (d *disk) Collect(ch chan<- prometheus.Metric) {
	free, warn, err := d.Room()
	if err != nil {
		return
	}
	ch <- prometheus.MustNewConstMetric(diskFree, prometheus.GaugeValue, float64(free))
	ch <- prometheus.MustNewConstMetric(diskWarn, prometheus.GaugeValue, float64(warn))
}
