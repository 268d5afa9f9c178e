package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"sluice/store/trace"
)

// tracer reports the statements of a connection to a function.
type tracer struct{ hear trace.Func }

var (
	_ pgx.QueryTracer = tracer{}
	_ pgx.BatchTracer = tracer{}
)

// TraceQueryStart implements [pgx.QueryTracer].
func (t tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	t.hear(data.SQL, data.Args)
	return ctx
}

// TraceQueryEnd implements [pgx.QueryTracer].
func (tracer) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// TraceBatchStart implements [pgx.BatchTracer].
func (t tracer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	for _, q := range data.Batch.QueuedQueries {
		t.hear(q.SQL, q.Arguments)
	}
	return ctx
}

// TraceBatchQuery implements [pgx.BatchTracer].
func (tracer) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd implements [pgx.BatchTracer].
func (tracer) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}
