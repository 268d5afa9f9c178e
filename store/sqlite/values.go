package sqlite

import (
	"fmt"
	"reflect"
	"strconv"

	"zombiezen.com/go/sqlite"
)

// bind sets the n-th argument of a statement, counted from 1.
func bind(stmt *sqlite.Stmt, n int, arg any) error {
	switch v := arg.(type) {
	case nil:
		stmt.BindNull(n)
	case string:
		stmt.BindText(n, v)
	case int64:
		stmt.BindInt64(n, v)
	case int:
		stmt.BindInt64(n, int64(v))
	case bool:
		stmt.BindBool(n, v)
	case []byte:
		if v == nil {
			stmt.BindNull(n)
			return nil
		}
		stmt.BindBytes(n, v)
	case float64:
		stmt.BindFloat(n, v)
	default:
		return bindKind(stmt, n, reflect.ValueOf(arg))
	}
	return nil
}

// bindKind binds a value of a named type by its underlying kind.
func bindKind(stmt *sqlite.Stmt, n int, v reflect.Value) error {
	switch {
	case v.Kind() == reflect.String:
		stmt.BindText(n, v.String())
	case v.CanInt():
		stmt.BindInt64(n, v.Int())
	case v.Kind() == reflect.Bool:
		stmt.BindBool(n, v.Bool())
	default:
		return fmt.Errorf("a value of type %s can't be stored", v.Type())
	}
	return nil
}

// row is the current row of a statement.
type row struct{ stmt *sqlite.Stmt }

// Scan implements [engine.Row].
func (r *row) Scan(dest ...any) error {
	if n := r.stmt.ColumnCount(); n != len(dest) {
		return fmt.Errorf("the row has %d columns, %d are read", n, len(dest))
	}
	for i, d := range dest {
		if err := r.column(i, d); err != nil {
			return fmt.Errorf("column %d: %w", i+1, err)
		}
	}
	return nil
}

func (r *row) column(i int, dest any) error {
	has := r.stmt.ColumnType(i)
	if has == sqlite.TypeNull {
		return null(dest)
	}
	switch d := dest.(type) {
	case *string:
		*d = r.stmt.ColumnText(i) // SQLite converts numbers to text
	case *int64:
		return r.number(i, has, d)
	case *int:
		var n int64
		err := r.number(i, has, &n)
		*d = int(n)
		return err
	case *bool:
		var n int64
		err := r.number(i, has, &n)
		*d = n != 0
		return err
	case *[]byte:
		*d = make([]byte, r.stmt.ColumnLen(i))
		r.stmt.ColumnBytes(i, *d)
	default:
		return fmt.Errorf("a value of type %T can't be read", dest)
	}
	return nil
}

// null reads a NULL, which only []byte can hold.
func null(dest any) error {
	if d, ok := dest.(*[]byte); ok {
		*d = nil
		return nil
	}
	return fmt.Errorf("it has no value, want one for %T", dest)
}

// number reads an integer. SQLite itself would return 0 for a value of another type.
func (r *row) number(i int, has sqlite.ColumnType, n *int64) (err error) {
	if has == sqlite.TypeInteger {
		*n = r.stmt.ColumnInt64(i)
		return nil
	}
	*n, err = strconv.ParseInt(r.stmt.ColumnText(i), 10, 64)
	return err
}
