package router

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/policy"
	"sluice/policy/flow"
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
		"a text that is longer":              {Proactive{Text: strings.Repeat("x", 101)}, "text: is 101 bytes long, the most is 100"},
		"nothing":                            {Proactive{Text: " "}, "text: is empty: say"},
		"buttons without a text":             {Proactive{Buttons: button("a", "b")}, "text: is empty: buttons"},
		"a file without a text":              {Proactive{Files: many(1)}, ""},
		"a stored file without a text":       {Proactive{Media: []sessions.MediaID{"med_1"}}, ""},
		"as many buttons as may be":          {Proactive{Text: "x", Buttons: slicesOf(button("a", "b")[0], 5)}, ""},
		"one more":                           {Proactive{Text: "x", Buttons: slicesOf(button("a", "b")[0], 6)}, "buttons: are 6, the most is 5"},
		"a label as long as it may be":       {Proactive{Text: "x", Buttons: button(strings.Repeat("ü", 40), "b")}, ""},
		"a longer one":                       {Proactive{Text: "x", Buttons: button(strings.Repeat("ü", 41), "b")}, "the label has 41 characters"},
		"a value as long as it may be":       {Proactive{Text: "x", Buttons: button("a", strings.Repeat("b", 60))}, ""},
		"one byte more":                      {Proactive{Text: "x", Buttons: button("a", strings.Repeat("b", 61))}, "the value has 61 bytes"},
		"a button without a label":           {Proactive{Text: "x", Buttons: button(" ", "b")}, "want a label and a value"},
		"a button without a value":           {Proactive{Text: "x", Buttons: button("a", "")}, "want a label and a value"},
		"a value of two lines":               {Proactive{Text: "x", Buttons: button("a", "b\nc")}, "want one line"},
		"a label that is broken UTF-8":       {Proactive{Text: "x", Buttons: button("a\xff", "b")}, "want one line of valid UTF-8"},
		"as many files as may be":            {Proactive{Files: many(8), Media: make([]sessions.MediaID, 2)}, ""},
		"one file more":                      {Proactive{Files: many(9), Media: make([]sessions.MediaID, 2)}, "files: are 11, the most is 10"},
		"a name as long as it may be":        {Proactive{Files: []NewFile{file(strings.Repeat("n", 255), 1)}}, ""},
		"a longer name":                      {Proactive{Files: []NewFile{file(strings.Repeat("n", 256), 1)}}, "files[0]: want a name of at most 255"},
		"files as large as they may be":      {Proactive{Files: []NewFile{file("a", 10), file("b", 10)}}, ""},
		"a larger file":                      {Proactive{Files: []NewFile{file("a", 1), file("b", 11)}}, "files[1]: is 11 bytes large"},
		"files that are too large together":  {Proactive{Files: []NewFile{file("a", 10), file("b", 10), file("c", 1)}}, "files[2]: the files are 21 bytes large together, the most is 20"},
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

// oneFile is a platform with one file.
type oneFile struct {
	content []byte
	err     error // of a read
}

func (f oneFile) Fetch(context.Context, sessions.Attachment) (io.ReadCloser, error) {
	if f.content == nil {
		return nil, errors.New("no such file")
	}
	return io.NopCloser(io.MultiReader(bytes.NewReader(f.content), failingReader{f.err})), nil
}

type failingReader struct{ err error }

func (r failingReader) Read([]byte) (int, error) {
	if r.err == nil {
		return 0, io.EOF
	}
	return 0, r.err
}

func TestDownload(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection reset")
	for name, c := range map[string]struct {
		said    int64
		content []byte
		read    error
		err     error
	}{
		"as large as it may be":         {10, make([]byte, 10), nil, nil},
		"of an unknown size":            {0, make([]byte, 10), nil, nil},
		"said to be larger":             {11, make([]byte, 10), nil, errTooLarge},
		"larger than it was said to be": {1, make([]byte, 11), nil, errTooLarge},
		"that breaks off":               {3, make([]byte, 2), broken, broken},
	} {
		content, err := source{oneFile{c.content, c.read}, 10, &fileRoom{}}.download(t.Context(), sessions.Attachment{Size: c.said})
		if c.err != nil {
			require.ErrorIs(t, err, c.err, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, c.content, content, name)
	}
	_, err := source{oneFile{}, 10, &fileRoom{}}.download(t.Context(), sessions.Attachment{})
	require.ErrorContains(t, err, "fetch attachment: no such file")
}

// What a model is shown of a file hangs on its type and its size.
func TestWhatIsShownOfAFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		at      sessions.Attachment
		content []byte
		note    string
		text    string
	}{
		"a picture":                 {sessions.Attachment{MIME: "image/png", Media: "med_1", Size: 3}, make([]byte, 3), "the picture is not shown to you", ""},
		"a picture that is large":   {sessions.Attachment{MIME: "image/png", Media: "med_1", Size: sessions.PictureMost + 1}, make([]byte, sessions.PictureMost+1), "too large to be shown", ""},
		"an odd picture":            {sessions.Attachment{MIME: "image/x-odd", Media: "med_1", Size: 3}, make([]byte, 3), "can't be shown", ""},
		"a text":                    {sessions.Attachment{MIME: "text/plain", Name: "a.txt"}, []byte("a\x00b"), "stands in the message", "[Text of the file a.txt]\nab"},
		"a text without a name":     {sessions.Attachment{MIME: "application/json"}, []byte("{}"), "stands in the message", "[Text of the file without a name]\n{}"},
		"a text as long as may be":  {sessions.Attachment{MIME: "text/plain", Name: "a"}, bytes.Repeat([]byte("x"), textMost), "stands in the message", "[Text of the file a]\n" + strings.Repeat("x", textMost)},
		"a longer text":             {sessions.Attachment{MIME: "text/plain", Name: "a"}, bytes.Repeat([]byte("x"), textMost+1), "too long to be read", ""},
		"a text that is no UTF-8":   {sessions.Attachment{MIME: "text/plain"}, []byte("\xff"), "can't be shown", ""},
		"something else":            {sessions.Attachment{MIME: "application/zip"}, []byte("PK"), "can't be shown", ""},
		"something else, and large": {sessions.Attachment{MIME: "application/zip"}, make([]byte, textMost+1), "can't be shown", ""},
	} {
		var got fetched
		got.show(&c.at, c.content)
		require.Contains(t, c.at.Note, c.note, name)
		if c.text == "" {
			require.Empty(t, got.texts, name)
			continue
		}
		require.Equal(t, []string{c.text}, got.texts, name)
	}
}

func TestTypeOfAFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		at      sessions.Attachment
		content string
		want    string
	}{
		"what a picture is says its content":  {sessions.Attachment{MIME: "text/plain", Name: "a.txt"}, "\x89PNG\r\n\x1a\n", "image/png"},
		"what the platform says":              {sessions.Attachment{MIME: "text/csv; charset=utf-8", Name: "a.json"}, "a,b", "text/csv"},
		"a picture that is none goes by name": {sessions.Attachment{MIME: "image/png", Name: "a.CSV"}, "a,b", "text/csv"},
		"a type that is none goes by name":    {sessions.Attachment{MIME: "a\r\nb", Name: "a.md"}, "a", "text/plain"},
		"a log":                               {sessions.Attachment{Name: "a.log"}, "a", "text/plain"},
		"a list":                              {sessions.Attachment{Name: "a.json"}, "[]", "application/json"},
		"a name that says nothing":            {sessions.Attachment{Name: "a"}, "%PDF-1.4", "application/pdf"},
	} {
		require.Equal(t, c.want, mimeOf(c.at, []byte(c.content)), name)
	}
	for mime, want := range map[string]bool{"text/plain": true, "application/json": true, "application/pdf": false, "image/png": false} {
		require.Equal(t, want, isText(mime), mime)
	}
}

// The cache keeps the sessions that were used last, each once, up to its limit.
func TestSessionCache(t *testing.T) {
	t.Parallel()
	c := newSessionCache(2)
	one, two := sessions.NewSession(nil, sessions.Record{ID: "1"}, time.Now), sessions.NewSession(nil, sessions.Record{ID: "2"}, time.Now)
	c.put("1", one)
	c.put("2", two)
	c.put("1", one)
	c.put("1", one)
	require.Equal(t, 2, c.order.Len(), "each is kept once")
	got, ok := c.get("2")
	require.True(t, ok)
	require.Same(t, two, got)
	c.put("3", sessions.NewSession(nil, sessions.Record{ID: "3"}, time.Now))
	_, ok = c.get("1")
	require.False(t, ok, "it was used longest ago")
	_, ok = c.get("2")
	require.True(t, ok, "a look is a use")
	require.Len(t, c.byID, 2)
	c.drop(func(r sessions.Record) bool { return r.ID == "2" })
	_, ok = c.get("2")
	require.False(t, ok)
	_, ok = c.get("3")
	require.True(t, ok)
}

// Only the newest branches are listed, each with its number.
func TestListOfBranches(t *testing.T) {
	t.Parallel()
	list := func(n int) string {
		var all []branch
		for i := range n {
			said := flow.NewText(fmt.Sprint("q", i+1), flow.Bottom())
			all = append(all, branch{question: said, answer: flow.NewText("", flow.Bottom()), selected: i == n-1})
		}
		return listBranches(policy.NewQuotation(flow.Public), all)
	}
	require.Contains(t, list(0), "no other branch")
	require.Contains(t, list(1), "no other branch")
	two := list(2)
	require.Contains(t, two, "\n1. “q1” → “no answer”\n2. “q2” → “no answer” (we are here)")
	require.NotContains(t, two, "“q1” → “no answer” (we")
	require.Equal(t, branchesMost, strings.Count(list(branchesMost), "→"))
	most := list(branchesMost + 1)
	require.Equal(t, branchesMost, strings.Count(most, "→"))
	require.NotContains(t, most, "\n1. ")
	require.Contains(t, most, "\n2. “q2”")
}

func TestNumberUpTo(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"1": true, "7": true, "0": false, "8": false, "-1": false, "x": false, "": false} {
		_, ok := numberUpTo(7, text)
		require.Equal(t, want, ok, text)
	}
}

// Waits double up to their bound.
func TestWaits(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]time.Duration{1: time.Second, 2: 2 * time.Second, 9: 256 * time.Second, 10: 5 * time.Minute, 1000: 5 * time.Minute} {
		require.Equal(t, want, retryWait(n), n)
	}
}

// Text waits for the next time at which it may be published, and no longer.
func TestPiecesAreDue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		began := time.Now()
		p := pieces{publish: func(e sessions.Event) {
			seen = append(seen, fmt.Sprint(time.Since(began).Milliseconds(), " ", e.Type, " ", e.Text))
		}}
		say := func(kind sessions.EventType, text string, then time.Duration) {
			p.add(sessions.Event{Type: kind, Text: text})
			time.Sleep(then)
			synctest.Wait()
		}
		say(sessions.EventDelta, "a", 10*time.Millisecond)
		say(sessions.EventDelta, "b", 10*time.Millisecond)
		say(sessions.EventDelta, "c", 85*time.Millisecond) // at 50 it is due, and at 100 nothing is
		say(sessions.EventDelta, "d", 10*time.Millisecond)
		say(sessions.EventThinking, "e", 10*time.Millisecond)
		say(sessions.EventToolCall, "", 10*time.Millisecond)
		say(sessions.EventDelta, "f", time.Millisecond)
		p.close()
		say(sessions.EventDelta, "late", time.Second)
		require.Equal(t, []string{
			"0 text.delta a", "50 text.delta bc", "105 text.delta d", "125 thinking.delta e", "125 tool.call ", "136 text.delta f",
		}, seen)
	})
}
