package slack_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters"
	"sluice/adapters/slack/slacktest"
	"sluice/sessions"
)

func TestReadThread(t *testing.T) {
	t.Parallel()
	s := newSetup(t, slacktest.Options{}, nil)
	line := func(thread, text string) string {
		return s.srv.Write(slacktest.Line{Channel: "C0GENERAL", Thread: thread, User: slacktest.Person(1), Text: text})
	}
	root := line("", "the port is 9999")
	line("", "elsewhere")
	for n := range 250 {
		line(root, fmt.Sprint("reply ", n))
	}
	asked := line(root, "what port?")
	line(root, "later")
	route := sessions.Route{Channel: "slack", Conversation: "C0GENERAL", Thread: sessions.ThreadID(root)}
	said, err := s.adapter.ReadThread(t.Context(), route, sessions.PlatformMessageID(asked), 5)
	require.NoError(t, err)
	var texts []string
	for _, m := range said {
		texts = append(texts, m.Text)
		require.EqualValues(t, slacktest.Person(1), m.From.ID)
	}
	require.Equal(t, []string{"the port is 9999", "reply 246", "reply 247", "reply 248", "reply 249"}, texts)
	require.EqualValues(t, root, said[0].ID)

	s.srv.Inject(slacktest.Code("missing_scope").On("conversations.replies"))
	_, err = s.adapter.ReadThread(t.Context(), route, sessions.PlatformMessageID(asked), 5)
	require.Equal(t, adapters.Permanent, adapters.AsFailure(err).Kind)
	require.Empty(t, s.srv.Violations())
}

// However long a thread is and however unevenly it was written, the newest messages are found, in few calls.
func TestReadThreadFindsTheNewestOfMany(t *testing.T) {
	t.Parallel()
	const replies, limit = 3000, 50
	for name, pause := range map[string]func(n int) time.Duration{
		"even": func(int) time.Duration { return time.Minute },
		"all at once at the end": func(n int) time.Duration {
			return map[bool]time.Duration{true: 30 * 24 * time.Hour, false: time.Millisecond}[n == 10]
		},
		"all at once at the start": func(n int) time.Duration {
			return map[bool]time.Duration{true: time.Millisecond, false: 24 * time.Hour}[n < replies-20]
		},
		"slower and slower": func(n int) time.Duration { return time.Duration(n) * time.Second },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, slacktest.Options{}, nil)
			at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			line := func(thread, text string) string {
				return s.srv.Write(slacktest.Line{Channel: "C0GENERAL", Thread: thread, User: slacktest.Person(1), Text: text, At: at})
			}
			root := line("", "the port is 9999")
			for n := range replies {
				at = at.Add(pause(n))
				line(root, fmt.Sprint("reply ", n))
			}
			at = at.Add(time.Second)
			asked := line(root, "what port?")
			route := sessions.Route{Channel: "slack", Conversation: "C0GENERAL", Thread: sessions.ThreadID(root)}
			said, err := s.adapter.ReadThread(t.Context(), route, sessions.PlatformMessageID(asked), limit)
			require.NoError(t, err)
			require.Equal(t, "the port is 9999", said[0].Text)
			require.LessOrEqual(t, len(said), limit)
			require.GreaterOrEqual(t, len(said), 20)
			for i, m := range said[1:] {
				require.Equal(t, fmt.Sprint("reply ", replies-len(said)+1+i), m.Text)
			}
			require.LessOrEqual(t, s.srv.Calls("conversations.replies"), 20)
			require.Empty(t, s.srv.Violations())
		})
	}
}
