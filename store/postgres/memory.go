package postgres

import (
	"fmt"

	"sluice/store"
)

// Having implements [store.Engine].
func (*engine) Having(level int, field store.WordField) string {
	return fmt.Sprintf(`SELECT '%s', COALESCE(string_agg((seq - ?)::text, ','), '') FROM memory_postings
		WHERE level = %d AND in_labels = %t AND word = memory_stem(?) AND seq BETWEEN ? AND ?`, field, level, field == store.WordLabels)
}
