package markdown_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/markdown"
)

func TestEscapedTextsAreShownAsTheyAre(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"plain", "*a* _b_ `c` ~~d~~", "# no heading", "- no list\n1. none", "> no quote", "[no](http://link)", "<b>no tag</b> &amp;", "```\nno code\n```", "a\nb", `back\slash`, "a | b\n--|--", "!", "===",
	} {
		require.Equal(t, text, markdown.Plain(markdown.Escape(text)))
	}
}
