package postgres

import (
	"fmt"

	"sluice/store/engine"
)

// WordQuery implements [engine.Engine].
func (*database) WordQuery(level int, field engine.WordField) string {
	return fmt.Sprintf(`SELECT '%s', COALESCE(string_agg((seq - ?)::text, ','), '') FROM memory_postings
		WHERE level = %d AND in_labels = %t AND word = memory_stem(?) AND seq BETWEEN ? AND ?`, field, level, field == engine.WordLabels)
}
