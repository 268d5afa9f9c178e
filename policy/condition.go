package policy

import (
	"context"
	"reflect"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/ext"

	"sluice/internal/expr"
	"sluice/policy/flow"
)

// conditionDeadline bounds one decision. An undecided condition blocks.
const conditionDeadline = expr.Deadline

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
		ext.NativeTypes(reflect.TypeFor[SessionInput](), reflect.TypeFor[ToolInput](), reflect.TypeFor[OutputInput](),
			reflect.TypeFor[SecretInput](), reflect.TypeFor[AgentInput](), ext.ParseStructTags(true)),
		cel.Variable("hook", cel.StringType), cel.Variable("now", cel.TimestampType),
		cel.Variable("text", cel.StringType), cel.Variable("source", cel.StringType),
		object("session", SessionInput{}), object("tool", ToolInput{}), object("output", OutputInput{}),
		object("secret", SecretInput{}), object("agent", AgentInput{}),
	}
	for _, l := range flow.Levels() {
		options = append(options, cel.Constant(l.String(), cel.IntType, types.Int(l.Rank())))
	}
	return options
})

// newCondition compiles an expression; the condition of an empty one is nil. The error names the position of the
// fault.
func newCondition(expression string) (*condition, error) {
	if strings.TrimSpace(expression) == "" {
		return nil, nil //nolint:nilnil // no condition is always true
	}
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

// holds evaluates the condition. An error says why that failed.
func (c *condition) holds(ctx context.Context, vars map[string]any) (bool, error) {
	if c == nil {
		return true, nil
	}
	return c.whole.Holds(ctx, vars)
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
