package postgres

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math"
	"runtime/debug"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"sluice/store/engine"
)

const (
	briefBatches = 2    // batches of brief reads, or single ones, in progress at once
	slowBatches  = 6    // the same while reads are slow, if the pool has enough connections
	briefMax     = 64   // reads of one batch
	briefWaiting = 1024 // reads that wait for a batch; further ones go their own way
	// briefSlow is how long a read waits before one more batch begins beside those in progress. On a slow network, a batch
	// mostly waits for packets, and one lost packet would hold up all reads.
	briefSlow = 25 * time.Millisecond
)

// briefs sends the brief reads that wait together, in one round trip: a read that comes while others are in progress waits
// for the next batch. With little to do, each caller runs its own read, as if there were no batches.
//
// Goroutines: one for each batch in progress; close waits for them. A timer runs while reads wait.
type briefs struct {
	pool       *pgxpool.Pool
	log        *slog.Logger
	life       context.Context // ends with close
	end        context.CancelFunc
	patience   time.Duration // briefSlow
	batchesMax int           // if reads take long

	mu      sync.Mutex
	waiting []*brief
	running int         // batches and single reads; below briefBatches, nothing waits
	oldest  *brief      // the read that had waited longest when slow was set
	slow    *time.Timer // set while reads wait
	wg      sync.WaitGroup
}

func newBriefs(pool *pgxpool.Pool, connections int, log *slog.Logger) *briefs {
	life, end := context.WithCancel(context.Background())
	most := min(slowBatches, connections-writers-2) // a small pool keeps connections for the writers, too
	return &briefs{pool: pool, log: log, life: life, end: end, patience: briefSlow, batchesMax: max(briefBatches, most)}
}

// brief is a read whose caller waits.
type brief struct {
	ctx  context.Context
	text string
	args []any
	done chan *copied // capacity 1; nil: the read failed, or one before it, and may be repeated
}

// begin reports whether the caller runs its read itself, because few are in progress. It then calls done.
func (b *briefs) begin() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.running >= briefBatches {
		return false
	}
	b.running++
	return true
}

// done lets the reads that have come since begin run.
func (b *briefs) done() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) == 0 {
		b.running--
		return
	}
	b.wg.Go(b.work)
}

// read waits for a batch and gives the rows, or nil if the caller has to run the read itself.
func (b *briefs) read(ctx context.Context, text string, args []any) (*copied, error) {
	r := &brief{ctx: ctx, text: text, args: args, done: make(chan *copied, 1)}
	if !b.wait(r) {
		return nil, nil
	}
	select {
	case rows := <-r.done:
		return rows, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// wait puts a read into the next batch, unless too many wait.
func (b *briefs) wait(r *brief) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.waiting) >= briefWaiting {
		return false
	}
	b.waiting = append(b.waiting, r)
	if b.running < briefBatches {
		b.running++
		b.wg.Go(b.work)
	} else if b.slow == nil {
		b.watch()
	}
	return true
}

// watch starts the timer that checks whether the oldest waiting read still waits. The caller holds mu.
func (b *briefs) watch() {
	b.oldest = b.waiting[0]
	b.slow = time.AfterFunc(b.patience, b.another)
}

// another begins one more batch if the read that was the oldest still waits, and watches again. The timer calls it.
func (b *briefs) another() {
	b.mu.Lock()
	defer b.mu.Unlock()
	oldest := b.oldest
	b.oldest, b.slow = nil, nil
	if len(b.waiting) == 0 || b.life.Err() != nil {
		return
	}
	if b.waiting[0] == oldest && b.running < b.batchesMax {
		b.running++
		b.wg.Go(b.work)
	}
	b.watch()
}

// work runs batches until nothing waits.
func (b *briefs) work() {
	for batch := b.next(); len(batch) > 0; batch = b.next() {
		b.send(batch)
	}
}

// next takes what waits. If nothing does, the caller stops working.
func (b *briefs) next() []*brief {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := min(len(b.waiting), briefMax)
	batch := b.waiting[:n:n]
	if b.waiting = b.waiting[n:]; len(b.waiting) == 0 {
		b.waiting = nil
	}
	if n == 0 {
		b.running--
	}
	return batch
}

// send runs a batch. Its time does not depend on one caller: each of them stops waiting when its own context ends.
func (b *briefs) send(reads []*brief) {
	answered := 0
	defer func() {
		if p := recover(); p != nil {
			b.log.Error("batch of reads panicked; its reads are repeated one by one", "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
		for _, r := range reads[answered:] {
			r.done <- nil
		}
	}()
	ctx, cancel := context.WithTimeout(b.life, readTimeout)
	defer cancel()
	batch := &pgx.Batch{}
	wanted := reads[:0]
	for _, r := range reads {
		if r.ctx.Err() == nil {
			wanted = append(wanted, r)
			batch.Queue(r.text, r.args...)
		}
	}
	if reads = wanted; len(reads) == 0 {
		return
	}
	results := b.pool.SendBatch(ctx, batch)
	defer results.Close() //nolint:errcheck // what failed is run again by its caller
	for _, r := range reads {
		rows, err := copyRows(results)
		if err != nil {
			return
		}
		r.done <- rows
		answered++
	}
}

// close ends the batches in progress and waits for them. A read that somebody still waits for is repeated by its caller.
func (b *briefs) close() {
	b.end()
	b.mu.Lock()
	if b.slow != nil {
		b.slow.Stop()
	}
	b.mu.Unlock()
	b.wg.Wait()
}

// copied are the rows of a read, as the server has sent them. They belong to the read's caller, who may look at them when
// the connection has long been doing something else.
type copied struct {
	columns []column
	values  []value // of all rows, row by row
	bytes   []byte
	at      int // first value of the current row
}

type column struct {
	oid    uint32
	format int16
}

// value is where a value's bytes are; a NULL has a negative length.
type value struct{ begin, length int }

func copyRows(results pgx.BatchResults) (*copied, error) {
	rows, err := results.Query()
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	c := &copied{}
	for rows.Next() {
		raws := rows.RawValues()
		if c.columns == nil {
			c.begin(rows.FieldDescriptions(), raws)
		}
		for _, raw := range raws {
			at := value{len(c.bytes), len(raw)}
			if raw == nil {
				at.length = -1
			}
			c.values, c.bytes = append(c.values, at), append(c.bytes, raw...)
		}
	}
	rows.Close()
	return c, rows.Err()
}

// begin makes room for a row like the first one; most reads find one.
func (c *copied) begin(fields []pgconn.FieldDescription, first [][]byte) {
	c.columns = make([]column, len(fields))
	for i, f := range fields {
		c.columns[i] = column{f.DataTypeOID, f.Format}
	}
	size := 0
	for _, raw := range first {
		size += len(raw)
	}
	c.values, c.bytes = make([]value, 0, len(first)), make([]byte, 0, size)
}

// each calls scan for each row.
func (c *copied) each(scan func(engine.Row) error) error {
	for ; c.at < len(c.values); c.at += len(c.columns) {
		if err := scan(c); err != nil {
			return fmt.Errorf("scan row: %w", err)
		}
	}
	return nil
}

// Scan implements [engine.Row].
func (c *copied) Scan(dest ...any) error {
	if len(dest) != len(c.columns) {
		return fmt.Errorf("row has %d columns, scanned are %d", len(c.columns), len(dest))
	}
	for i, d := range dest {
		var raw []byte
		if v := c.values[c.at+i]; v.length >= 0 {
			raw = c.bytes[v.begin : v.begin+v.length : v.begin+v.length]
		}
		// A map of types is large, but hardly any column of a brief read needs it.
		if scanned(c.columns[i], raw, d) {
			continue
		}
		if err := pgtype.NewMap().Scan(c.columns[i].oid, c.columns[i].format, raw, d); err != nil {
			return fmt.Errorf("column %d: %w", i+1, err)
		}
	}
	return nil
}

// scanned reads the values that nearly all columns have: texts and whole numbers.
func scanned(c column, raw []byte, dest any) bool {
	if raw == nil {
		return false
	}
	switch d := dest.(type) {
	case *string:
		if c.oid == pgtype.TextOID {
			*d = string(raw)
			return true
		}
	case *int64:
		n, ok := number(c, raw)
		if ok {
			*d = n
		}
		return ok
	case *int:
		n, ok := number(c, raw)
		if ok = ok && n >= math.MinInt && n <= math.MaxInt; ok {
			*d = int(n)
		}
		return ok
	}
	return false
}

// number is a whole number as PostgreSQL sends it.
func number(c column, raw []byte) (int64, bool) {
	if c.format != pgx.BinaryFormatCode {
		return 0, false
	}
	switch {
	case c.oid == pgtype.Int8OID && len(raw) == 8:
		return int64(binary.BigEndian.Uint64(raw)), true
	case c.oid == pgtype.Int4OID && len(raw) == 4:
		return int64(int32(binary.BigEndian.Uint32(raw))), true
	case c.oid == pgtype.Int2OID && len(raw) == 2:
		return int64(int16(binary.BigEndian.Uint16(raw))), true
	}
	return 0, false
}
