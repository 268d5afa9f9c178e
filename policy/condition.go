package policy

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/ext"

	"sluice/policy/flow"
)

const (
	// whenMax is the maximum length of an expression in bytes.
	whenMax = 4 << 10
	// costMax bounds the steps of one evaluation, in CEL's units of cost.
	costMax = 1_000_000
	// conditionDeadline bounds one decision. An undecided condition blocks.
	conditionDeadline = 100 * time.Millisecond
	// interruptEvery is how many rounds of a comprehension run between two checks of the deadline.
	interruptEvery = 100
)

// condition is a compiled expression.
type condition struct {
	program cel.Program
	partial cel.Program // for an unknown text
}

// environment is created once: it costs more than all the rules of a configuration.
var environment = sync.OnceValues(func() (*cel.Env, error) {
	object := func(name string, v any) cel.EnvOption {
		return cel.Variable(name, cel.ObjectType(strings.ReplaceAll(reflect.TypeOf(v).String(), "*", "")))
	}
	options := []cel.EnvOption{
		ext.NativeTypes(reflect.TypeFor[SessionInput](), reflect.TypeFor[ToolInput](), reflect.TypeFor[OutputInput](),
			reflect.TypeFor[SecretInput](), reflect.TypeFor[AgentInput](), ext.ParseStructTags(true)),
		ext.Strings(),
		cel.Variable("hook", cel.StringType), cel.Variable("now", cel.TimestampType),
		cel.Variable("text", cel.StringType), cel.Variable("source", cel.StringType),
		object("session", SessionInput{}), object("tool", ToolInput{}), object("output", OutputInput{}),
		object("secret", SecretInput{}), object("agent", AgentInput{}),
	}
	for _, l := range flow.Levels() {
		options = append(options, cel.Constant(l.String(), cel.IntType, types.Int(l.Rank())))
	}
	return cel.NewEnv(options...)
})

// compiling is held while an expression is compiled: the library's environment changes while it looks for the name that
// an unknown one may stand for, and it does not guard that.
var compiling sync.Mutex

// newCondition compiles an expression; the condition of an empty one is nil. The error names the position of the
// fault.
func newCondition(expression string) (*condition, error) {
	if strings.TrimSpace(expression) == "" {
		return nil, nil //nolint:nilnil // no condition is always true
	}
	if len(expression) > whenMax {
		return nil, fmt.Errorf("is %d bytes long, the maximum is %d", len(expression), whenMax)
	}
	env, err := environment()
	if err != nil {
		return nil, fmt.Errorf("make the rules' environment: %w", err)
	}
	compiling.Lock()
	tree, issues := env.Compile(expression)
	compiling.Unlock()
	if issues.Err() != nil {
		return nil, faultOf(issues)
	}
	if !tree.OutputType().IsExactType(cel.BoolType) {
		return nil, fmt.Errorf("is a %s, want true or false", tree.OutputType())
	}
	if err := bounded(tree.NativeRep().Expr(), 0); err != nil {
		return nil, err
	}
	bounds := []cel.ProgramOption{cel.CostLimit(costMax), cel.InterruptCheckFrequency(interruptEvery)}
	program, err := env.Program(tree, append(bounds, cel.EvalOptions(cel.OptOptimize))...)
	if err != nil {
		return nil, err
	}
	partial, err := env.Program(tree, append(bounds, cel.EvalOptions(cel.OptOptimize, cel.OptPartialEval))...)
	if err != nil {
		return nil, err
	}
	return &condition{program, partial}, nil
}

// ConditionError is a fault in an expression. Its position counts characters from 1.
type ConditionError struct {
	Line, Column int
	Text         string
}

func (e *ConditionError) Error() string {
	return fmt.Sprintf("line %d, column %d of the expression: %s", e.Line, e.Column, e.Text)
}

// faultOf is the first fault of an expression with its position.
func faultOf(issues *cel.Issues) error {
	first := issues.Errors()[0]
	return &ConditionError{first.Location.Line(), first.Location.Column() + 1, first.Message}
}

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
			return errors.New("matches: the pattern must be a quoted string in the rule")
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

// holds evaluates the condition. An error says why that failed.
func (c *condition) holds(ctx context.Context, vars map[string]any) (bool, error) {
	if c == nil {
		return true, nil
	}
	value, _, err := c.program.ContextEval(ctx, vars)
	return value == types.True, err
}

// mayHold reports whether the condition holds, or might for another text.
func (c *condition) mayHold(ctx context.Context, vars map[string]any) (bool, error) {
	if c == nil {
		return true, nil
	}
	known, err := cel.PartialVars(vars, cel.AttributePattern("text"))
	if err != nil {
		return false, err
	}
	value, _, err := c.partial.ContextEval(ctx, known)
	return value == types.True || value != nil && types.IsUnknown(value), err
}

// variables are an input as expressions see it.
func (in *Input) variables() map[string]any {
	return map[string]any{
		"hook": string(in.Hook), "now": in.Now, "text": in.Text, "source": in.Source,
		"session": in.Session, "tool": in.Tool, "output": in.Output, "secret": in.Secret, "agent": in.Agent,
	}
}
