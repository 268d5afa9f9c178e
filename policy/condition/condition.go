// Package condition evaluates the conditions of policy rules: CEL expressions over the variables of an input.
//
// It is a package of its own, so that programs that only ask for decisions are linked without CEL.
package condition

import (
	"context"
	"reflect"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/ext"

	"sluice/internal/expr"
	"sluice/policy"
	"sluice/policy/flow"
)

// NewRules compiles rules. Its error joins a [policy.RuleError] per fault.
func NewRules(rules []policy.Rule) (*policy.Rules, error) { return policy.NewRules(rules, compile) }

// condition is a compiled expression.
type condition struct {
	whole   *expr.Expression
	partial cel.Program // for an unknown text
}

// language is what conditions are written in.
var language = expr.NewLanguage(func() []cel.EnvOption {
	object := func(name string, v any) cel.EnvOption {
		return cel.Variable(name, cel.ObjectType(strings.ReplaceAll(reflect.TypeOf(v).String(), "*", "")))
	}
	options := []cel.EnvOption{
		ext.NativeTypes(reflect.TypeFor[policy.SessionInput](), reflect.TypeFor[policy.ToolInput](), reflect.TypeFor[policy.OutputInput](),
			reflect.TypeFor[policy.SecretInput](), reflect.TypeFor[policy.AgentInput](), ext.ParseStructTags(true)),
		cel.Variable("hook", cel.StringType), cel.Variable("now", cel.TimestampType),
		cel.Variable("text", cel.StringType), cel.Variable("source", cel.StringType),
		object("session", policy.SessionInput{}), object("tool", policy.ToolInput{}), object("output", policy.OutputInput{}),
		object("secret", policy.SecretInput{}), object("agent", policy.AgentInput{}),
	}
	for _, l := range flow.Levels() {
		options = append(options, cel.Constant(l.String(), cel.IntType, types.Int(l.Rank())))
	}
	return options
})

// compile compiles an expression. The error names the position of the fault.
func compile(expression string) (policy.Condition, error) {
	whole, err := language.CompileCondition(expression)
	if err != nil {
		return nil, err
	}
	partial, err := whole.Partial()
	if err != nil {
		return nil, err
	}
	return &condition{whole, partial}, nil
}

// Holds evaluates the condition. An error says why that failed.
func (c *condition) Holds(ctx context.Context, vars map[string]any) (bool, error) {
	return c.whole.Holds(ctx, vars)
}

// MayHold reports whether the condition holds, or might for another text.
func (c *condition) MayHold(ctx context.Context, vars map[string]any) (bool, error) {
	known, err := cel.PartialVars(vars, cel.AttributePattern("text"))
	if err != nil {
		return false, err
	}
	value, _, err := c.partial.ContextEval(ctx, known)
	return value == types.True || value != nil && types.IsUnknown(value), err
}
