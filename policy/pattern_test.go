package policy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/policy"
)

func TestArgsMatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, pattern, args string
		matches             bool
	}{
		{"the same", `{"command":"git status"}`, `{ "command": "git status" }`, true},
		{"another text", `{"command":"git status"}`, `{"command":"git push"}`, false},
		{"a star", `{"command":"git *"}`, `{"command":"git log --all; a/b"}`, true},
		{"a star is not more than it says", `{"command":"git *"}`, `{"command":"rm -rf / # git "}`, false},
		{"an escaped star", `{"command":"ls \\*"}`, `{"command":"ls *"}`, true},
		{"an escaped star is no star", `{"command":"ls \\*"}`, `{"command":"ls /etc"}`, false},
		{"a pattern is not its own text", `{"command":"ls \\*"}`, `{"command":"ls \\*"}`, false},
		{"a further field", `{"path":"a"}`, `{"path":"a","mode":"w"}`, false},
		{"a field that differs in case", `{"path":"a"}`, `{"path":"a","PATH":"b"}`, false},
		{"a missing field", `{"path":"a","mode":"*"}`, `{"path":"a"}`, false},
		{"a field twice", `{"path":"a"}`, `{"path":"b","path":"a"}`, false},
		{"any value", `{"n":"*"}`, `{"n":{"a":[1]}}`, true},
		{"a number", `{"n":1}`, `{"n":1}`, true},
		{"another number", `{"n":1}`, `{"n":10}`, false},
		{"a large number", `{"n":12345678901234567890}`, `{"n":12345678901234567891}`, false},
		{"a number is no text", `{"n":"1"}`, `{"n":1}`, false},
		{"a list", `{"items":["a","b*"]}`, `{"items":["a","bc"]}`, true},
		{"a longer list", `{"items":["a"]}`, `{"items":["a","b"]}`, false},
		{"null", `{"n":null}`, `{"n":null}`, true},
		{"null is not false", `{"n":null}`, `{"n":false}`, false},
		{"an empty text", `{"a":""}`, `{"a":""}`, true},
		{"an empty text is not any", `{"a":""}`, `{"a":"b"}`, false},
		{"no object", `{"a":"*"}`, `["a"]`, false},
		{"no JSON", `{}`, `{`, false},
		{"two values", `{}`, `{} {}`, false},
		{"nothing", `{}`, `{}`, true},
	} {
		require.Equal(t, c.matches, policy.ArgsMatch(json.RawMessage(c.pattern), json.RawMessage(c.args)), c.name)
	}
}

func TestExactArgsMatchOnlyThemselves(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`*`, `a*b`, `?`, `[a]`, `[!a]`, `{a,b}`, `\`, `\*`, `**/x`, `a/b`, "", "ü", `!`} {
		args, err := json.Marshal(map[string]any{"a": text, "list": []any{text, 1, nil}})
		require.NoError(t, err)
		pattern, err := policy.ExactArgs(args)
		require.NoError(t, err)
		require.NoError(t, policy.CheckArgsPattern(pattern), text)
		require.True(t, policy.ArgsMatch(pattern, args), text)
		for _, other := range []string{text + "x", "x" + text, "x", "ax"} {
			if other != text {
				args, err := json.Marshal(map[string]any{"a": other, "list": []any{text, 1, nil}})
				require.NoError(t, err)
				require.False(t, policy.ArgsMatch(pattern, args), "%q for %q", other, text)
			}
		}
	}
	_, err := policy.ExactArgs(json.RawMessage(`"text"`))
	require.Error(t, err)
}

func TestCheckArgsPattern(t *testing.T) {
	t.Parallel()
	require.NoError(t, policy.CheckArgsPattern(json.RawMessage(`{"a":"x*","b":""}`)))
	for _, wrong := range []string{`{"a":"[x"}`, `[]`, `{"a":"b","a":"c"}`, `{`, `{"a":` + strings.Repeat(`[`, 40) + strings.Repeat(`]`, 40) + `}`, `{"a":"` + strings.Repeat("x", 17000) + `"}`} {
		require.Error(t, policy.CheckArgsPattern(json.RawMessage(wrong)), wrong[:min(len(wrong), 30)])
	}
}
