package settings

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const before = `# yaml-language-server: $schema=docs/sluice.schema.json
gateway: { listen: 127.0.0.1:8080 } # here

# who owns it
owners: ["telegram:7"]

channels:
  telegram:
    # the bot of the house
    accounts:
      default: { token: ${TELEGRAM_TOKEN} }

    dmPolicy: pairing # people ask

models: { default: openai/gpt-5 }

# the end
`

// An edit changes its key. Comments, order, empty lines and everything else stay.
func TestEdits(t *testing.T) {
	t.Parallel()
	set := func(path, value string) Edit { return Edit{Path: path, Value: json.RawMessage(value)} }
	for name, c := range map[string]struct {
		edits []Edit
		want  map[string]string // a line, and what stands there instead; all others are the same
	}{
		"a value":          {[]Edit{set("channels.telegram.dmPolicy", `"open"`)}, map[string]string{"    dmPolicy: pairing # people ask\n": "    dmPolicy: open # people ask\n"}},
		"within braces":    {[]Edit{set("gateway.listen", `"0.0.0.0:9"`)}, map[string]string{"listen: 127.0.0.1:8080 }": "listen: 0.0.0.0:9 }"}},
		"a comma":          {[]Edit{set("models.default", `"a/b, c/d"`)}, map[string]string{"default: openai/gpt-5 }": `default: "a/b, c/d" }`}},
		"a reference":      {[]Edit{set("channels.telegram.accounts.default.token", `"${file:t}"`)}, map[string]string{"token: ${TELEGRAM_TOKEN} }": `token: "${file:t}" }`}},
		"a list":           {[]Edit{set("owners", `["telegram:7","slack:U1"]`)}, map[string]string{"owners: [\"telegram:7\"]\n": "owners:\n  - telegram:7\n  - slack:U1\n"}},
		"a new section":    {[]Edit{set("limits.historyKeep", `3`)}, map[string]string{"# the end\n": "# the end\nlimits:\n  historyKeep: 3\n"}},
		"a new key":        {[]Edit{set("gateway.publicURL", `"https://a.example"`)}, map[string]string{"gateway: { listen: 127.0.0.1:8080 } # here\n": "gateway: {listen: '127.0.0.1:8080', publicURL: 'https://a.example'} # here\n"}},
		"a key taken out":  {[]Edit{{Path: "owners", Remove: true}}, map[string]string{"owners: [\"telegram:7\"]\n": ""}},
		"the last of many": {[]Edit{{Path: "models.default", Remove: true}}, map[string]string{"models: { default: openai/gpt-5 }\n": ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := edited([]byte(before), c.edits)
			require.NoError(t, err)
			want := before
			for old, fresh := range c.want {
				require.Contains(t, want, old)
				want = strings.Replace(want, old, fresh, 1)
			}
			require.Equal(t, want, string(got))
		})
	}
	got, err := edited([]byte(before), []Edit{set("channels.discord.accounts.a b.token", `"x"`)})
	require.Error(t, err, string(got))
	got, err = edited([]byte(before), []Edit{set(`channels.discord.accounts["a.b"].token`, `"x"`)})
	require.NoError(t, err)
	require.Contains(t, string(got), "  discord:\n    accounts:\n      a.b:\n        token: x\n")
	require.Contains(t, string(got), "    # the bot of the house\n    accounts:\n      default: {token: '${TELEGRAM_TOKEN}'}\n")
	got, err = edited([]byte("# only words\n"), []Edit{set("models.default", `"offline/echo"`)})
	require.NoError(t, err)
	require.Equal(t, "# only words\nmodels:\n  default: offline/echo\n", string(got))
	got, err = edited([]byte(`{"models": {"default": "offline/echo"}}`), []Edit{set("models.default", `"offline/guide"`)})
	require.NoError(t, err)
	require.Equal(t, `{"models": {"default": "offline/guide"}}`, string(got)) //nolint:testifylint // byte for byte
	for _, bad := range []Edit{{Path: "", Remove: true}, {Path: "a..b", Remove: true}, {Path: "nothing", Remove: true}, {Path: "owners[5]", Value: json.RawMessage(`1`)}, {Path: "owners"}, {Path: "owners.x", Value: json.RawMessage(`1`)}} {
		_, err := edited([]byte(before), []Edit{bad})
		require.Error(t, err, bad.Path)
	}
}

// Secrets are found wherever they stand in a value, and however their path is written; references stay.
func TestSecretsInValues(t *testing.T) {
	t.Parallel()
	shapes := ShapesOf([]Pattern{{Path: "a.<name>.token", Kind: Hidden}, {Path: "hooks.<name>.secrets[]", Kind: Hidden}, {Path: "list[].token", Kind: Hidden}, {Path: "a.<name>.text", Kind: Text}})
	for path, value := range map[string]string{
		"a.x.token":           `"S"`,
		`["a"]["x.y"].token`:  `"S"`,
		"a":                   `{"x":{"token":"S","text":"shown"},"y":{"token":"${file:kept}"},"z":{"token":""}}`,
		"hooks.h.secrets":     `["S","${KEPT}"]`,
		"hooks.h.secrets[1]":  `"S"`,
		"list":                `[{"name":"shown","token":"S"},{"n":1.50}]`,
		"a.x.text":            `"shown"`,
		"nothing.of.the.kind": `"shown"`,
	} {
		got, err := decoded(json.RawMessage(value))
		require.NoError(t, err)
		var found []string
		got, err = shapes.Replace(path, got, func(_, secret string) (string, error) {
			found = append(found, secret)
			return "${file:it}", nil
		})
		require.NoError(t, err)
		raw, err := json.Marshal(got)
		require.NoError(t, err)
		require.JSONEq(t, strings.ReplaceAll(value, `"S"`, `"${file:it}"`), string(raw), path)
		require.Len(t, found, strings.Count(value, `"S"`), path)
	}
	of, ok := shapes.Find("a.x.text")
	require.True(t, ok)
	require.Equal(t, Text, of.Kind)
	_, ok = shapes.Find("a..x")
	require.False(t, ok)
}

// The file of a secret has a plain name, whatever the key is called, and those of one change differ.
func TestNamesOfSecretFiles(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 4, 26, 18, 3, 16, 0, time.UTC)
	for _, path := range []string{"a.token", `a["../../x"].token`, `a["/etc/x"].token`, `a["..\\x"].token`, `a["x\x00y"].token`, "a." + strings.Repeat("b", 300) + ".token", `["..."]`} {
		name := secretName(path, at)
		require.Regexp(t, `^[A-Za-z0-9-]*\.20260426T180316\.000000$`, name, path)
		require.Less(t, len(name), 130)
		require.True(t, ofSave.MatchString(name))
	}
	s := New(Gateway{Running: func() any { return &struct{}{} }}, filepath.Join(t.TempDir(), "sluice.yaml"), nil, t.TempDir(), func() time.Time { return at })
	var written []string
	for _, path := range []string{"a.b.token", `a["b"].token`, `a["b "].token`} {
		_, file, err := s.keepSecret(path, "of "+path, written)
		require.NoError(t, err)
		require.NotContains(t, written, file[0])
		written = append(written, file...)
	}
}
