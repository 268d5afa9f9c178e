package expr_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"cel.dev/cel-go/cel"
	"github.com/stretchr/testify/require"

	"sluice/internal/expr"
)

var language = expr.WithVariables("status", "body")

func TestJSON(t *testing.T) {
	t.Parallel()
	vars := map[string]any{"status": 200, "body": map[string]any{"name": "ci", "runs": []any{1.0, 2.5}, "b": nil, "a": true}}
	for text, want := range map[string]string{
		"status":                                `200`,
		"body.name":                             `"ci"`,
		"body":                                  `{"a":true,"b":null,"name":"ci","runs":[1,2.5]}`,
		"body.runs.map(x, x * 2.0)":             `[2,5]`,
		"status == 200 && has(body.name)":       `true`,
		"has(body.gone)":                        `false`,
		"null":                                  `null`,
		"timestamp('2027-01-15T12:00:00Z')":     `"2027-01-15T12:00:00Z"`,
		"body.name.upperAscii() + '/' + 'last'": `"CI/last"`,
		"b'abc'":                                `"YWJj"`,
	} {
		e, err := language.Compile(text)
		require.NoError(t, err, text)
		got, err := e.JSON(t.Context(), vars)
		require.NoError(t, err, text)
		require.Equal(t, want, string(got), text)
	}
}

func TestFaultsHaveAPlace(t *testing.T) {
	t.Parallel()
	_, err := language.Compile("status == 200 &&\n  boddy.name == 'x'")
	var fault *expr.Fault
	require.ErrorAs(t, err, &fault)
	require.Equal(t, 2, fault.Line)
	require.Equal(t, 3, fault.Column)
	require.Contains(t, fault.Text, "boddy")
	for text, want := range map[string]string{
		" ":                                "is empty",
		strings.Repeat("1+", 3000) + "1":   "the maximum is 4096",
		"body.matches(body.name)":          "must be a quoted string",
		"body.all(x, body.all(y, x == y))": "nested loops",
	} {
		_, err := language.Compile(text)
		require.ErrorContains(t, err, want, text)
	}
}

func TestConditions(t *testing.T) {
	t.Parallel()
	_, err := language.CompileCondition("1 + 1")
	require.ErrorContains(t, err, "is a int, want true or false")
	typed := expr.NewLanguage(func() []cel.EnvOption { return []cel.EnvOption{cel.Variable("body", cel.DynType)} })
	_, err = typed.CompileCondition("body.ready")
	require.ErrorContains(t, err, "is a dyn, want true or false")
	e, err := language.CompileCondition("body.ready")
	require.NoError(t, err)
	holds, err := e.Holds(t.Context(), map[string]any{"body": map[string]any{"ready": true}})
	require.NoError(t, err)
	require.True(t, holds)
	_, err = e.Holds(t.Context(), map[string]any{"body": map[string]any{"ready": "yes"}})
	require.ErrorContains(t, err, "is a string, want true or false")
	_, err = e.Holds(t.Context(), map[string]any{"body": map[string]any{}})
	require.ErrorContains(t, err, "no such key: ready")
}

// The cost of an evaluation is bounded, whatever the input is, and so is its time.
func TestBounds(t *testing.T) {
	t.Parallel()
	e, err := language.Compile("body.map(x, x + status)")
	require.NoError(t, err)
	list := make([]any, 1_000_000)
	for i := range list {
		list[i] = 1
	}
	_, err = e.JSON(t.Context(), map[string]any{"status": 1, "body": list})
	require.ErrorContains(t, err, "cost limit exceeded")

	e, err = language.Compile("[1, 2, 3, 4, 5].map(x, body)")
	require.NoError(t, err)
	_, err = e.JSON(t.Context(), map[string]any{"body": []any{strings.Repeat("x", 1<<20)}})
	require.ErrorContains(t, err, "has a value above 4 MiB", "the same part many times")
	_, err = e.JSON(t.Context(), map[string]any{"body": map[string]any{"a": []byte(strings.Repeat("x", 1<<20))}})
	require.ErrorContains(t, err, "has a value above 4 MiB")
	e, err = language.Compile("body.map(x, x + status)")
	require.NoError(t, err)

	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	_, err = e.JSON(ctx, map[string]any{"status": 1, "body": list[:10_000]})
	require.ErrorContains(t, err, "interrupted")
}
