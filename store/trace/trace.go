// Package trace lets a caller hear the statements that a store sends to its database. Tests count them so.
package trace

import "context"

// Func hears each statement with its arguments: reads, writes, and what begins and ends transactions.
// It must be quick and safe for concurrent use, and must not keep the arguments.
type Func func(sql string, args []any)

type key struct{}

// With gives a context; a store that is opened with it tells f of its statements.
func With(ctx context.Context, f Func) context.Context { return context.WithValue(ctx, key{}, f) }

// Of is the function of a context; nil if it has none.
func Of(ctx context.Context) Func {
	f, _ := ctx.Value(key{}).(Func)
	return f
}
