package postgres

import (
	"fmt"

	"sluice/store"
)

// Having implements [store.Engine].
func (*engine) Having(level int, field store.WordField) string {
	return fmt.Sprintf(`SELECT COALESCE(string_agg((seq - ?)::text, ','), '') FROM memory_words WHERE level = %d AND %s @@ memory_query(?) AND seq BETWEEN ? AND ?`, level, field)
}
