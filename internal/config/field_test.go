package config

import (
	"reflect"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEveryFieldIsTagged(t *testing.T) {
	t.Parallel()
	walk(t, reflect.TypeFor[Config]())
}

func walk(t *testing.T, typ reflect.Type) {
	t.Helper()
	for i := range typ.NumField() {
		f := typ.Field(i)
		if !f.IsExported() && f.Name != "_" {
			continue
		}
		if f.Name == "_" {
			require.NotEmpty(t, f.Tag.Get("later"), "%s", typ)
			continue
		}
		if !f.Anonymous {
			require.NotEmpty(t, f.Tag.Get("yaml"), "%s.%s", typ, f.Name)
			require.NotEmpty(t, f.Tag.Get("doc"), "%s.%s", typ, f.Name)
		}
		for _, tag := range []string{"min", "max"} {
			if s, ok := f.Tag.Lookup(tag); ok {
				_, err := strconv.Atoi(s)
				require.NoError(t, err, "%s.%s", typ, f.Name)
			}
		}
		below := f.Type
		if below.Kind() == reflect.Map || below.Kind() == reflect.Slice {
			below = below.Elem()
		}
		if below.Kind() == reflect.Struct && below.PkgPath() == typ.PkgPath() {
			walk(t, below)
		}
	}
}
