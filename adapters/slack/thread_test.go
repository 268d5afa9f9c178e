package slack_test

import (
	"fmt"
	"testing"

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
