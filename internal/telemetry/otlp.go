package telemetry

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// The numbers of the fields are those of opentelemetry-proto, package opentelemetry.proto.trace.v1 and its neighbours.
const (
	statusError = 2
	sampledFlag = 1
)

// encoder appends messages of OTLP.
type encoder []byte

func (e *encoder) bytes(field protowire.Number, b []byte) {
	*e = protowire.AppendBytes(protowire.AppendTag(*e, field, protowire.BytesType), b)
}

func (e *encoder) text(field protowire.Number, s string) {
	*e = protowire.AppendString(protowire.AppendTag(*e, field, protowire.BytesType), s)
}

func (e *encoder) varint(field protowire.Number, n uint64) {
	*e = protowire.AppendVarint(protowire.AppendTag(*e, field, protowire.VarintType), n)
}

func (e *encoder) fixed64(field protowire.Number, n uint64) {
	*e = protowire.AppendFixed64(protowire.AppendTag(*e, field, protowire.Fixed64Type), n)
}

func (e *encoder) fixed32(field protowire.Number, n uint32) {
	*e = protowire.AppendFixed32(protowire.AppendTag(*e, field, protowire.Fixed32Type), n)
}

// message appends a message within this one.
func (e *encoder) message(field protowire.Number, write func(*encoder)) {
	var inner encoder
	write(&inner)
	e.bytes(field, inner)
}

// property appends a KeyValue.
func (e *encoder) property(field protowire.Number, a attr) {
	e.message(field, func(e *encoder) {
		e.text(1, a.key)
		e.message(2, func(e *encoder) {
			switch a.kind {
			case attrWhole:
				e.varint(3, uint64(a.whole))
			case attrReal:
				e.fixed64(4, math.Float64bits(a.real))
			default:
				e.text(1, a.text)
			}
		})
	})
}

// encode returns an ExportTraceServiceRequest with the spans.
func encode(resource []attr, version string, spans []*Span) []byte {
	var request encoder
	request.message(1, func(e *encoder) { // ResourceSpans
		e.message(1, func(e *encoder) {
			for _, a := range resource {
				e.property(1, a)
			}
		})
		e.message(2, func(e *encoder) { // ScopeSpans
			e.message(1, func(e *encoder) {
				e.text(1, "sluice")
				e.text(2, version)
			})
			for _, s := range spans {
				e.message(2, s.encode)
			}
		})
	})
	return request
}

func (s *Span) encode(e *encoder) {
	e.bytes(1, s.trace[:])
	e.bytes(2, s.id[:])
	if s.parent != (SpanID{}) {
		e.bytes(4, s.parent[:])
	}
	e.text(5, s.name)
	e.varint(6, uint64(s.kind))
	e.fixed64(7, uint64(s.start.UnixNano()))
	e.fixed64(8, uint64(s.end.UnixNano()))
	for _, a := range s.attrs {
		e.property(9, a)
	}
	for _, l := range s.links {
		e.message(13, func(e *encoder) {
			e.bytes(1, l.Trace[:])
			e.bytes(2, l.Span[:])
		})
	}
	if s.failed {
		e.message(15, func(e *encoder) { e.varint(3, statusError) })
	}
	e.fixed32(16, sampledFlag)
}

// rejected returns the number of rejected spans in an ExportTraceServiceResponse.
func rejected(response []byte) int {
	n := 0
	fields(response, func(field protowire.Number, kind protowire.Type, rest []byte) {
		if field != 1 || kind != protowire.BytesType {
			return
		}
		partial, _ := protowire.ConsumeBytes(rest)
		fields(partial, func(field protowire.Number, kind protowire.Type, rest []byte) {
			if field == 1 && kind == protowire.VarintType {
				count, _ := protowire.ConsumeVarint(rest)
				n = int(min(count, math.MaxInt32))
			}
		})
	})
	return n
}

// fields calls each for the fields of a message, up to the first malformed one.
func fields(message []byte, each func(protowire.Number, protowire.Type, []byte)) {
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return
		}
		message = message[n:]
		size := protowire.ConsumeFieldValue(field, kind, message)
		if size < 0 {
			return
		}
		each(field, kind, message[:size])
		message = message[size:]
	}
}
