package outbound

import (
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"sluice/router/ledger"
	"sluice/sessions"
)

// hidden is text that shows as something else than it is: turned round, without width, behind an emoji, in a terminal.
const hidden = "rm\u200b a\u202egpj.exe\u2069 ok\U000e0072\U000e006d \x1b[2K\u0085"

// Deciders see everything that they decide about, in each part of a question.
func TestQuestionsHideNothing(t *testing.T) {
	t.Parallel()
	asked := time.Unix(0, 0)
	p := ledger.Approval{ID: "apr_1", Why: "the file " + hidden, Created: asked, Expires: asked.Add(time.Minute)}
	d := ledger.Delivery{Route: sessions.Route{Channel: "slack", Conversation: "C" + hidden}}
	for name, text := range map[string]string{
		"a message":         heldQuestion(d, p, Shown(p.ID, hidden)),
		"a cut text":        Shown(p.ID, string(make([]byte, questionMax))),
		"a file of several": Shown(p.ID, "one\n\ttwo\r\nthree"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, r := range text {
				require.False(t, r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Cf), "%U in %q", r, text)
			}
			require.Contains(t, text, "\n")
		})
	}
	require.Contains(t, heldQuestion(d, p, ""), `a\u202egpj.exe\u2069 ok\U000e0072\U000e006d`)
}

// A question says in words how long it can be answered, and what silence means.
func TestSilenceMeans(t *testing.T) {
	t.Parallel()
	for want, p := range map[string]ledger.Approval{
		"No answer within 10 minutes counts as a no.": {Expires: noon.Add(10 * time.Minute)},
		"No answer within 1 hour counts as a yes.":    {Expires: noon.Add(time.Hour), Terms: sessions.Terms{AllowOnTimeout: true}},
		"No answer within 90 minutes counts as a no.": {Expires: noon.Add(90 * time.Minute)},
		"No answer within 61 seconds counts as a no.": {Expires: noon.Add(61 * time.Second)},
		"No answer within 45 seconds counts as a no.": {Expires: noon.Add(45*time.Second + time.Millisecond)},
		"No answer within 0s counts as a no.":         {Expires: noon},
	} {
		p.Created = noon
		require.Equal(t, want, SilenceMeans(p))
	}
}
