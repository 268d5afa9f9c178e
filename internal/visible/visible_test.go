package visible_test

import (
	"encoding/json"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"sluice/internal/visible"
)

func TestText(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                               "",
		"plain, ünïcode, 漢字\n\tand tabs": "plain, ünïcode, 漢字\n\tand tabs",
		"rm \u202egpj.exe":               `rm \u202egpj.exe`,
		"a\u2066b\u2069c":                `a\u2066b\u2069c`,
		"pay\u200bpal\u00ad\ufeff":       `pay\u200bpal\u00ad\ufeff`,
		"tag\U000e0041\U000e007f":        `tag\U000e0041\U000e007f`,
		"\x1b[2Jgone\r\x00\x7f\u009b1m":  `\u001b[2Jgone\u000d\u0000\u007f\u009b1m`,
		"a\u2028b\u2029c\u0085d":         `a\u2028b\u2029c\u0085d`,
		"a\u00a0b\u3000c\u2800d\u3164e":  "a\u00a0b\u3000c" + `\u2800d\u3164e`,
		"bytes \xff\xfe":                 `bytes \xff\xfe`,
		"real \ufffd":                    "real \ufffd",
		"👩\u200d💻 ❤\ufe0f 1\ufe0f\u20e3 👍\U0001f3fd\u200d♂\ufe0f": "👩\u200d💻 ❤\ufe0f 1\ufe0f\u20e3 👍\U0001f3fd\u200d♂\ufe0f",
		"a\u200db":                 `a\u200db`,
		"😀\U000e0100\U000e0101":    `😀\U000e0100\U000e0101`,
		"x\ufe0f😀\ufe01":           `x\ufe0f😀\ufe01`,
		"own use \ue000\U000f0000": `own use \ue000\U000f0000`,
	} {
		require.Equal(t, want, visible.Text(in), "%q", in)
	}
	require.Equal(t, `one line and two \u001b`, visible.Line("one\nline\tand\r\ntwo \x1b"))
}

// What is shown has nothing hidden in it, and a JSON text still means the same.
func FuzzNothingStaysHidden(f *testing.F) {
	f.Add("a\u202eb\U000e0041\x1b")
	f.Add("👩\u200d💻\u200d\xff")
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range visible.Line(s) {
			if unicode.In(r, unicode.Cc, unicode.Bidi_Control, unicode.Zl, unicode.Zp) || r >= 0xe0000 && r <= 0xe0fff {
				t.Fatalf("%U is there: %q", r, s)
			}
		}
		require.True(t, utf8.ValidString(visible.Text(s)))
		if !utf8.ValidString(s) {
			return
		}
		plain, err := json.Marshal(s)
		require.NoError(t, err)
		var back string
		require.NoError(t, json.Unmarshal([]byte(visible.JSON(string(plain))), &back))
		require.Equal(t, s, back)
	})
}
