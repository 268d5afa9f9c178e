package postgres

import (
	"fmt"

	"sluice/store"
)

// Having implements [store.Engine]. With a plain seq a prepared statement would read the whole range first, as its
// planner can't know how large that is; so it begins with the word, which is what is rare.
func (*engine) Having(level int, field store.WordField) string {
	return fmt.Sprintf(`SELECT '%[2]s', COALESCE(string_agg((seq - ?)::text, ','), '') FROM memory_words WHERE level = %[1]d AND %[2]s @@ memory_query(?) AND seq + 0 BETWEEN ? AND ?`, level, field)
}
