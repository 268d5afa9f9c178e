package store_test

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/policy/flow"
	"sluice/sessions"
	"sluice/store"
	"sluice/store/engine"
)

var errBroken = errors.New("the disk gives nothing back")

// unreadable is an engine that fails: at once, or with the first row that it gives.
type unreadable struct{ atRow bool }

func (b unreadable) Query(_ context.Context, _ string, _ []any, scan func(engine.Row) error) error {
	if b.atRow {
		return scan(b)
	}
	return errBroken
}

func (unreadable) Scan(...any) error { return errBroken }

func (unreadable) Apply(context.Context, []engine.Write, engine.Trail) (int, error) {
	return -1, errBroken
}
func (unreadable) Workers() int                           { return 1 }
func (unreadable) Alone() bool                            { return false }
func (unreadable) WordQuery(int, engine.WordField) string { return "SELECT" }
func (unreadable) Close() error                           { return errBroken }

// filled is a value of a type with something in each text, number and list of it.
func filled(t reflect.Type) reflect.Value {
	if t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct {
		return reflect.New(t.Elem())
	}
	switch t {
	case reflect.TypeFor[flow.Level]():
		return reflect.ValueOf(flow.Restricted)
	case reflect.TypeFor[flow.Label]():
		return reflect.ValueOf(flow.Bottom())
	}
	v := reflect.New(t).Elem()
	switch t.Kind() { //nolint:exhaustive // others stay zero
	case reflect.String:
		v.SetString("x")
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Slice:
		v.Set(reflect.Append(v, filled(t.Elem())))
	case reflect.Struct:
		for i := range t.NumField() {
			field := t.Field(i)
			if nested := field.Type.Kind() == reflect.Struct && field.Type.PkgPath() != reflect.TypeFor[flow.Level]().PkgPath(); field.IsExported() && !nested {
				v.Field(i).Set(filled(field.Type))
			}
		}
	}
	return v
}

// No method of the store swallows what the database says.
func TestAFaultOfTheDatabaseIsTheCallers(t *testing.T) {
	t.Parallel()
	silent := map[string]bool{"CommitSession": true, "Commit": true, "SearchMemories": true} // of a change or a search that is empty
	for _, engine := range []unreadable{{}, {atRow: true}} {
		db := store.New(engine, nil)
		v := reflect.ValueOf(db)
		for i := range v.NumMethod() {
			name, method := v.Type().Method(i).Name, v.Method(i)
			kind := method.Type()
			last := kind.NumOut() - 1
			if kind.NumIn() == 0 || last < 0 || kind.Out(last) != reflect.TypeFor[error]() || kind.In(0) != reflect.TypeFor[context.Context]() || silent[name] {
				continue
			}
			args := []reflect.Value{reflect.ValueOf(t.Context())}
			for in := 1; in < kind.NumIn(); in++ {
				args = append(args, filled(kind.In(in)))
			}
			out := method.Call(args)
			err, _ := out[last].Interface().(error)
			require.Error(t, err, "%s (with a row: %v)", name, engine.atRow)
		}
		require.ErrorIs(t, db.Close(), errBroken)
		require.ErrorIs(t, db.Close(), errBroken, "it stays closed, and says the same")
	}
}

// garbled is an engine whose rows have texts that nobody wrote.
type garbled struct{ unreadable }

func (g garbled) Query(_ context.Context, _ string, _ []any, scan func(engine.Row) error) error {
	return scan(g)
}

func (garbled) Scan(dest ...any) error {
	for _, d := range dest {
		if text, ok := d.(*string); ok {
			*text = "{"
		}
	}
	return nil
}

// A row that can't be read as it was written is an error, and never half a value.
func TestGarbledRowsAreErrors(t *testing.T) {
	t.Parallel()
	db, ctx := store.New(garbled{}, nil), t.Context()
	t.Cleanup(func() { _ = db.Close() }) // it says what its engine says
	for name, read := range map[string]func() error{
		"session":   func() error { _, err := db.Session(ctx, "x"); return err },
		"message":   func() error { _, err := db.Message(ctx, "x", "x"); return err },
		"run":       func() error { _, err := db.Run(ctx, "x"); return err },
		"delivery":  func() error { _, err := db.Delivery(ctx, "x"); return err },
		"exchange":  func() error { _, err := db.Exchange(ctx, "x"); return err },
		"approval":  func() error { _, err := db.Approval(ctx, "x"); return err },
		"bot turns": func() error { _, err := db.BotTurns(ctx, "x"); return err },
	} {
		require.Error(t, read(), name)
	}
}

// busy is an engine where another is quicker.
type busy struct{ unreadable }

func (busy) Query(context.Context, string, []any, func(engine.Row) error) error { return nil }

func (busy) Apply(context.Context, []engine.Write, engine.Trail) (int, error) {
	return 0, sessions.ErrConflict
}

func TestPartitionThatAnotherHasTaken(t *testing.T) {
	t.Parallel()
	db := store.New(busy{}, nil)
	t.Cleanup(func() { _ = db.Close() })
	_, err := db.TakePartition(t.Context(), 3, "one", 1)
	require.ErrorIs(t, err, sessions.ErrConflict)
}
