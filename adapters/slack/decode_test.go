package slack_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/adapters/slack"
	"sluice/adapters/slack/slacktest"
)

// A field of another type than expected drops no event: what could be read is taken, and says that something is missing.
func TestFieldsOfAnotherTypeAreLeftOut(t *testing.T) {
	t.Parallel()
	const head = `{"type":"event_callback","team_id":"` + slacktest.TeamID + `","event_id":"Ev1","event":{"type":"message","channel":"D0001","channel_type":"im","user":"U0001","ts":"1700000000.000100",`
	for name, c := range map[string]struct {
		body, text, unread string
	}{
		"unused":       {head + `"text":"hello","client_msg_id":7,"blocks_version":[],"is_starred":"no"}}`, "hello", ""},
		"text":         {head + `"text":7}}`, "", "text"},
		"files":        {head + `"text":"hello","files":{"id":"F1"}}}`, "hello", "files"},
		"file size":    {head + `"text":"hello","files":[{"id":"F1","size":"big"}]}}`, "hello", "files.size"},
		"attachments":  {head + `"text":"hello","attachments":"none"}}`, "hello", "attachments"},
		"bot profile":  {head + `"text":"hello","bot_profile":"x"}}`, "hello", "bot_profile"},
		"thread":       {head + `"text":"hello","thread_ts":1700000000.1}}`, "hello", "thread_ts"},
		"of the outer": {`{"authorizations":{"team_id":"T"},` + head[1:] + `"text":"hello"}}`, "hello", "authorizations"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			s := newSetup(t, slacktest.Options{HTTP: true}, func(c *slack.Config) {
				c.Mode, c.AppToken, c.Log = slack.HTTP, "", slog.New(slog.NewTextHandler(&log, nil))
			})
			require.Equal(t, http.StatusOK, s.serve(posted(c.body)).Code)
			got := s.inbox.wait(t, 1)
			require.Equal(t, c.text, got[0].Text)
			require.Equal(t, c.unread, got[0].Unread)
			want := 0
			if c.unread != "" {
				want = 1
				s.waitMetric(t, "sluice_slack_events_total", "partial")
			}
			require.Equal(t, want, strings.Count(log.String(), "slack event read in part"), log.String())
		})
	}
}

// A button of the app's own Home tab, or of a window, belongs to no message: the adapter ignores its press and logs no error.
func TestButtonsOfAHomeTabAreNoFault(t *testing.T) {
	t.Parallel()
	for name, container := range map[string]string{
		"home tab":   `"container":{"type":"view","view_id":"V1"},"view":{"id":"V1","type":"home"}`,
		"modal":      `"container":{"type":"view","view_id":"V2"},"view":{"id":"V2","type":"modal"}`,
		"older form": `"view":{"id":"V1","type":"home"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var log bytes.Buffer
			s := newSetup(t, slacktest.Options{HTTP: true}, func(c *slack.Config) {
				c.Mode, c.AppToken, c.Log = slack.HTTP, "", slog.New(slog.NewTextHandler(&log, nil))
			})
			press := `{"type":"block_actions","trigger_id":"1.2","user":{"id":"U0001"},"team":{"id":"` + slacktest.TeamID + `"},` + container +
				`,"actions":[{"type":"button","action_id":"refresh","value":"now","action_ts":"1700000001.000100"}]}`
			require.Equal(t, http.StatusOK, s.serve(postedForm(url.Values{"payload": {press}})).Code)
			s.waitMetric(t, "sluice_slack_events_total", "ignored")
			require.Empty(t, log.String())
		})
	}
}

// A mention at the top level stands in the channel, though its answer will stand in a thread below it.
func TestAMentionOpensAThread(t *testing.T) {
	t.Parallel()
	s := newSetup(t, slacktest.Options{}, func(c *slack.Config) { c.ReplyInThread = true })
	s.run(t)
	ts := s.srv.Write(slacktest.Line{Channel: "C0GENERAL", User: slacktest.Person(1), Text: "<@" + slacktest.BotUser + "> /send off"})
	s.srv.Write(slacktest.Line{Channel: "C0GENERAL", Thread: ts, User: slacktest.Person(1), Text: "<@" + slacktest.BotUser + "> and in it"})
	opens := map[string]bool{}
	for _, in := range s.inbox.wait(t, 4) { // a mention comes twice
		require.EqualValues(t, ts, in.Route.Thread)
		opens[in.Text] = in.OpensThread
	}
	require.Equal(t, map[string]bool{"/send off": true, "and in it": false}, opens)
}

// Slack's own bot is a person by users.info. It must not be asked to pair.
func TestSlackbotIsABot(t *testing.T) {
	t.Parallel()
	s := httpSetup(t)
	s.serveEvent(t, says(map[string]any{"user": "USLACKBOT", "text": "Reminder: water the beans"}))
	got := s.inbox.wait(t, 1)
	require.True(t, got[0].Sender.Bot)
	require.Equal(t, "Slackbot", got[0].Sender.Name)
}
