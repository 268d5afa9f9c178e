package telemetry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sluice/internal/pause"
)

const (
	queueMax    = 8192             // spans that wait to be sent
	batchMax    = 512              // spans of one request
	batchEach   = time.Second      // how long a span waits for others
	postTimeout = 10 * time.Second // of one request
	triesMax    = 3                // for a batch that the collector may take later
	answerMax   = 64 << 10
)

// Config says where traces go.
type Config struct {
	// URL is the collector's address, such as http://127.0.0.1:4318: /v1/traces is added unless it ends so. Empty: traces are off.
	URL      string
	Headers  map[string]string
	Sample   float64 // share of the messages that are traced, from 0 to 1
	Version  string
	Instance string // names this process among the replicas
	Now      func() time.Time
	Log      *slog.Logger
	// Registerer gets sluice_telemetry_spans_total.
	Registerer prometheus.Registerer
	Client     *http.Client // nil: one that follows no redirects
}

// New creates a tracer; nil if traces are off. Spans wait until Start.
func New(c Config) *Tracer {
	if c.URL == "" {
		return nil
	}
	url := strings.TrimRight(c.URL, "/")
	if !strings.HasSuffix(url, "/v1/traces") {
		url += "/v1/traces"
	}
	client := c.Client
	if client == nil {
		client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	spans := prometheus.NewCounterVec(prometheus.CounterOpts{
		Namespace: "sluice", Subsystem: "telemetry", Name: "spans_total",
		Help: "Spans of traces: sent to the collector, refused by it, or dropped because the queue was full or the collector was not available.",
	}, []string{"outcome"})
	c.Registerer.MustRegister(spans)
	bound := uint64(math.MaxInt64)
	if c.Sample < 1 {
		bound = uint64(max(c.Sample, 0) * (1 << 63))
	}
	return &Tracer{now: c.Now, bound: bound, export: exporter{
		url: url, headers: c.Headers, client: client, version: c.Version, log: c.Log, pause: time.Second,
		resource: []attr{{key: "service.name", text: "sluice"}, {key: "service.version", text: c.Version}, {key: "service.instance.id", text: c.Instance}},
		queue:    make(chan *Span, queueMax), end: make(chan struct{}), done: make(chan struct{}),
		sent: spans.WithLabelValues("sent"), refused: spans.WithLabelValues("refused"), full: spans.WithLabelValues("queue_full"), failed: spans.WithLabelValues("not_available"),
	}}
}

// exporter sends spans in batches.
type exporter struct {
	url      string
	headers  map[string]string
	client   *http.Client
	resource []attr
	version  string
	log      *slog.Logger
	pause    time.Duration // before another try

	queue                       chan *Span
	end                         chan struct{} // closed by Stop
	done                        chan struct{} // closed when the goroutine has ended
	once                        sync.Once
	cancel                      context.CancelFunc // of the requests; nil before Start
	sent, refused, full, failed prometheus.Counter
	broken                      bool // the collector did not accept the last batch; this is logged once
}

// put queues a span, or drops it.
func (e *exporter) put(s *Span) {
	select {
	case e.queue <- s:
	default:
		e.full.Inc()
	}
}

// Start begins to send spans.
func (t *Tracer) Start() {
	if t == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	t.export.cancel = cancel
	go t.export.run(ctx)
}

// Stop sends the queued spans until ctx ends, and waits for the end of the sending goroutine. It is idempotent.
func (t *Tracer) Stop(ctx context.Context) {
	if t == nil || t.export.cancel == nil {
		return
	}
	t.export.once.Do(func() { close(t.export.end) })
	select {
	case <-t.export.done:
	case <-ctx.Done():
		t.export.cancel()
		<-t.export.done
	}
	t.export.cancel()
}

func (e *exporter) run(ctx context.Context) {
	defer close(e.done)
	send := func(batch []*Span) { pause.Guard(e.log, func() { e.send(ctx, batch) }) }
	for {
		select {
		case <-e.end:
			for len(e.queue) > 0 {
				send(e.more(nil, nil))
			}
			return
		case first := <-e.queue:
			soon := time.NewTimer(batchEach)
			send(e.more(first, soon.C))
			soon.Stop()
		}
	}
}

// more adds spans to a batch until the time is over; nil: only those that are queued.
func (e *exporter) more(first *Span, over <-chan time.Time) []*Span {
	var batch []*Span
	if first != nil {
		batch = append(batch, first)
	}
	for len(batch) < batchMax {
		if over == nil {
			select {
			case s := <-e.queue:
				batch = append(batch, s)
				continue
			default:
				return batch
			}
		}
		select {
		case s := <-e.queue:
			batch = append(batch, s)
		case <-over:
			return batch
		case <-e.end:
			over = nil
		}
	}
	return batch
}

// send posts a batch. If the collector does not accept it, it is dropped.
func (e *exporter) send(ctx context.Context, batch []*Span) {
	body := encode(e.resource, e.version, batch)
	var err error
	for try := 1; try <= triesMax; try++ {
		var not int
		var again bool
		if not, again, err = e.post(ctx, body); err == nil {
			not = min(not, len(batch))
			e.refused.Add(float64(not))
			e.sent.Add(float64(len(batch) - not))
			if e.broken {
				e.log.Info("the collector of traces takes spans again", "url", e.address())
			}
			e.broken = false
			return
		}
		if !again || try == triesMax || !e.wait(ctx, try) {
			break
		}
	}
	e.failed.Add(float64(len(batch)))
	if !e.broken && ctx.Err() == nil {
		e.log.Warn("spans are dropped: the collector of traces does not take them (telemetry.otlp)", "url", e.address(), "err", err)
	}
	e.broken = true
}

// wait pauses before another try; false if the tracer stops.
func (e *exporter) wait(ctx context.Context, tries int) bool {
	timer := time.NewTimer(pause.Nth(e.pause, 4*e.pause, tries))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-e.end:
	case <-ctx.Done():
	}
	return false
}

// address returns the collector's address without possible secrets.
func (e *exporter) address() string {
	address, _, _ := strings.Cut(e.url, "?")
	if scheme, rest, ok := strings.Cut(address, "://"); ok {
		if at := strings.LastIndexByte(rest, '@'); at >= 0 {
			rest = rest[at+1:]
		}
		address = scheme + "://" + rest
	}
	return address
}

// post tries once to send a batch. again: the collector may accept it later. not is the number of refused spans.
func (e *exporter) post(ctx context.Context, body []byte) (not int, again bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, postTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return 0, false, errors.New("the address can't be used")
	}
	req.Header.Set("Content-Type", "application/x-protobuf")
	for name, value := range e.headers {
		req.Header.Set(name, value)
	}
	resp, err := e.client.Do(req)
	if err != nil {
		return 0, true, fmt.Errorf("post spans: %w", errors.Unwrap(err)) // without the address, which may have a secret
	}
	defer resp.Body.Close() //nolint:errcheck // what matters was read
	answer, err := io.ReadAll(io.LimitReader(resp.Body, answerMax))
	switch {
	case resp.StatusCode == http.StatusOK && err == nil:
		return rejected(answer), false, nil
	case err != nil:
		return 0, false, fmt.Errorf("read response: %w", err)
	}
	switch resp.StatusCode {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		again = true
	}
	return 0, again, fmt.Errorf("the collector answered %s", resp.Status)
}
