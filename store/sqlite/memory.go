package sqlite

import (
	"fmt"

	"sluice/store/engine"
)

// WordQuery implements [engine.Engine].
func (*database) WordQuery(level int, field engine.WordField) string {
	table := fmt.Sprintf("memory_words_%d", level)
	return `SELECT '` + string(field) + `', COALESCE(group_concat(rowid - ?), '') FROM ` + table + ` WHERE ` + table + ` MATCH '` + string(field) + ` : "' || ? || '"' AND rowid BETWEEN ? AND ?`
}
