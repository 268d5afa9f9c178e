package sqlite

import (
	_ "embed"
	"fmt"

	"zombiezen.com/go/sqlite/sqlitex"

	"sluice/store/engine"
)

//go:generate go test -run TestSchemaIsWhatTheMigrationsMake -update .

// schema creates in an empty database what all migrations would create, in one transaction: dozens of migrations one by one would
// take most of the time of a first start.
//
//go:embed schema.sql
var schema string

// create makes the schema if the database is empty.
func (s *statements) create() (created bool, err error) {
	var objects int64
	if err := s.query(`SELECT count(*) FROM sqlite_schema`, nil, func(row engine.Row) error { return row.Scan(&objects) }); err != nil {
		return false, err
	}
	if objects > 0 {
		return false, nil
	}
	if err := sqlitex.ExecuteScript(s.conn, schema, nil); err != nil {
		return false, fmt.Errorf("create the tables: %w", err)
	}
	return true, s.forget() // statements on the empty database
}
