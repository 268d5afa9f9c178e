package postgres

import (
	"fmt"

	"sluice/store"
)

// Having implements [store.Engine].
func (*engine) Having(level int, field store.WordField) string {
	return fmt.Sprintf(`SELECT '%[2]s', COALESCE(string_agg((seq - ?)::text, ','), '') FROM memory_words WHERE level = %[1]d AND %[2]s @@ memory_query(?) AND seq BETWEEN ? AND ?`, level, field)
}
