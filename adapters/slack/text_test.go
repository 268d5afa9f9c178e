package slack_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/adapters/slack"
)

func TestPlainText(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"":                                 "",
		"a &lt; b &amp;&amp; c &gt; d":     "a < b && c > d",
		"&amp;lt; stays":                   "&lt; stays", // decoded once
		"&quot; and &#39; stay":            "&quot; and &#39; stay",
		"hi <@U1>":                         "hi @Ada",
		"hi <@U2|bob>":                     "hi @bob",
		"hi <@U2>":                         "hi @U2",
		"see <#C1>":                        "see #general",
		"see <#C2|dev>":                    "see #dev",
		"see <#C2>":                        "see #C2",
		"<!here> <!channel>":               "@here @channel",
		"<!subteam^S1|@ops>":               "@ops",
		"<!subteam^S1>":                    "@subteam",
		"<!date^1392734382^{date}|Feb 18>": "Feb 18",
		"<https://a.example/?x=1&amp;y=2>": "https://a.example/?x=1&y=2",
		"<https://a.example|the site>":     "the site (https://a.example)",
		"<http://a.example|a.example>":     "a.example",
		"<mailto:x@a.example|x@a.example>": "x@a.example",
		"*bold* _it_ `x`":                  "*bold* _it_ `x`",
		"left < open":                      "left < open",
		"bad \xff byte":                    "bad \uFFFD byte",
	} {
		got, mentioned := slack.Plain(raw, "UBOT")
		require.Equal(t, want, got, raw)
		require.False(t, mentioned, raw)
	}
}

func TestOwnMentionIsTakenOut(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		"<@UBOT>":                           "",
		"<@UBOT> hello":                     "hello",
		"<@UBOT|bot>, hello":                "hello",
		"hello <@UBOT>":                     "hello",
		"hello <@UBOT> there":               "hello there",
		"hello <@UBOT>, there":              "hello , there",
		"<@UBOT> <@UBOT>: you two":          "you two",
		"line\n<@UBOT> next":                "line\nnext",
		"<@U1> and <@UBOT>":                 "@Ada and",
		"nul \x00 is not a mention <@UBOT>": "nul  is not a mention",
	} {
		got, mentioned := slack.Plain(raw, "UBOT")
		require.Equal(t, want, got, raw)
		require.True(t, mentioned, raw)
	}
}

// What Slack's apps encode comes back as it was typed.
func TestPlainTextIsWhatWasTyped(t *testing.T) {
	t.Parallel()
	encode := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
	rapid.Check(t, func(t *rapid.T) {
		typed := strings.TrimSpace(strings.ReplaceAll(rapid.String().Draw(t, "typed"), "\x00", ""))
		got, mentioned := slack.Plain(encode.Replace(typed), "UBOT")
		require.Equal(t, strings.ToValidUTF8(typed, "\uFFFD"), got)
		require.False(t, mentioned)
	})
}

func FuzzPlain(f *testing.F) {
	for _, seed := range []string{"<@UBOT> <@U1> <#C1|x> <!here> <http://a|b> &lt;", "<<>>", "<|>", "<@", "<!date^|>", "\xff<\x00>"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		got, _ := slack.Plain(raw, "UBOT")
		require.True(t, utf8.ValidString(got))
		require.NotContains(t, got, "\x00")
	})
}

func TestEmojiGoBothWays(t *testing.T) {
	t.Parallel()
	for _, char := range []string{"👍", "👀", "✅", "❤️", "⏳", "🎉", "☑️"} {
		name := slack.EmojiName(char)
		require.NotEmpty(t, name, char)
		require.Equal(t, char, slack.EmojiOf(name))
	}
	require.Equal(t, "👍", slack.EmojiOf("thumbsup"))
	require.Equal(t, "👍", slack.EmojiOf("+1::skin-tone-3"))
	require.Equal(t, "party_parrot", slack.EmojiOf("party_parrot"), "a workspace's own")
	require.Equal(t, "heart", slack.EmojiName("❤"), "without the variant that asks for colour")
	require.Equal(t, "party_parrot", slack.EmojiName(":party_parrot:"))
	require.Empty(t, slack.EmojiName("🦤"), "no name known")
	require.Empty(t, slack.EmojiName(""))
}
