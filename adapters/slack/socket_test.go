package slack_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/adapters/slack/slacktest"
	"sluice/sessions"
)

func TestDirectMessageIsAcceptedThenConfirmedThenAnswered(t *testing.T) {
	t.Parallel()
	s := newSetup(t, slacktest.Options{}, nil)
	s.run(t)
	ts := s.srv.Say(1, "hello &amp; good &lt;day&gt;")
	got := s.inbox.wait(t, 1)[0]
	require.Equal(t, slacktest.DirectID(1)+"/"+ts, got.Event)
	require.Equal(t, "hello & good <day>", got.Text)
	require.True(t, got.Mentioned)
	require.Equal(t, sessions.Peer{ID: sessions.UserID(slacktest.Person(1)), Name: "Person 1", Username: "person.1"}, got.Sender)
	place := direct(1)
	place.Title = "Person 1"
	require.Equal(t, place, got.Route.Place())
	require.NoError(t, s.srv.WaitConfirmed(t.Context()))

	receipt, err := s.adapter.Send(t.Context(), out(got.Route, "**yes** & no"))
	require.NoError(t, err)
	shown, err := s.srv.WaitShown(t.Context(), slacktest.DirectID(1), 1)
	require.NoError(t, err)
	require.Equal(t, "*yes* &amp; no", shown[0].Text)
	require.Equal(t, "dlv_1", shown[0].Delivery)
	require.Equal(t, string(receipt.MessageID), shown[0].TS)
}
