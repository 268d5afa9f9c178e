package expr

import (
	"context"
	"errors"
	"fmt"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// bounded refuses expressions that are not linear in their input: a loop over a list within another, and a pattern
// that comes from the input.
func bounded(e ast.Expr, depth int) error {
	switch e.Kind() {
	case ast.ComprehensionKind:
		if depth > 0 {
			return errors.New("has nested loops over lists, which may take too long")
		}
		c := e.AsComprehension()
		return firstError(bounded(c.IterRange(), depth), bounded(c.AccuInit(), depth), bounded(c.LoopCondition(), depth+1), bounded(c.LoopStep(), depth+1), bounded(c.Result(), depth))
	case ast.CallKind:
		return boundedCall(e.AsCall(), depth)
	case ast.SelectKind:
		return bounded(e.AsSelect().Operand(), depth)
	case ast.ListKind:
		return boundedAll(e.AsList().Elements(), depth)
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			if err := firstError(bounded(entry.AsMapEntry().Key(), depth), bounded(entry.AsMapEntry().Value(), depth)); err != nil {
				return err
			}
		}
	}
	return nil
}

func boundedCall(call ast.CallExpr, depth int) error {
	if call.FunctionName() == "matches" {
		if pattern := call.Args()[len(call.Args())-1]; pattern.Kind() != ast.LiteralKind {
			return errors.New("matches: the pattern must be a quoted string in the expression")
		}
	}
	if call.IsMemberFunction() {
		if err := bounded(call.Target(), depth); err != nil {
			return err
		}
	}
	return boundedAll(call.Args(), depth)
}

func boundedAll(list []ast.Expr, depth int) error {
	for _, e := range list {
		if err := bounded(e, depth); err != nil {
			return err
		}
	}
	return nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// measure subtracts the size of a value from what is left. A value may contain the same part many times, so that its text would be
// much longer than what it takes in memory.
func measure(ctx context.Context, value ref.Val, left *int) error {
	const rest = 8 // bytes of a number, and of the signs around each part
	*left -= rest
	switch v := value.(type) {
	case types.String:
		*left -= len(v)
	case types.Bytes:
		*left -= len(v)
	case traits.Mapper:
		for i := v.Iterator(); i.HasNext() == types.True; {
			key := i.Next()
			if err := firstError(measure(ctx, key, left), measure(ctx, v.Get(key), left)); err != nil {
				return err
			}
		}
	case traits.Lister:
		for i := v.Iterator(); i.HasNext() == types.True; {
			if err := measure(ctx, i.Next(), left); err != nil {
				return err
			}
		}
	}
	if *left < 0 {
		return fmt.Errorf("has a value above %d MiB", valueMax>>20)
	}
	return ctx.Err()
}
