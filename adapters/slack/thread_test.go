package slack_test

import (
	"fmt"
	"strconv"
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

// A thread of several pages is read to its end; one of more than 16 pages gives the newest messages of those.
func TestReadThreadOfManyPages(t *testing.T) {
	t.Parallel()
	const limit = 50
	for _, c := range []struct{ replies, last, calls int }{
		{replies: 3000, last: 2999, calls: 4},
		{replies: 16*999 + 100, last: 16*999 - 2, calls: 16}, // the first page has the root as well
	} {
		t.Run(strconv.Itoa(c.replies), func(t *testing.T) {
			t.Parallel()
			s := newSetup(t, slacktest.Options{}, nil)
			at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			line := func(thread, text string) string {
				at = at.Add(time.Second)
				return s.srv.Write(slacktest.Line{Channel: "C0GENERAL", Thread: thread, User: slacktest.Person(1), Text: text, At: at})
			}
			root := line("", "the port is 9999")
			for n := range c.replies {
				line(root, fmt.Sprint("reply ", n))
			}
			asked := line(root, "what port?")
			route := sessions.Route{Channel: "slack", Conversation: "C0GENERAL", Thread: sessions.ThreadID(root)}
			said, err := s.adapter.ReadThread(t.Context(), route, sessions.PlatformMessageID(asked), limit)
			require.NoError(t, err)
			require.Len(t, said, limit)
			require.Equal(t, "the port is 9999", said[0].Text)
			for i, m := range said[1:] {
				require.Equal(t, fmt.Sprint("reply ", c.last-len(said)+2+i), m.Text)
			}
			require.Equal(t, c.calls, s.srv.Calls("conversations.replies"))
			require.Empty(t, s.srv.Violations())
		})
	}
}
