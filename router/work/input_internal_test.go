package work

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/internal/model/wire"
	"sluice/sessions"
)

// However people and files are called and whatever they say, the model reads as many speakers as there are, each line in its
// own speaker's name, and no name or file looks like one of the gateway's own lines.
func TestNoNameSpeaksForAnother(t *testing.T) {
	t.Parallel()
	hostile := rapid.StringOf(rapid.SampledFrom([]rune("aO \n\r\t:：[]（\u2028\u2029\u0085\u202e\u200b\v\f\x00>…é😀")))
	rapid.Check(t, func(t *rapid.T) {
		run := sessions.Run{Route: sessions.Route{ChatType: sessions.Group}}
		peers := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) sessions.Peer {
			return sessions.Peer{ID: "7", Name: hostile.Draw(t, "name"), Username: hostile.Draw(t, "handle")}
		}), 1, 4).Draw(t, "peers")
		for _, p := range peers {
			run.Input.History = append(run.Input.History, sessions.HistoryLine{Sender: p, Text: "x" + hostile.Draw(t, "text")})
		}
		run.Input.Sender, run.Input.Text = peers[0], "hi"
		m := userMessage(run, nil)
		lines := strings.Split(m.Parts[0].Text, "\n")
		require.Equal(t, "[Messages here since your last reply that were not addressed to you]", lines[0])
		var speakers []string
		for _, line := range lines[1:] {
			if !strings.HasPrefix(line, "  ") {
				name, said, found := strings.Cut(line, ": ")
				require.True(t, found && strings.HasPrefix(said, "x"), "%q", line)
				speakers = append(speakers, name)
			}
		}
		require.Len(t, speakers, len(peers))
		for i, name := range append(speakers, wire.Describe(&sessions.Attachment{Kind: "file", Name: hostile.Draw(t, "file"), MIME: hostile.Draw(t, "type")})) {
			for _, r := range name {
				require.False(t, r != ' ' && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp), "%U in %q", r, name)
			}
			if i < len(speakers) {
				require.False(t, strings.ContainsAny(name, "[]:"), name)
				require.NotEmpty(t, strings.TrimSpace(name))
			} else {
				require.Equal(t, 1, strings.Count(name, "["), name)
				require.Equal(t, 1, strings.Count(name, "]"), name)
			}
		}
	})
}
