package approvals

import (
	"encoding/json"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"sluice/internal/visible"
	"sluice/router/ledger"
)

// hidden is text that shows as something else than it is: turned round, without width, behind an emoji, in a terminal.
const hidden = "rm\u200b a\u202egpj.exe\u2069 ok\U000e0072\U000e006d \x1b[2K\u0085"

// Deciders see everything that they decide about, in each part of a question.
func TestQuestionsHideNothing(t *testing.T) {
	t.Parallel()
	args, err := json.Marshal(map[string]string{"command": hidden})
	require.NoError(t, err)
	asked := time.Unix(0, 0)
	p := ledger.Approval{ID: "apr_1", Tool: "exec" + hidden, Args: args, Why: "the file " + hidden, Created: asked, Expires: asked.Add(time.Minute)}
	for name, text := range map[string]string{
		"a call":          questionText(p),
		"no JSON":         questionText(ledger.Approval{ID: p.ID, Tool: "exec", Args: json.RawMessage(hidden)}),
		"somebody's name": visible.CodeSpan(hidden),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, r := range text {
				require.False(t, r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf), "%U in %q", r, text)
			}
			if name != "somebody's name" {
				require.Contains(t, text, "\n")
			}
		})
	}
	require.Contains(t, questionText(p), `a\u202egpj.exe\u2069 ok\U000e0072\U000e006d`)
}
