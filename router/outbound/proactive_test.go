package outbound

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/router/place"
	"sluice/sessions"
)

// What is exactly as large as it may be is taken, and one more of it is refused.
func TestLimitsOfAMessage(t *testing.T) {
	t.Parallel()
	settings := &place.Settings{MaxTextBytes: 100, MaxMediaBytes: 10}
	file := func(name string, size int) NewFile { return NewFile{Name: name, Content: make([]byte, size)} }
	button := func(label, value string) []adapters.Button { return []adapters.Button{{Label: label, Value: value}} }
	many := func(n int) (files []NewFile) {
		for range n {
			files = append(files, file("f", 0))
		}
		return files
	}
	for name, c := range map[string]struct {
		message Proactive
		want    string // empty: it is taken
	}{
		"a text as long as it may be":        {Proactive{Text: strings.Repeat("x", 100)}, ""},
		"a text that is longer":              {Proactive{Text: strings.Repeat("x", 101)}, "text: is 101 bytes long, the maximum is 100"},
		"nothing":                            {Proactive{Text: " "}, "text: is empty: give"},
		"buttons without a text":             {Proactive{Buttons: button("a", "b")}, "text: is empty: buttons"},
		"a file without a text":              {Proactive{Files: many(1)}, ""},
		"a stored file without a text":       {Proactive{Media: []sessions.MediaID{"med_1"}}, ""},
		"as many buttons as may be":          {Proactive{Text: "x", Buttons: slicesOf(button("a", "b")[0], 5)}, ""},
		"one more":                           {Proactive{Text: "x", Buttons: slicesOf(button("a", "b")[0], 6)}, "buttons: has 6 items, the maximum is 5"},
		"a label as long as it may be":       {Proactive{Text: "x", Buttons: button(strings.Repeat("ü", 40), "b")}, ""},
		"a longer one":                       {Proactive{Text: "x", Buttons: button(strings.Repeat("ü", 41), "b")}, "the label has 41 characters"},
		"a value as long as it may be":       {Proactive{Text: "x", Buttons: button("a", strings.Repeat("b", 60))}, ""},
		"one byte more":                      {Proactive{Text: "x", Buttons: button("a", strings.Repeat("b", 61))}, "the value has 61 bytes"},
		"a button without a label":           {Proactive{Text: "x", Buttons: button(" ", "b")}, "want a label and a value"},
		"a button without a value":           {Proactive{Text: "x", Buttons: button("a", "")}, "want a label and a value"},
		"a value of two lines":               {Proactive{Text: "x", Buttons: button("a", "b\nc")}, "want one line"},
		"a label that is broken UTF-8":       {Proactive{Text: "x", Buttons: button("a\xff", "b")}, "want one line of valid UTF-8"},
		"as many files as may be":            {Proactive{Files: many(8), Media: make([]sessions.MediaID, 2)}, ""},
		"one file more":                      {Proactive{Files: many(9), Media: make([]sessions.MediaID, 2)}, "files: has 11 items, the maximum is 10"},
		"a name as long as it may be":        {Proactive{Files: []NewFile{file(strings.Repeat("n", 255), 1)}}, ""},
		"a longer name":                      {Proactive{Files: []NewFile{file(strings.Repeat("n", 256), 1)}}, "files[0]: want a name of at most 255"},
		"files as large as they may be":      {Proactive{Files: []NewFile{file("a", 10), file("b", 10)}}, ""},
		"a larger file":                      {Proactive{Files: []NewFile{file("a", 1), file("b", 11)}}, "files[1]: has 11 bytes"},
		"files that are too large together":  {Proactive{Files: []NewFile{file("a", 10), file("b", 10), file("c", 1)}}, "files[2]: the files have 21 bytes together, the maximum is 20"},
		"a file of a type that is none":      {Proactive{Files: []NewFile{{Name: "a", MIME: "/"}}}, "files[0]: mime:"},
		"a wrong button and a wrong file":    {Proactive{Text: "x", Buttons: button("", ""), Files: []NewFile{file("", 1)}}, "files[0]: want a name"},
		"a second button that is wrong":      {Proactive{Text: "x", Buttons: append(button("a", "b"), button("", "")...)}, "buttons[1]: want a label"},
		"a name of which nothing is left":    {Proactive{Files: []NewFile{file("\x01/..", 1)}}, "files[0]: want a name"},
		"a name in folders of another world": {Proactive{Files: []NewFile{file(`C:\x\..\a`, 1)}}, ""},
	} {
		err := c.message.check(settings)
		if c.want == "" {
			require.NoError(t, err, name)
			continue
		}
		require.ErrorContains(t, err, c.want, name)
	}
	unbounded := Proactive{Text: strings.Repeat("x", 1000), Files: []NewFile{file("a", 1000)}}
	require.NoError(t, unbounded.check(&place.Settings{}), "what has no bound is not bounded")
}

func slicesOf[T any](one T, n int) (all []T) {
	for range n {
		all = append(all, one)
	}
	return all
}

func TestCleanName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"a.txt": "a.txt", `C:\tmp\a.txt`: "a.txt", "/etc/passwd": "passwd", "..": "", ".": "", "/": "", "": "",
		" a ": "a", "a\nb\x00\x7fc": "abc", "a\xffb": "ab", "ä\uFFFD.png": "ä.png", "a b": "a b", "x/..": "",
	} {
		require.Equal(t, want, cleanName(name), "%q", name)
	}
}
