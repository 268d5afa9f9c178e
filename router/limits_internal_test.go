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

	"sluice/policy"
	"sluice/policy/flow"
	"sluice/router/room"
	"sluice/sessions"
)

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
		content, err := source{oneFile{c.content, c.read}, 10, &room.Room{}}.download(t.Context(), sessions.Attachment{Size: c.said})
		if c.err != nil {
			require.ErrorIs(t, err, c.err, name)
			continue
		}
		require.NoError(t, err, name)
		require.Equal(t, c.content, content, name)
	}
	_, err := source{oneFile{}, 10, &room.Room{}}.download(t.Context(), sessions.Attachment{})
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
