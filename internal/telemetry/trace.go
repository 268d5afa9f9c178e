package telemetry

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// TraceID is the id of a trace. The zero value is not valid.
type TraceID [16]byte

// String is the id in hex.
func (t TraceID) String() string { return hex.EncodeToString(t[:]) }

// SpanID is the id of a span in its trace.
type SpanID [8]byte

// hashed derives a trace id from the id of a row.
func hashed(row string) (t TraceID) {
	sum := sha256.Sum256([]byte("sluice trace " + row))
	copy(t[:], sum[:])
	return t
}

const (
	chainPrefix = "chn_"
	chainHex    = 2 * len(TraceID{})
)

// ChainID returns the id of a chain that a run begins: the trace id of the run, and own, random hex digits that distinguish it
// from other chains of the run. An empty run begins a trace of its own.
func ChainID(run, own string) string {
	if run == "" {
		run = own
	}
	t := hashed(run)
	return chainPrefix + hex.EncodeToString(t[:]) + own
}

// TraceOf returns the trace of a run. chain is empty if no other run has caused the run.
func TraceOf(run, chain string) TraceID {
	if digits, ok := strings.CutPrefix(chain, chainPrefix); ok && len(digits) >= chainHex {
		var t TraceID
		if _, err := hex.Decode(t[:], []byte(digits[:chainHex])); err == nil && t != (TraceID{}) {
			return t
		}
	}
	return hashed(run)
}

// spanOf derives the id of a span that other processes must know: the root span of a message, and exchanges.
func spanOf(row string) (s SpanID) {
	sum := sha256.Sum256([]byte("sluice span " + row))
	copy(s[:], sum[:])
	return s
}

// Parent identifies the parent of a span: a trace and a span in it. The zero value is no parent.
type Parent struct {
	Trace TraceID
	Span  SpanID
}

// Kind is the role of a span.
type Kind int

// The kinds, with OTLP's numbers.
const (
	Internal Kind = 1
	Client   Kind = 3
	Producer Kind = 4
	Consumer Kind = 5
)

// rememberedMax is the maximum number of ids in a generation of [Tracer.Remember].
const rememberedMax = 4096

// Tracer makes spans. It is safe for concurrent use, and nil if traces are off.
type Tracer struct {
	now    func() time.Time
	bound  uint64 // of the last eight bytes of the trace ids that are sampled, shifted by one
	export exporter

	mu       sync.Mutex
	known    map[string]TraceID // the traces of runs and deliveries, for log lines
	knownOld map[string]TraceID // the generation before
}

// sampled reports whether a trace is recorded. It decides like OpenTelemetry's TraceIDRatioBased.
func (t *Tracer) sampled(id TraceID) bool { return binary.BigEndian.Uint64(id[8:])>>1 < t.bound }

// On reports whether traces are on.
func (t *Tracer) On() bool { return t != nil }

// Message begins the root span of a trace, which covers the intake of an event. row is the run that the event causes, or else
// the delivery with the gateway's answer.
func (t *Tracer) Message(row string, started time.Time) *Span {
	if t == nil {
		return nil
	}
	trace := hashed(row)
	return t.span(trace, t.Root(trace).Span, Parent{Trace: trace}, "intake", "", Consumer, started)
}

// Root returns the root span of a trace.
func (*Tracer) Root(trace TraceID) Parent { return Parent{trace, spanOf("root " + string(trace[:]))} }

// Exchange returns the span of an exchange between agents, the parent of the exchange's steps.
func (*Tracer) Exchange(trace TraceID, exchange string) Parent {
	return Parent{trace, spanOf(exchange)}
}

// At begins a span with a known id. A parent without a span makes it the root of its trace.
func (t *Tracer) At(own, parent Parent, name string, kind Kind, started time.Time) *Span {
	if t == nil {
		return nil
	}
	parent.Trace = own.Trace
	return t.span(own.Trace, own.Span, parent, name, "", kind, started)
}

// Under begins a child of a span. Its name is the two names with a space between them; the second one may be empty.
func (t *Tracer) Under(parent Parent, name, detail string, kind Kind, started time.Time) *Span {
	if t == nil || parent.Trace == (TraceID{}) {
		return nil
	}
	var id SpanID
	binary.BigEndian.PutUint64(id[:], rand.Uint64()|1)
	return t.span(parent.Trace, id, parent, name, detail, kind, started)
}

func (t *Tracer) span(trace TraceID, id SpanID, parent Parent, name, detail string, kind Kind, started time.Time) *Span {
	if !t.sampled(trace) {
		return nil
	}
	if detail != "" {
		name += " " + cut(detail)
	}
	return &Span{tracer: t, trace: trace, id: id, parent: parent.Span, name: name, kind: kind, start: started}
}

// Remember keeps the trace of a run or delivery for log lines that name it.
func (t *Tracer) Remember(row string, trace TraceID) {
	if t == nil || row == "" || !t.sampled(trace) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.known) >= rememberedMax {
		t.known, t.knownOld = nil, t.known
	}
	if t.known == nil {
		t.known = make(map[string]TraceID)
	}
	t.known[row] = trace
}

// Remembered returns the trace of a run or delivery that was remembered recently.
func (t *Tracer) Remembered(row string) (trace TraceID, ok bool) {
	if t == nil {
		return trace, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if trace, ok = t.known[row]; !ok {
		trace, ok = t.knownOld[row]
	}
	return trace, ok
}

// Span is one step of a message. Only one goroutine changes it, and ends it once; any goroutine may begin children. All methods
// may be called on nil.
type Span struct {
	tracer     *Tracer
	trace      TraceID
	id, parent SpanID
	name       string
	kind       Kind
	start, end time.Time
	attrs      []attr
	links      []Parent
	failed     bool
}

// attr is a property of a span: a text, or else a number.
type attr struct {
	key   string
	text  string
	whole int64
	real  float64
	kind  attrKind
}

type attrKind uint8

const (
	attrText attrKind = iota
	attrWhole
	attrReal
)

// textMax is the maximum length of a property's text.
const textMax = 128

// cut bounds a text. What is not UTF-8 would make a collector refuse the whole batch.
func cut(text string) string { return strings.ToValidUTF8(text[:min(len(text), textMax)], "") }

// Text sets a property to an id, a name from the configuration, or a status word, never to a message or the text of an error.
// Empty values are left out.
func (s *Span) Text(key, value string) *Span {
	if s != nil && value != "" {
		s.attrs = append(s.attrs, attr{key: key, text: cut(value), kind: attrText})
	}
	return s
}

// Size sets a property to a number.
func (s *Span) Size(key string, n int) *Span {
	if s != nil {
		s.attrs = append(s.attrs, attr{key: key, whole: int64(n), kind: attrWhole})
	}
	return s
}

// Real sets a property to a number.
func (s *Span) Real(key string, x float64) *Span {
	if s != nil {
		s.attrs = append(s.attrs, attr{key: key, real: x, kind: attrReal})
	}
	return s
}

// Link links another span to this one.
func (s *Span) Link(to Parent) *Span {
	if s != nil {
		s.links = append(s.links, to)
	}
	return s
}

// Fail marks the span as failed, with a word that says how.
func (s *Span) Fail(word string) *Span {
	if s != nil {
		s.failed = true
		s.Text("error.type", word)
	}
	return s
}

// Parent returns the span as a parent of others; the zero value for nil.
func (s *Span) Parent() Parent {
	if s == nil {
		return Parent{}
	}
	return Parent{s.trace, s.id}
}

// Child begins a child of this span. Its name is the two names with a space between them; the second one may be empty.
func (s *Span) Child(name, detail string, kind Kind) *Span {
	if s == nil {
		return nil
	}
	return s.tracer.Under(s.Parent(), name, detail, kind, s.tracer.now())
}

// End ends the span now.
func (s *Span) End() {
	if s != nil {
		s.EndAt(s.tracer.now())
	}
}

// EndAt ends the span, which then belongs to the tracer.
func (s *Span) EndAt(at time.Time) {
	if s == nil {
		return
	}
	if s.end = at; at.Before(s.start) {
		s.end = s.start // a clock was set back
	}
	s.tracer.export.put(s)
}

type spanKey struct{}

// With returns a context with a span.
func With(ctx context.Context, s *Span) context.Context {
	if s == nil {
		return ctx
	}
	return context.WithValue(ctx, spanKey{}, s)
}

// From returns the span of a context; nil if there is none.
func From(ctx context.Context) *Span {
	s, _ := ctx.Value(spanKey{}).(*Span)
	return s
}

// NewSeconds makes a histogram of times in the life of a message. All have the same buckets, so that they can be compared.
func NewSeconds(subsystem, name, help string) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{
		Namespace: "sluice", Subsystem: subsystem, Name: name, Help: help,
		Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300},
	})
}

// Observe counts a value in a histogram, with the span's trace as exemplar.
func Observe(o prometheus.Observer, value float64, s *Span) {
	if with, ok := o.(prometheus.ExemplarObserver); ok && s != nil {
		with.ObserveWithExemplar(value, prometheus.Labels{"trace_id": s.trace.String()})
		return
	}
	o.Observe(value)
}

// Header returns a parent as the value of the W3C header traceparent; empty if it is not sampled or traces are off.
func (t *Tracer) Header(p Parent) string {
	if t == nil || p.Trace == (TraceID{}) || !t.sampled(p.Trace) {
		return ""
	}
	return "00-" + p.Trace.String() + "-" + hex.EncodeToString(p.Span[:]) + "-01"
}

// Header returns the span as the value of the W3C header traceparent; empty for nil.
func (s *Span) Header() string {
	if s == nil {
		return ""
	}
	return s.tracer.Header(s.Parent())
}
