package telemetry_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	trace "go.opentelemetry.io/proto/otlp/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/protobuf/proto"

	"sluice/internal/telemetry"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a collector without a network. It decodes with the published types of OTLP.
type fake struct {
	t        *testing.T
	mu       sync.Mutex
	requests []*collector.ExportTraceServiceRequest
	headers  []http.Header
	paths    []string
	answer   func(n int) *http.Response // nil: 200
}

func (f *fake) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(r.Body)
	require.NoError(f.t, err)
	var m collector.ExportTraceServiceRequest
	require.NoError(f.t, proto.UnmarshalOptions{}.Unmarshal(body, &m))
	require.Empty(f.t, m.ProtoReflect().GetUnknown())
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests, f.headers, f.paths = append(f.requests, &m), append(f.headers, r.Header), append(f.paths, r.URL.Path)
	if f.answer != nil {
		return f.answer(len(f.requests)), nil
	}
	return respond(http.StatusOK, nil), nil
}

func respond(status int, m proto.Message) *http.Response {
	w := httptest.NewRecorder()
	w.WriteHeader(status)
	if m != nil {
		b, err := proto.Marshal(m)
		if err != nil {
			panic(err)
		}
		_, _ = w.Write(b)
	}
	return w.Result()
}

func (f *fake) spans() (all []*trace.Span) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.requests {
		for _, rs := range r.GetResourceSpans() {
			for _, ss := range rs.GetScopeSpans() {
				all = append(all, ss.GetSpans()...)
			}
		}
	}
	return all
}

type bundle struct {
	*telemetry.Tracer
	fake    *fake
	metrics *prometheus.Registry
	log     *bytes.Buffer
}

func newBundle(t *testing.T, sample float64) *bundle {
	t.Helper()
	b := &bundle{fake: &fake{t: t}, metrics: prometheus.NewRegistry(), log: &bytes.Buffer{}}
	b.Tracer = telemetry.New(telemetry.Config{
		URL: "http://user:secret@collector:4318/", Headers: map[string]string{"Authorization": "Bearer x"}, Sample: sample, Version: "v1", Instance: "host-1", Now: time.Now,
		Log: slog.New(slog.NewTextHandler(b.log, nil)), Registerer: b.metrics, Client: &http.Client{Transport: b.fake},
	})
	return b
}

func (b *bundle) outcome(t *testing.T, outcome string) int {
	t.Helper()
	all, err := b.metrics.Gather()
	require.NoError(t, err)
	for _, m := range all[0].GetMetric() {
		if m.GetLabel()[0].GetValue() == outcome {
			return int(m.GetCounter().GetValue())
		}
	}
	return -1
}

// What the collector gets is what OTLP's published types decode.
func TestSpansOnTheWire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, 1)
		b.Start()
		start := time.Now()
		root := b.Message("run_1", start)
		root.Text("sluice.run", "run_1").Text("empty", "").Size("n", -3).Real("x", 0.5).Text("long", strings.Repeat("x", 1000))
		root.EndAt(start.Add(time.Millisecond))
		place := b.Root(telemetry.TraceOf("run_1", ""))
		require.Equal(t, place, root.Parent())
		child := b.Under(place, "chat", "m", telemetry.Client, start)
		child.Link(telemetry.Parent{Trace: telemetry.TraceOf("run_2", "")}).Fail("overloaded").EndAt(start.Add(-time.Second))
		time.Sleep(2 * time.Second)
		spans := b.fake.spans()
		require.Len(t, spans, 2)
		id := telemetry.TraceOf("run_1", "")
		require.Equal(t, id[:], spans[0].GetTraceId())
		require.Len(t, spans[0].GetSpanId(), 8)
		require.Empty(t, spans[0].GetParentSpanId())
		require.Equal(t, "intake", spans[0].GetName())
		require.Equal(t, trace.Span_SPAN_KIND_CONSUMER, spans[0].GetKind())
		require.EqualValues(t, start.UnixNano(), spans[0].GetStartTimeUnixNano())
		require.EqualValues(t, start.Add(time.Millisecond).UnixNano(), spans[0].GetEndTimeUnixNano())
		require.EqualValues(t, 1, spans[0].GetFlags())
		attrs := spans[0].GetAttributes()
		require.Len(t, attrs, 4)
		require.Equal(t, "run_1", attrs[0].GetValue().GetStringValue())
		require.EqualValues(t, -3, attrs[1].GetValue().GetIntValue())
		require.InDelta(t, 0.5, attrs[2].GetValue().GetDoubleValue(), 0)
		require.Len(t, attrs[3].GetValue().GetStringValue(), 128)
		require.Nil(t, spans[0].GetStatus())

		require.Equal(t, spans[0].GetSpanId(), spans[1].GetParentSpanId())
		require.Equal(t, "chat m", spans[1].GetName())
		require.Equal(t, spans[1].GetStartTimeUnixNano(), spans[1].GetEndTimeUnixNano(), "a clock that was set back")
		require.Equal(t, trace.Status_STATUS_CODE_ERROR, spans[1].GetStatus().GetCode())
		require.Empty(t, spans[1].GetStatus().GetMessage())
		require.Len(t, spans[1].GetLinks(), 1)

		resource := b.fake.requests[0].GetResourceSpans()[0].GetResource().GetAttributes()
		require.Equal(t, "service.name", resource[0].GetKey())
		require.Equal(t, "sluice", resource[0].GetValue().GetStringValue())
		require.Equal(t, "host-1", resource[2].GetValue().GetStringValue())
		require.Equal(t, "/v1/traces", b.fake.paths[0])
		require.Equal(t, "Bearer x", b.fake.headers[0].Get("Authorization"))
		require.Equal(t, "application/x-protobuf", b.fake.headers[0].Get("Content-Type"))
		b.Stop(t.Context())
		b.Stop(t.Context())
		require.Equal(t, 2, b.outcome(t, "sent"))
	})
}

// Replicas know a trace by the ids of rows, and decide alike whether it is sampled.
func TestTheTraceFollowsFromTheRows(t *testing.T) {
	t.Parallel()
	first := telemetry.TraceOf("run_1", "")
	one, two := telemetry.ChainID("run_1", "aaaaaaaaaaaa"), telemetry.ChainID("run_1", "bbbbbbbbbbbb")
	require.NotEqual(t, one, two, "a run may begin several chains")
	require.Equal(t, first, telemetry.TraceOf("run_7", one))
	require.Equal(t, first, telemetry.TraceOf("run_8", two))
	require.NotEqual(t, first, telemetry.TraceOf("run_8", ""))
	require.NotEqual(t, telemetry.ChainID("", "aaaaaaaaaaaa"), telemetry.ChainID("", "bbbbbbbbbbbb"))
	old := "chn_0199f0d0a4b57c1e8a5b0123456789ab"
	require.Equal(t, telemetry.TraceOf("run_1", old), telemetry.TraceOf("run_2", old), "chains of older versions")
	require.Equal(t, telemetry.TraceOf("run_2", ""), telemetry.TraceOf("run_2", "chn_1"))
	a, b := newBundle(t, 0.25), newBundle(t, 0.25)
	followed := 0
	for i := range 4000 {
		row := "run_" + time.Duration(i).String()
		s := a.Message(row, time.Now())
		require.Equal(t, s == nil, b.Message(row, time.Now()) == nil)
		if s != nil {
			followed++
		}
	}
	require.InDelta(t, 1000, followed, 120)
	require.Nil(t, newBundle(t, 0).Message("run_1", time.Now()))
}

// A name that is cut within a letter spoils no batch.
func TestNamesStayText(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, 1)
		b.Start()
		b.Message("run_1", time.Now()).Text("gen_ai.response.model", strings.Repeat("x", 127)+"ü").End()
		b.Stop(t.Context())
		require.Equal(t, strings.Repeat("x", 127), b.fake.spans()[0].GetAttributes()[0].GetValue().GetStringValue())
	})
}

// Without traces nothing is allocated.
func TestOffIsFree(t *testing.T) { //nolint:paralleltest // it counts allocations
	off := telemetry.New(telemetry.Config{})
	require.Nil(t, off)
	ctx, histogram := t.Context(), prometheus.NewHistogram(prometheus.HistogramOpts{Name: "h"})
	allocs := testing.AllocsPerRun(100, func() {
		span := off.Message("run_1", time.Time{})
		within := telemetry.With(ctx, span)
		child := telemetry.From(within).Child("chat", "m", telemetry.Client)
		child.Text("a", "b").Size("n", 1).Real("x", 1).Link(telemetry.Parent{}).Fail("word").End()
		off.Under(telemetry.Parent{}, "a", "b", telemetry.Internal, time.Time{}).End()
		off.At(telemetry.Parent{}, telemetry.Parent{}, "a", telemetry.Internal, time.Time{}).EndAt(time.Time{})
		off.Remember("run_1", telemetry.TraceID{})
		telemetry.Observe(histogram, 1, span)
	})
	require.Zero(t, allocs)
	require.Empty(t, off.Header(telemetry.Parent{Trace: telemetry.TraceID{1}}))
	require.Empty(t, (*telemetry.Span)(nil).Header())
	off.Start()
	off.Stop(ctx)
	next := slog.DiscardHandler
	require.Equal(t, next, off.Handler(next))
}

// A collector that is slow, away or refuses never stops a message: spans are dropped and counted.
func TestWhatIsDroppedIsCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, 1)
		for range 8192 + 5 {
			b.Message("run_1", time.Now()).End() // not started: nothing is sent
		}
		require.Equal(t, 5, b.outcome(t, "queue_full"))
		b.fake.answer = func(n int) *http.Response {
			switch {
			case n == 1:
				return respond(http.StatusServiceUnavailable, nil)
			case n == 2:
				return respond(http.StatusOK, &collector.ExportTraceServiceResponse{PartialSuccess: &collector.ExportTracePartialSuccess{RejectedSpans: 12, ErrorMessage: "old"}})
			case n == 3:
				return respond(http.StatusBadRequest, nil)
			case n <= 6:
				return respond(http.StatusTooManyRequests, nil)
			}
			return respond(http.StatusOK, nil)
		}
		b.Start()
		time.Sleep(time.Minute)
		b.Stop(t.Context())
		require.Equal(t, 12, b.outcome(t, "refused"))
		require.Equal(t, 1024, b.outcome(t, "not_available"), "one batch was refused at once, and one after three tries")
		require.Equal(t, 8192-12-1024, b.outcome(t, "sent"))
		require.Equal(t, 1, strings.Count(b.log.String(), "spans are dropped"), "an outage is one line")
		require.Equal(t, 1, strings.Count(b.log.String(), "takes spans again"))
		require.NotContains(t, b.log.String(), "secret")
	})
}

// A stop sends what waits, and ends in its time if the collector hangs.
func TestStop(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBundle(t, 1)
		b.Start()
		b.Message("run_1", time.Now()).End()
		b.Stop(t.Context())
		require.Len(t, b.fake.spans(), 1)

		b = newBundle(t, 1)
		b.Tracer = telemetry.New(telemetry.Config{
			URL: "http://collector:4318/v1/traces", Sample: 1, Now: time.Now, Log: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(),
			Client: &http.Client{Transport: hangs{}},
		})
		b.Start()
		b.Message("run_1", time.Now()).End()
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		b.Stop(ctx)
		require.Equal(t, 3*time.Second, time.Since(began))
	})
}

type hangs struct{}

func (hangs) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

func TestLogLinesNameTheTrace(t *testing.T) {
	t.Parallel()
	b := newBundle(t, 1)
	var out bytes.Buffer
	log := slog.New(b.Handler(slog.NewTextHandler(&out, nil)))
	id := telemetry.TraceOf("run_1", "")
	line := func() string {
		defer out.Reset()
		return out.String()
	}
	log.Info("a", "run", "run_1")
	require.NotContains(t, line(), "trace_id")
	b.Remember("run_1", id)
	log.With("x", 1).WithGroup("g").Info("a", "run", "run_1", "other", 1)
	require.Contains(t, line(), "trace_id="+id.String())
	log.Info("a", "other", "run_1")
	require.NotContains(t, line(), "trace_id")
	span := b.Message("run_9", time.Now())
	log.InfoContext(telemetry.With(t.Context(), span), "a")
	require.Contains(t, line(), "trace_id="+telemetry.TraceOf("run_9", "").String())
	for i := range 3 * 4096 {
		b.Remember("run_"+time.Duration(i).String(), id)
	}
	_, known := b.Remembered("run_1")
	require.False(t, known, "what is remembered is bounded")
	_, known = b.Remembered("run_" + time.Duration(3*4096-1).String())
	require.True(t, known)
}

func TestExemplars(t *testing.T) {
	t.Parallel()
	b := newBundle(t, 1)
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "h", Buckets: []float64{math.Inf(1)}})
	telemetry.Observe(h, 1, b.Message("run_1", time.Now()))
	telemetry.Observe(h, 2, nil)
	var m dto.Metric
	require.NoError(t, h.Write(&m))
	require.EqualValues(t, 2, m.GetHistogram().GetSampleCount())
	require.Equal(t, telemetry.TraceOf("run_1", "").String(), m.GetHistogram().GetBucket()[0].GetExemplar().GetLabel()[0].GetValue())
	require.Equal(t, 1, testutil.CollectAndCount(h))
}
