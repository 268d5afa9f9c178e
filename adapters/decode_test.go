package adapters_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
)

func TestDecodeReadsWhatItCan(t *testing.T) {
	t.Parallel()
	type inner struct {
		Size int `json:"size"`
	}
	type outer struct {
		ID    string  `json:"id"`
		Inner *inner  `json:"inner"`
		List  []inner `json:"list"`
		Last  string  `json:"last"`
	}
	for name, c := range map[string]struct {
		raw, unread string
		want        outer
		fails       bool
	}{
		"all":             {raw: `{"id":"1","last":"x","unknown":[{}]}`, want: outer{ID: "1", Last: "x"}},
		"a wrong field":   {raw: `{"id":1,"last":"x"}`, unread: "id", want: outer{Last: "x"}},
		"inside":          {raw: `{"inner":{"size":"big"},"last":"x"}`, unread: "inner.size", want: outer{Inner: &inner{}, Last: "x"}},
		"in a list":       {raw: `{"list":[{"size":1},{"size":[]},{"size":3}],"last":"x"}`, unread: "list.size", want: outer{List: []inner{{1}, {}, {3}}, Last: "x"}},
		"an odd element":  {raw: `{"list":[5,{"size":3}],"last":"x"}`, unread: "list", want: outer{List: []inner{{}, {3}}, Last: "x"}},
		"too large":       {raw: `{"inner":{"size":1e400},"last":"x"}`, unread: "inner.size", want: outer{Inner: &inner{}, Last: "x"}},
		"nothing of it":   {raw: `[1]`, fails: true},
		"no JSON":         {raw: `{"id":`, fails: true},
		"a text":          {raw: `"x"`, fails: true},
		"null is nothing": {raw: `null`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got outer
			unread, err := adapters.Decode([]byte(c.raw), &got)
			if c.fails {
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.unread, unread)
			require.Equal(t, c.want, got)
		})
	}
}

func TestDecodeReadsAListWithAnOddElement(t *testing.T) {
	t.Parallel()
	var got []struct {
		ID string `json:"id"`
	}
	unread, err := adapters.Decode([]byte(`[{"id":"1"},7,{"id":"3"}]`), &got)
	require.NoError(t, err)
	require.NotEmpty(t, unread)
	require.Len(t, got, 3)
	require.Equal(t, "3", got[2].ID)
}
