package record_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/sessions/record"
)

func TestCheckedScopes(t *testing.T) {
	t.Parallel()
	type access = record.FileAccess
	whole := access{Read: []string{""}, Write: []string{""}}
	for name, c := range map[string]struct {
		asked, want access
		err         string
	}{
		"nothing is the whole workspace": {access{}, whole, ""},
		"the seed's example": {
			access{Read: []string{"projects/my-project", "shared/templates"}, Write: []string{"projects/my-project/output"}},
			access{Read: []string{"projects/my-project", "shared/templates"}, Write: []string{"projects/my-project/output"}},
			"",
		},
		"reading alone":            {access{Read: []string{"a"}}, access{Read: []string{"a"}, Write: []string{}}, ""},
		"writing alone":            {access{Write: []string{"a"}}, access{Read: []string{}, Write: []string{"a"}}, ""},
		"one spelling":             {access{Read: []string{"./a//b/", "."}, Write: []string{"ä"}}, access{Read: []string{"a/b", ""}, Write: []string{"ä"}}, ""},
		"a leading slash":          {access{Read: []string{"a", "/etc"}}, access{}, `read[1] is "/etc": paths are relative to the workspace, without a leading slash`},
		"upwards":                  {access{Write: []string{"a/../../b"}}, access{}, `write[0] is "a/../../b": paths cannot lead out of the workspace with ".."`},
		"upwards and back":         {access{Write: []string{"a/../a"}}, access{}, `cannot lead out`},
		"dots in a name":           {access{Read: []string{"..a/b.."}}, access{Read: []string{"..a/b.."}, Write: []string{}}, ""},
		"a NUL":                    {access{Read: []string{"a\x00b"}}, access{}, `read[0] is "a\x00b": paths are UTF-8 without a NUL character`},
		"no UTF-8":                 {access{Read: []string{"\xff"}}, access{}, "paths are UTF-8"},
		"an empty list":            {access{Read: []string{"a"}, Write: []string{}}, access{}, "write is an empty list; leave it out, or name a path"},
		"another session's folder": {access{Read: []string{"./.sessions/sess_1"}}, access{}, `read[0] is "./.sessions/sess_1": .sessions is reserved`},
		"too many paths":           {access{Write: make([]string, 101)}, access{}, "write has 101 paths, the maximum is 100"},
		"both lists, at one":       {access{Read: []string{"/a"}, Write: []string{"/b"}}, access{}, "read[0]"},
	} {
		got, err := c.asked.Checked()
		if c.err != "" {
			require.ErrorContains(t, err, c.err, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, c.want, got, name)
	}
}
