package adaptertest

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
)

var sending = []subtest{
	{"a message has a receipt", receipt},
	{"a receipt with an impossible date can be stored", misdated},
	{"an answer refers to its question", answerRefers},
	{"characters of the markup arrive as themselves", literal},
	{"a plain text has no markup", plainText},
	{"the pieces of a long text lose nothing", splitText},
	{"typing shows", typing},
	{"the menu of commands is taken", setCommands},
}

func receipt(w *world) {
	first := w.send(out("dlv_1", w.Direct(), "hello **you**"))
	second := w.send(out("dlv_2", w.Direct(), "and again"))
	shown := w.shown(w.Direct(), 2)
	require.Equal(w.t, first.MessageID, shown[0].ID)
	require.Equal(w.t, second.MessageID, shown[1].ID)
	require.False(w.t, first.At.IsZero())
	require.Nil(w.t, first.Moved)
	require.Equal(w.t, "hello you", shown[0].Plain)
	require.Equal(w.t, "and again", shown[1].Plain)
}

// misdated: a receipt that can't be stored would block its conversation forever.
func misdated(w *world) {
	misdater, ok := w.Platform.(Misdater)
	w.needs(ok, "receipts of a remote side")
	want := misdater.Misdate()
	got := w.send(out("dlv_1", w.Direct(), "hello"))
	require.Equal(w.t, want.MessageID, got.MessageID)
	if want.At.IsZero() {
		require.WithinDuration(w.t, time.Now(), got.At, time.Minute)
	} else {
		require.WithinDuration(w.t, want.At, got.At, 0)
	}
	_, err := json.Marshal(got)
	require.NoError(w.t, err)
}

func answerRefers(w *world) {
	w.needs(!w.Group().IsZero() && w.limits.Replies, "answers to a message in groups")
	w.warm()
	said := w.Say(w.Group(), w.Person(1), w.Mention()+" who is there?")
	in := w.only(w.Group(), w.Person(1))
	w.send(out("dlv_1", in.Route, "it is me"))
	require.Equal(w.t, said.ID, w.shown(w.Group(), 1)[0].ReplyTo)
}

func literal(w *world) {
	const text = "if 1 < 2 && 3 > 2 then \"ok\" & done"
	w.send(out("dlv_1", w.Direct(), text))
	require.Equal(w.t, text, w.shown(w.Direct(), 1)[0].Plain)
}

func plainText(w *world) {
	w.needs(!w.limits.Rendered, "texts without markup")
	o := out("dlv_1", w.Direct(), "*not* _styled_ `x` ~y~ [a](b) <b> & @everyone")
	o.Plain = true
	w.send(o)
	require.Equal(w.t, o.Text, w.shown(w.Direct(), 1)[0].Plain)
}

// longText returns numbered words in prose, in a fence and in a list, and one word longer than a message.
func longText(most int) (text string, words []string) {
	var b strings.Builder
	add := func(format string) {
		word := fmt.Sprintf("w%06dx", len(words))
		words = append(words, word)
		fmt.Fprintf(&b, format, word)
	}
	for _, format := range []string{"%s & **more** <than> 😀 that ", "```go\n%s := 1 < 2\n```\n\n", "- item %s\n"} {
		for end := b.Len() + most; b.Len() < end; {
			add(format)
		}
		b.WriteString("\n\n")
	}
	b.WriteString("```\n")
	for end := b.Len() + 2*most; b.Len() < end; {
		add("%s\n")
	}
	b.WriteString("```\n\n" + strings.Repeat("z", most+1) + " ")
	add("%s")
	return b.String(), words
}

func splitText(w *world) {
	splitter := able[adapters.Splitter](w)
	text, words := longText(w.limits.Text)
	pieces := splitter.Split(text)
	require.Greater(w.t, len(pieces), 5)
	require.Equal(w.t, pieces, splitter.Split(text), "the same text gives the same pieces")
	for i, piece := range pieces {
		o := out("dlv_1", w.Direct(), piece)
		o.Part = i
		w.send(o)
	}
	var all strings.Builder
	for _, s := range w.shown(w.Direct(), len(pieces)) {
		all.WriteString(s.Plain + "\n")
	}
	rest := all.String()
	require.Equal(w.t, w.limits.Text+1, strings.Count(rest, "z"), "the long word's letters")
	for _, word := range words {
		at := strings.Index(rest, word)
		require.GreaterOrEqual(w.t, at, 0, "%s is lost, or not in its place", word)
		rest = rest[at+len(word):]
	}
}

func typing(w *world) {
	typer := able[adapters.Typer](w)
	require.NoError(w.t, typer.Typing(w.t.Context(), w.Direct()))
	require.Equal(w.t, 1, w.Typing(w.Direct()))
}

func setCommands(w *world) {
	setter := able[adapters.CommandSetter](w)
	commands := []adapters.Command{{Name: "status", Description: "How things stand"}, {Name: "new", Description: "Start a new session"}}
	for range 2 { // each start of the gateway sets them
		require.NoError(w.t, setter.SetCommands(w.t.Context(), commands))
	}
}
