package slack_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/adapters/slack"
	"sluice/adapters/slack/slacktest"
	"sluice/sessions"
)

func TestNamesAreBelievedForATime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		names := slack.NewNames(time.Now)
		asked := 0
		sure := func() (string, bool) { asked++; return "Ada", true }
		unsure := func() (string, bool) { asked++; return "U2", false }
		for range 3 {
			require.Equal(t, "Ada", names.Get("U1", sure))
			require.Equal(t, "U2", names.Get("U2", unsure))
		}
		require.Equal(t, 2, asked)
		time.Sleep(time.Minute)
		names.Get("U1", sure)
		names.Get("U2", unsure)
		require.Equal(t, 3, asked, "what was not told is asked again soon")
		time.Sleep(time.Hour)
		names.Get("U1", sure)
		require.Equal(t, 4, asked)
	})
}

func TestNamesAreBounded(t *testing.T) {
	t.Parallel()
	names := slack.NewNames(time.Now)
	for i := range 20_000 {
		names.Get("U"+strconv.Itoa(i), func() (string, bool) { return "x", true })
	}
	require.LessOrEqual(t, names.Known(), 4096)
}

// A text that mentions many people costs a bounded number of calls, which come one after the other.
func TestManyMentionsCostFewCalls(t *testing.T) {
	t.Parallel()
	s := newSetup(t, slacktest.Options{}, nil)
	var text strings.Builder
	for n := range 500 {
		fmt.Fprintf(&text, "<@U0NOBODY%d> <#C0NOWHERE%d> ", n, n)
	}
	root := s.srv.Write(slacktest.Line{Channel: "C0GENERAL", User: slacktest.Person(1), Text: "begin"})
	asked := s.srv.Write(slacktest.Line{Channel: "C0GENERAL", Thread: root, User: slacktest.Person(1), Text: text.String()})
	last := s.srv.Write(slacktest.Line{Channel: "C0GENERAL", Thread: root, User: slacktest.Person(1), Text: "and?"})
	said, err := s.adapter.ReadThread(t.Context(), sessions.Route{Channel: "slack", Conversation: "C0GENERAL", Thread: sessions.ThreadID(root)}, sessions.PlatformMessageID(last), 5)
	require.NoError(t, err)
	require.Len(t, said, 2)
	require.EqualValues(t, asked, said[1].ID)
	require.Contains(t, said[1].Text, "@U0NOBODY499 #C0NOWHERE499")
	require.LessOrEqual(t, s.srv.Calls("users.info")+s.srv.Calls("conversations.info"), 25)
}
