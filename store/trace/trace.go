// Package trace lets a caller observe the statements that a store sends to its database, so that tests can count
// them.
package trace

import "context"

// Func receives each statement with its arguments: reads, writes, and the beginning and end of transactions. It must
// be quick and safe for concurrent use, and must not keep the arguments.
type Func func(sql string, args []any)

type key struct{}

// With returns a context. A store opened with it calls f for each statement.
func With(ctx context.Context, f Func) context.Context { return context.WithValue(ctx, key{}, f) }

// Of returns the function of a context, or nil for a context without one.
func Of(ctx context.Context) Func {
	f, _ := ctx.Value(key{}).(Func)
	return f
}
