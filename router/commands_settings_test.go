package router_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"sluice/sessions"
)

// tell gives commands one after the other and returns what the last one was answered.
func (b *bundle) tell(who string, commands ...string) string {
	b.t.Helper()
	answer := ""
	for _, text := range commands {
		b.commands++
		answer = b.hear(in(who, "cmd-"+string(rune('a'+b.commands)), text)).Notice
		b.await(1)
	}
	return answer
}

func TestQueueCommand(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		who      string
		commands []string
		want     string
		mode     sessions.QueueMode
	}{
		"anyone sees it":       {"ann", []string{"/queue"}, "`followup` (as configured)", ""},
		"only an owner may":    {"ann", []string{"/queue steer"}, "Only an owner can", ""},
		"an owner sets it":     {"owner", []string{"/queue interrupt"}, "stops my current work", sessions.QueueInterrupt},
		"it is the session's":  {"owner", []string{"/queue STEER", "/queue"}, "`steer` (set for this session)", sessions.QueueSteer},
		"it is taken back":     {"owner", []string{"/queue steer", "/queue inherit"}, "follows the configuration", ""},
		"a mode that is none":  {"owner", []string{"/queue steer", "/queue fast"}, "Usage", sessions.QueueSteer},
		"a reset leaves it be": {"owner", []string{"/queue steer", "/new", "/queue"}, "`steer`", sessions.QueueSteer},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBundle(t)
				first := b.hear(in(tc.who, "0", "hi"))
				b.await(1)
				require.Contains(t, b.tell(tc.who, tc.commands...), tc.want)
				record, err := b.store.Session(t.Context(), first.Session)
				require.NoError(t, err)
				record, err = b.store.SessionByKey(t.Context(), record.Key)
				require.NoError(t, err)
				require.Equal(t, tc.mode, record.QueueMode)
			})
		})
	}
}
