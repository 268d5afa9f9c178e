package cli

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFrames(t *testing.T) {
	t.Parallel()
	const stream = ": a comment\n\nid: 7\nevent: run.done\ndata: {\"a\":\ndata: 1}\nretry: 5\n\nevent:x\ndata:y\n\ndata: never ended\n"
	var got []frame
	require.NoError(t, frames(strings.NewReader(stream), func(f frame) error { got = append(got, f); return nil }))
	require.Equal(t, []frame{{"7", "run.done", "{\"a\":\n1}"}, {"", "x", "y"}}, got)

	stop := errors.New("stop")
	require.ErrorIs(t, frames(strings.NewReader(stream), func(frame) error { return stop }), stop)
	require.ErrorContains(t, frames(strings.NewReader(strings.Repeat("x", maxFrameBytes+1)), nil), "too long")
}

func FuzzFrames(f *testing.F) {
	f.Add("id: 1\nevent: a\ndata: b\n\n")
	f.Add("data\n\n\n:\r\n\x00")
	f.Fuzz(func(t *testing.T, stream string) {
		require.NoError(t, frames(strings.NewReader(stream), func(f frame) error {
			require.NotContains(t, f.event+f.id, "\n")
			return nil
		}))
	})
}

func TestWhatAChatSaysCannotSteerTheTerminal(t *testing.T) {
	t.Parallel()
	require.Equal(t, `a\u001b [31mb c\u202e\u200b`, clean("a\x1b [31mb\nc\u202e\u200b"))
	require.Equal(t, "a\n\tb"+`\u001b\u000d\u202e`, safe("a\n\tb\x1b\r\u202e"))
	require.Equal(t, "👩\u200d", piece("👩\u200d"), "an emoji that is cut is not shown as numbers")
	require.Equal(t, "\u200d💻"+`\u200b`, piece("\u200d💻\u200b"))
	require.Equal(t, strings.Repeat("ä", 59)+"…", short(strings.Repeat("ä", 99)))
}
