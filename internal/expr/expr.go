// Package expr evaluates the CEL expressions of the configuration: conditions of policy rules, filters of hooks, values of checks.
//
// A [Language] declares the variables. It is built when the first expression is compiled, so a gateway without expressions
// does not pay for it. An [Expression] is linear in its input, and each evaluation is bounded in steps; its context bounds the time.
package expr

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/ext"
	"google.golang.org/protobuf/types/known/structpb"
)

const (
	// Max is the maximum length of an expression in bytes.
	Max = 4 << 10
	// costMax bounds the steps of one evaluation, in CEL's units of cost.
	costMax = 1_000_000
	// valueMax bounds the size of a value, roughly in bytes.
	valueMax = 4 << 20
	// Deadline is the time that one evaluation may take.
	Deadline = 100 * time.Millisecond
	// interruptEvery is how many rounds of a comprehension run between two checks of the deadline.
	interruptEvery = 100
)

// Language is what expressions are written in: CEL with the functions on strings, and some variables.
type Language struct {
	environment func() (*cel.Env, error)
	dynamic     bool // the input decides the types of the variables
}

// NewLanguage makes a language with declarations, which are asked for when the first expression is compiled.
func NewLanguage(declare func() []cel.EnvOption) *Language {
	return &Language{environment: sync.OnceValues(func() (*cel.Env, error) {
		return cel.NewEnv(append(declare(), ext.Strings())...)
	})}
}

// WithVariables makes a language with variables of any type, such as what was read from JSON.
func WithVariables(names ...string) *Language {
	l := NewLanguage(func() []cel.EnvOption {
		var all []cel.EnvOption
		for _, name := range names {
			all = append(all, cel.Variable(name, cel.DynType))
		}
		return all
	})
	l.dynamic = true
	return l
}

// Expression is a compiled expression. It can be evaluated by several goroutines at once.
type Expression struct {
	env     *cel.Env
	tree    *cel.Ast
	program cel.Program
}

// compiling is held while an expression is compiled: the library's environment changes while it looks for the name that
// an unknown one may stand for, and it does not guard that.
var compiling sync.Mutex

// Compile compiles an expression of any type. A [*Fault] names the position of a fault.
func (l *Language) Compile(text string) (*Expression, error) {
	if strings.TrimSpace(text) == "" {
		return nil, errors.New("is empty")
	}
	if len(text) > Max {
		return nil, fmt.Errorf("is %d bytes long, the maximum is %d", len(text), Max)
	}
	env, err := l.environment()
	if err != nil {
		return nil, fmt.Errorf("prepare for expressions: %w", err)
	}
	compiling.Lock()
	tree, issues := env.Compile(text)
	compiling.Unlock()
	if issues.Err() != nil {
		return nil, faultOf(issues)
	}
	if err := bounded(tree.NativeRep().Expr(), 0); err != nil {
		return nil, err
	}
	e := &Expression{env: env, tree: tree}
	e.program, err = e.newProgram(cel.OptOptimize)
	return e, err
}

// CompileCondition compiles an expression that says true or false. In a language of [WithVariables] only the input may decide
// the type; then [Expression.Holds] gives an error for any other.
func (l *Language) CompileCondition(text string) (*Expression, error) {
	e, err := l.Compile(text)
	if err != nil {
		return nil, err
	}
	if t := e.tree.OutputType(); !t.IsExactType(cel.BoolType) && (!l.dynamic || !t.IsExactType(cel.DynType)) {
		return nil, fmt.Errorf("is a %s, want true or false", t)
	}
	return e, nil
}

func (e *Expression) newProgram(options ...cel.EvalOption) (cel.Program, error) {
	return e.env.Program(e.tree, cel.CostLimit(costMax), cel.InterruptCheckFrequency(interruptEvery), cel.EvalOptions(options...))
}

// Partial is a program with the same bounds that can be evaluated while a variable is unknown.
func (e *Expression) Partial() (cel.Program, error) {
	return e.newProgram(cel.OptOptimize, cel.OptPartialEval)
}

// Fault is a fault in an expression. Its position counts characters from 1.
type Fault struct {
	Line, Column int
	Text         string
}

func (e *Fault) Error() string {
	return fmt.Sprintf("line %d, column %d of the expression: %s", e.Line, e.Column, e.Text)
}

// faultOf is the first fault of an expression with its position.
func faultOf(issues *cel.Issues) error {
	first := issues.Errors()[0]
	return &Fault{first.Location.Line(), first.Location.Column() + 1, first.Message}
}

// Holds evaluates a condition. The context bounds the time; see [Deadline].
func (e *Expression) Holds(ctx context.Context, vars map[string]any) (bool, error) {
	value, _, err := e.program.ContextEval(ctx, vars)
	if err != nil {
		return false, err
	}
	is, ok := value.(types.Bool)
	if !ok {
		return false, fmt.Errorf("is a %s, want true or false", value.Type().TypeName())
	}
	return bool(is), nil
}

var jsonValue = reflect.TypeFor[*structpb.Value]()

// JSON evaluates an expression and gives its value as JSON, the same bytes for the same value.
func (e *Expression) JSON(ctx context.Context, vars map[string]any) ([]byte, error) {
	value, _, err := e.program.ContextEval(ctx, vars)
	if err != nil {
		return nil, err
	}
	left := valueMax
	if err := measure(ctx, value, &left); err != nil {
		return nil, err
	}
	return encode(value)
}

func encode(value ref.Val) ([]byte, error) {
	native, err := value.ConvertToNative(jsonValue)
	if err != nil {
		return nil, fmt.Errorf("has a value of type %s, which JSON does not have: %w", value.Type().TypeName(), err)
	}
	v, ok := native.(*structpb.Value)
	if !ok {
		return nil, fmt.Errorf("has a value of type %s, which JSON does not have", value.Type().TypeName())
	}
	return json.Marshal(v.AsInterface())
}
