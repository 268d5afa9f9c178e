package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"sluice/policy/flow"
)

// fullText measures what PostgreSQL's own full-text search would take for the same questions about the same memories (decision 0020): ranked
// over everything that matches, with the rows above the reader's level left out of the answer.
func (b *bench) fullText(ctx context.Context, url string, l *library) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return fmt.Errorf("open database: %w", err)
	}
	defer conn.Close(ctx) //nolint:errcheck // nothing is open in it
	for _, statement := range []string{
		"CREATE TABLE fulltext (seq BIGINT PRIMARY KEY, level INT NOT NULL, words TSVECTOR NOT NULL)", "CREATE INDEX fulltext_words ON fulltext USING GIN (words)",
	} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return fmt.Errorf("make index: %w", err)
		}
	}
	var batch pgx.Batch
	for i, m := range l.memories {
		batch.Queue("INSERT INTO fulltext VALUES ($1, $2, setweight(to_tsvector('simple', $3), 'A') || to_tsvector('simple', $4))", i, m.Label.Level().Rank(), m.Key+" "+strings.Join(m.Tags, " "), m.Content)
	}
	if err := conn.SendBatch(ctx, &batch).Close(); err != nil { // one transaction
		return fmt.Errorf("fill index: %w", err)
	}
	name := fmt.Sprintf("PostgreSQL's full-text search with %d memories: ", b.remembered)
	if err := vacuum(ctx, url); err != nil {
		return err
	}
	for _, kind := range l.kinds() {
		questions := l.questions(kind)
		var times []time.Duration
		for range memoryRepeat {
			for _, q := range questions {
				began := time.Now()
				rows, err := conn.Query(ctx, "SELECT seq FROM fulltext, to_tsquery('simple', $1) q WHERE words @@ q AND level <= $2 ORDER BY ts_rank(words, q) DESC, seq DESC LIMIT 10", strings.ReplaceAll(q, " ", " | "), flow.Internal.Rank())
				if err != nil {
					return fmt.Errorf("search: %w", err)
				}
				if _, err := pgx.CollectRows(rows, pgx.RowTo[int64]); err != nil {
					return fmt.Errorf("search: %w", err)
				}
				times = append(times, time.Since(began))
			}
		}
		slices.Sort(times)
		b.report.add(name+"search, "+kind.name+", p50", "", milliseconds, inMilliseconds(quantile(times, 0.5)))
		b.report.add(name+"search, "+kind.name+", p99", "", milliseconds, inMilliseconds(quantile(times, 0.99)))
	}
	return nil
}
