package sqlite

import (
	"fmt"

	"sluice/store"
)

// Having implements [store.Engine].
func (*engine) Having(level int, field store.WordField) string {
	table := fmt.Sprintf("memory_words_%d", level)
	return `SELECT '` + string(field) + `', COALESCE(group_concat(rowid - ?), '') FROM ` + table + ` WHERE ` + table + ` MATCH '` + string(field) + ` : "' || ? || '"' AND rowid BETWEEN ? AND ?`
}
