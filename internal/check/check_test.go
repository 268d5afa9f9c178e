package check_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/check"
	"sluice/internal/expr"
)

func answering(status int, body string) check.Ways {
	return check.Ways{Fetch: func(context.Context, *check.Definition, int) (check.Answer, error) {
		return check.Answer{Status: status, Headers: map[string]string{"etag": "e1"}, Body: []byte(body)}, nil
	}}
}

func TestValues(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		d      check.Definition
		ways   check.Ways
		before string
		value  string
		holds  bool
		err    string
	}{
		"json":             {check.Definition{HTTP: "https://x", Value: "body.status"}, answering(200, `{"status":"red"}`), "", `"red"`, true, ""},
		"text":             {check.Definition{HTTP: "https://x"}, answering(200, "up"), "", `"up"`, true, ""},
		"header":           {check.Definition{HTTP: "https://x", Value: "headers.etag"}, answering(200, "up"), "", `"e1"`, true, ""},
		"failing server":   {check.Definition{HTTP: "https://x"}, answering(502, "up"), "", "", false, "the server answers 502"},
		"status as value":  {check.Definition{HTTP: "https://x", Value: "status"}, answering(502, "up"), "", "502", true, ""},
		"not what it was":  {check.Definition{HTTP: "https://x", Value: "body.status"}, answering(200, "[]"), "", "", false, "value: unsupported index type"},
		"condition":        {check.Definition{HTTP: "https://x", When: "value > 2"}, answering(200, "3"), "", "3", true, ""},
		"condition fails":  {check.Definition{HTTP: "https://x", When: "value > 3"}, answering(200, "3"), "", "3", false, ""},
		"first value":      {check.Definition{HTTP: "https://x", When: "before != null && value < before"}, answering(200, "3"), "", "3", false, ""},
		"fallen":           {check.Definition{HTTP: "https://x", When: "before != null && value < before"}, answering(200, "3"), "4", "3", true, ""},
		"no condition":     {check.Definition{HTTP: "https://x", When: "value"}, answering(200, "3"), "", "", false, "when: is a double, want true or false"},
		"count":            {check.Definition{Gateway: check.DeadLetters}, check.Ways{Count: func(context.Context, string) (int, error) { return 7, nil }}, "", "7", true, ""},
		"unreachable tool": {check.Definition{MCP: "a/b"}, check.Ways{Tool: func(context.Context, string, string, json.RawMessage) (string, error) { return "", errors.New("gone") }}, "", "", false, "gone"},
	} {
		k, err := check.New(c.d)
		require.NoError(t, err, name)
		got, err := k.Look(t.Context(), c.ways, c.before)
		if c.err != "" {
			require.ErrorContains(t, err, c.err, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, c.value, got.Value, name)
		require.Equal(t, c.holds, got.Holds, name)
		require.Equal(t, c.d.When != "", got.Conditional, name)
	}
}

func TestToolGetsItsArguments(t *testing.T) {
	t.Parallel()
	var called []string
	ways := check.Ways{Tool: func(_ context.Context, server, tool string, args json.RawMessage) (string, error) {
		called = append(called, server, tool, string(args))
		return `{"open": 2}`, nil
	}}
	for _, args := range []string{"", `{"state":"open"}`} {
		k, err := check.New(check.Definition{MCP: "tracker/list/all", Args: args, Value: "body.open"})
		require.NoError(t, err)
		got, err := k.Look(t.Context(), ways, "")
		require.NoError(t, err)
		require.Equal(t, "2", got.Value)
	}
	require.Equal(t, []string{"tracker", "list/all", "{}", "tracker", "list/all", `{"state":"open"}`}, called)
}

func TestFiles(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "f")
	k, err := check.New(check.Definition{File: path})
	require.NoError(t, err)
	look := func() string {
		got, err := k.Look(t.Context(), check.Ways{}, "")
		require.NoError(t, err)
		return got.Value
	}
	seen := map[string]bool{look(): true}
	require.Contains(t, look(), `"exists":false`)
	large := strings.Repeat("x", 20<<20)
	for _, text := range []string{"", "a", "b", large, large[1:] + "y", "y" + large[1:]} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		require.False(t, seen[look()], "each content has its own value")
		seen[look()] = true
	}
	require.NoError(t, os.Remove(path))
	require.NoError(t, os.Mkdir(path, 0o700))
	_, err = k.Look(t.Context(), check.Ways{}, "")
	require.ErrorContains(t, err, "is not a file")
}

func TestLongValuesAreCompared(t *testing.T) {
	t.Parallel()
	k, err := check.New(check.Definition{HTTP: "https://x"})
	require.NoError(t, err)
	long := strings.Repeat("ü", 5000)
	one, err := k.Look(t.Context(), answering(200, long+"1"), "")
	require.NoError(t, err)
	two, err := k.Look(t.Context(), answering(200, long+"2"), "")
	require.NoError(t, err)
	require.Equal(t, one.Value, two.Value)
	require.LessOrEqual(t, len(one.Value), check.ExcerptMax)
	require.NotEqual(t, one.Hash, two.Hash)
}

func TestFaults(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]check.Definition{
		"has 0 of http, mcp, file and gateway: want one": {},
		"has 2 of http":                              {HTTP: "https://x", File: "/x"},
		"headers: belong to http":                    {File: "/x", Headers: map[string]string{"a": "b"}},
		"private: belongs to http":                   {File: "/x", Private: true},
		`mcp: "x": want <server>/<tool>`:             {MCP: "x"},
		"args: belong to mcp":                        {File: "/x", Args: "{}"},
		"args: want a JSON object":                   {MCP: "a/b", Args: "[]"},
		`gateway: "letters": want deadLetters, held`: {Gateway: "letters"},
		"value: line 1, column 1":                    {File: "/x", Value: "bdy"},
		"when: line 1, column 5":                     {File: "/x", When: "1 + body"},
		"when: is a int":                             {File: "/x", When: "1"},
	} {
		_, err := check.New(d)
		require.ErrorContains(t, err, want)
		var field *check.FieldError
		require.ErrorAs(t, err, &field)
	}
	_, err := check.New(check.Definition{File: "/x", Value: "body +"})
	var inside *expr.Fault
	require.ErrorAs(t, err, &inside)
}

func TestAddressesAreNotShown(t *testing.T) {
	t.Parallel()
	d := check.Definition{HTTP: "https://ci.example:8443/api?token=hunter2"}
	require.Equal(t, "https://ci.example:8443", d.Source())
}
