package message_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/sessions/message"
)

func TestSilence(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]string{
		"": "", " \n": "", "NO_REPLY": "", " NO_REPLY\n": "", "REPLY_SKIP": "", "ANNOUNCE_SKIP\t": "",
		" hello ": "hello", "NO_REPLY.": "NO_REPLY.", "no_reply": "no_reply", "say REPLY_SKIP": "say REPLY_SKIP", "NO_REPLY REPLY_SKIP": "NO_REPLY REPLY_SKIP",
	} {
		require.Equal(t, want, message.VisibleText(answer), "%q", answer)
		require.Equal(t, want == "", message.Silent(answer), "%q", answer)
	}
}

// What is held back is a beginning of silence alone, and all of what is something else comes out.
func TestHush(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pieces []string
		shown  []string // after each piece
		end    string
	}{
		"silence":               {[]string{"\n REPLY", "_SKIP", " "}, []string{"", "", ""}, ""},
		"silence by itself":     {[]string{"NO_REPLY"}, []string{""}, ""},
		"an answer":             {[]string{"No", ", thanks"}, []string{"No", ", thanks"}, ""},
		"it becomes an answer":  {[]string{"NO", "_REPLY", " is a word"}, []string{"", "", "NO_REPLY is a word"}, ""},
		"as short as a silence": {[]string{"NO"}, []string{""}, "NO"},
		"other spaces":          {[]string{"ANNOUNCE ", "_SKIP"}, []string{"", "ANNOUNCE _SKIP"}, ""},
	} {
		var h message.SilenceFilter
		for i, p := range c.pieces {
			require.Equal(t, c.shown[i], h.Add(p), "%s, piece %d", name, i)
		}
		require.Equal(t, c.end, h.End(), name)
		require.Equal(t, "hi", h.Add("hi"), "%s: the next answer", name)
	}
}
