package work

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/sessions"
)

func TestVerboseText(t *testing.T) {
	t.Parallel()
	call, done := sessions.Event{Type: sessions.EventToolCall, Tool: "t"}, sessions.Event{Type: sessions.EventToolDone, Tool: "t"}
	failed := done
	failed.Failed = true
	for _, c := range []struct {
		level sessions.VerboseLevel
		e     sessions.Event
		want  string
	}{
		{"", call, ""},
		{sessions.VerboseOn, call, "🔧 `t`"},
		{sessions.VerboseOn, done, ""},
		{sessions.VerboseOn, failed, ""},
		{sessions.VerboseFull, call, "🔧 `t`"},
		{sessions.VerboseFull, done, "🔧 `t` done"},
		{sessions.VerboseFull, failed, "🔧 `t` failed"},
		{sessions.VerboseFull, sessions.Event{Type: sessions.EventDelta}, ""},
	} {
		require.Equal(t, c.want, verboseText(c.level, c.e))
	}
}
